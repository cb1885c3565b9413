# What `make install` and `cmake --install` put below the prefix: the tools, libsti, its header, and
# the files by which pkg-config and CMake find it. A tree that was installed can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS sti_shared EXPORT sti
  LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS sti_static EXPORT sti ARCHIVE COMPONENT development)
# What strips programs leaves archives alone.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND ${CMAKE_STRIP} --strip-debug
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsti.a)
endif()" COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/lib/capi/sti.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development)
if(STI_TOOLS)
  install(TARGETS ${STI_TOOL_TARGETS} RUNTIME COMPONENT tools)
  if(TARGET sti_link_mpi)
    install(TARGETS sti_link_mpi LIBRARY COMPONENT tools DESTINATION lib/sti)
  endif()
  # What packaging/package makes a tarball of, instead of those.
  list(TRANSFORM STI_TOOL_TARGETS APPEND -static OUTPUT_VARIABLE static_tools)
  install(TARGETS ${static_tools} RUNTIME COMPONENT static EXCLUDE_FROM_ALL)
  install(DIRECTORY ${STI_COMPLETION_FOLDER}/bash/ COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(DIRECTORY ${STI_COMPLETION_FOLDER}/zsh/ COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(DIRECTORY ${STI_COMPLETION_FOLDER}/fish/ COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  # Where `make man` has made them.
  install(DIRECTORY ${STI_MAN_FOLDER}/ COMPONENT tools DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sti)
install(EXPORT sti NAMESPACE sti:: FILE sti-targets.cmake DESTINATION ${package}
  COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sti-config.cmake.in
  ${PROJECT_BINARY_DIR}/sti-config.cmake INSTALL_DESTINATION ${package}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sti-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sti-config.cmake ${PROJECT_BINARY_DIR}/sti-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/sti-models.cmake ${PROJECT_SOURCE_DIR}/cmake/sti-make-product.cmake
  DESTINATION ${package} COMPONENT development)

# From the folder of sti.pc to the prefix and back.
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/sti.pc.in ${PROJECT_BINARY_DIR}/sti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)
