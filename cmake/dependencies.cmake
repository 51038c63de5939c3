# The libraries of docs/architecture.md. Debian's ZooKeeper C client has no pkg-config file.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent_core libevent_extra)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(ISAL IMPORTED_TARGET libisal)
pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
pkg_check_modules(SQLITE3 IMPORTED_TARGET sqlite3) # an example

find_path(ZOOKEEPER_INCLUDE_DIR zookeeper/zookeeper.h REQUIRED)
find_library(ZOOKEEPER_ST_LIBRARY zookeeper_st REQUIRED)
add_library(zookeeper_st INTERFACE IMPORTED)
target_include_directories(zookeeper_st INTERFACE ${ZOOKEEPER_INCLUDE_DIR})
target_link_libraries(zookeeper_st INTERFACE ${ZOOKEEPER_ST_LIBRARY})
