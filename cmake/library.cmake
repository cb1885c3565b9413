# libsti: the C library of lib/capi/sti.h, as libsti.a and as libsti.so, out of the objects that the
# rooms are made of. What links libsti.a, libsti.so among it, takes the members that it calls.
set(STI_LIBRARY_ROOMS base types score network shard kernels format io text image schedule model
  plan link pipeline profile api capi)

# OpenBLAS stays with the tools, and so does libpng: an app has pixels, and libpng's archive is not
# made for shared libraries.
foreach(stand_in blas png)
  file(GLOB source CONFIGURE_DEPENDS lib/*/without_${stand_in}.cpp lib/*/*/without_${stand_in}.cpp)
  add_library(sti_without_${stand_in} OBJECT ${source})
  target_link_libraries(sti_without_${stand_in} PRIVATE sti_options)
endforeach()

# The Unicode tables that token ids depend on are in the archive too.
set(tables ${PROJECT_BINARY_DIR}/lib/utf8proc.o)
add_custom_command(OUTPUT ${tables} DEPENDS ${STI_UTF8PROC}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib
  COMMAND ${CMAKE_LINKER} -r -o ${tables} --whole-archive ${STI_UTF8PROC})

add_library(sti_static STATIC ${tables} $<TARGET_OBJECTS:sti_without_blas>
  $<TARGET_OBJECTS:sti_without_png>)
foreach(room ${STI_LIBRARY_ROOMS})
  get_target_property(type sti_${room} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    target_sources(sti_static PRIVATE
      "$<FILTER:$<TARGET_OBJECTS:sti_${room}>,EXCLUDE,/(blas|png)\\.>")
  endif()
endforeach()
# Names alone are installed: each machine has its own path of these.
target_link_libraries(sti_static INTERFACE $<BUILD_INTERFACE:${STI_URING}> $<BUILD_INTERFACE:${STI_ZSTD}>
  $<INSTALL_INTERFACE:uring> $<INSTALL_INTERFACE:zstd> stdc++ m pthread)

# All that sti.h declares is defined in one file. scripts/abi reads its types from debug information,
# of which other files have none but lines.
set_source_files_properties(lib/capi/sti.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
  COMPILE_OPTIONS "-fvisibility=default;$<$<CONFIG:RelWithDebInfo>:-g2>")
add_library(sti_shared SHARED $<TARGET_OBJECTS:sti_capi>)
set(version_script ${PROJECT_SOURCE_DIR}/cmake/sti.map)
set_target_properties(sti_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0
  LINK_DEPENDS ${version_script})
target_link_libraries(sti_shared PRIVATE sti_static sti_options)
# Kernels of aarch64 have pages of up to 64 KiB; those of x86-64 may come to 16 KiB, as Android asks.
set(STI_PAGE_SIZE $<IF:$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>,16384,65536>)
target_link_options(sti_shared PRIVATE -Wl,--version-script=${version_script} -Wl,--gc-sections
  -Wl,-z,max-page-size=${STI_PAGE_SIZE})
if(NOT STI_SANITIZE)  # their runtime is in the program
  target_link_options(sti_shared PRIVATE -Wl,-z,defs)
endif()

set_target_properties(sti_static sti_shared PROPERTIES OUTPUT_NAME sti
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
# Nothing but sti.h is seen by those who link the library.
configure_file(lib/capi/sti.h ${PROJECT_BINARY_DIR}/include/sti.h COPYONLY)
foreach(library sti_static sti_shared)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
endforeach()
add_library(sti::sti ALIAS sti_shared)
add_library(sti::static ALIAS sti_static)
set_target_properties(sti_shared PROPERTIES EXPORT_NAME sti)
set_target_properties(sti_static PROPERTIES EXPORT_NAME static)
