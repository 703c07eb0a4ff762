# For find_package(qkv): the target qkv::qkv, which needs nothing else found.
include(${CMAKE_CURRENT_LIST_DIR}/qkv-targets.cmake)
