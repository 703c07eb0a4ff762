# Debian packages of the three parts in install.cmake, each with the
# dependencies that dpkg-shlibdeps finds; script/package makes them.
set(library libqkv${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The qkv authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# What follows the project's description, which is the first line.
set(about "From one attention head to a GPT, on the machine you have; reproduces
PyTorch's numbers and needs no Python.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME qkv)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "${about}\nThis package holds the program.")
# The word list that qkv train learns where no other data is named.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS wamerican)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "${about}\nThis package holds the shared library.")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libqkv-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${library} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "${about}\nThis package holds what building on the library takes.")

foreach(part program library development)
  string(TOUPPER ${part} PART)
  install(FILES LICENSE RENAME copyright COMPONENT ${part} DESTINATION
          ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${PART}_PACKAGE_NAME})
endforeach()
include(CPack)
