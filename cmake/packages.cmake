# Debian packages of what is installed: sti-tools, libsti0 and libsti-dev, one a component, by CPack.
# packaging/package configures a build for /usr and writes the documents that Debian wants beside.
set(STI_CONTACT "" CACHE STRING "Maintainer of the packages: NAME <ADDRESS>")
set(STI_DOCUMENTS "" CACHE PATH "Where copyright, changelog.Debian.gz and third-party.gz are")

set(package_tools sti-tools)
set(package_library libsti0)
set(package_development libsti-dev)
set(components tools library development)
foreach(component ${components})
  set(package ${package_${component}})
  install(DIRECTORY ${STI_DOCUMENTS}/ COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package})
  # What lintian is not to complain of: Debian has no request for these packages that they close.
  set(overrides "${package}: initial-upload-closes-no-bugs\n")
  if(component STREQUAL "tools")
    string(APPEND overrides "# Tools need nothing but libc. They write pictures, and read none.
${package}: embedded-library libpng *usr/bin/*\n${package}: embedded-library zlib *usr/bin/*\n")
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/debian/overrides/${package} "${overrides}")
  install(FILES ${PROJECT_BINARY_DIR}/debian/overrides/${package} COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${STI_CONTACT})
set(CPACK_DEBIAN_PACKAGE_SOURCE sti)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()

set(about "Text classifiers such as BERT run while they are read from flash: within a
latency and a few megabytes of memory that one chooses.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ${package_tools})
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "transformers on small devices - tools
${about}
The tools cut a model into shards, measure device and model, plan which
shards are read at how many bits, and answer texts.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${package_library})
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "transformers on small devices - shared library
${about}
This package has the library that apps link.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# CPack would call ldconfig in scripts of the package, which Debian forbids. It leaves them out where
# it is told of other ones, and those where there are none.
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
# symbols says since which version each function is there, so that a package of an app depends on no
# newer library than it calls; packaging/package holds it to the library.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers
  ${PROJECT_SOURCE_DIR}/cmake/symbols
  ${PROJECT_BINARY_DIR}/debian/none/postinst ${PROJECT_BINARY_DIR}/debian/none/postrm)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${package_development})
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "transformers on small devices - development files
${about}
This package has header and static library, and what pkg-config and CMake
find them by.")
# What libsti.a is linked with is there for C compilers too, which bring no libstdc++.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libsti0 (= ${PROJECT_VERSION}-1), libstdc++-12-dev | libstdc++-dev, liburing-dev, libzstd-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS sti-tools)

# CPack of CMake 3.25 has no variable for Multi-Arch, so the field before it brings it along.
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION "science\nMulti-Arch: foreign")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION "libs\nMulti-Arch: same")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION "libdevel\nMulti-Arch: same")
include(CPack)
