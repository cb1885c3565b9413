# What the wheel has beside python/sti: the tools on PATH, the library where the module looks for it,
# and the notices of the code that is linked in. scikit-build-core configures a build with SKBUILD.
install(TARGETS ${STI_TOOL_TARGETS} RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)

# A wheel has no links: the file has the name by which it is loaded.
set_property(TARGET sti_shared PROPERTY VERSION 0)
install(TARGETS sti_shared LIBRARY DESTINATION sti NAMELINK_SKIP COMPONENT wheel)

execute_process(COMMAND ${PROJECT_SOURCE_DIR}/packaging/third-party COMMAND_ERROR_IS_FATAL ANY
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/third-party.txt)
install(FILES ${PROJECT_BINARY_DIR}/third-party.txt DESTINATION sti COMPONENT wheel)
