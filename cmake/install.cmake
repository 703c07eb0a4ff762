# What is installed, in three parts: the program; the shared library; and what
# building on the library takes. Consumers need none of qkv's own dependencies:
# the headers are plain C++20 and the library links the rest itself.
include(CMakePackageConfigHelpers)
set(cmake_files ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)
set(pc_files ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS qkv EXPORT qkv
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY include/qkv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development)

# find_package(qkv 0.1) gives qkv::qkv.
install(EXPORT qkv FILE qkv-targets.cmake NAMESPACE qkv::
        DESTINATION ${cmake_files} COMPONENT development)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/qkv-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/qkv-config.cmake
              ${CMAKE_BINARY_DIR}/qkv-config-version.cmake
        DESTINATION ${cmake_files} COMPONENT development)

# pkg-config --cflags --libs qkv. Its paths start from where the file lies, so
# the installed tree may be moved.
file(RELATIVE_PATH QKV_PC_TO_PREFIX /prefix/${pc_files} /prefix)
string(REGEX REPLACE "/$" "" QKV_PC_TO_PREFIX ${QKV_PC_TO_PREFIX})
configure_file(cmake/qkv.pc.in ${CMAKE_BINARY_DIR}/qkv.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/qkv.pc DESTINATION ${pc_files}
        COMPONENT development)

install(TARGETS qkv_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        COMPONENT program)
# The manual pages and completions that the program writes about itself.
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
set(completions ${CMAKE_BINARY_DIR}/completions)
install(FILES ${completions}/qkv.bash RENAME qkv
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT program OPTIONAL)
install(FILES ${completions}/_qkv
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        COMPONENT program OPTIONAL)
install(FILES ${completions}/qkv.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT program OPTIONAL)
