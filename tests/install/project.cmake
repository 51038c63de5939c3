# A foreign project's CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)
project(hello LANGUAGES C)
find_package(zkconsumer 0.1 CONFIG REQUIRED)
add_executable(hello_shared hello.c)
target_link_libraries(hello_shared PRIVATE zkconsumer::zkconsumer)
add_executable(hello_static hello.c)
target_link_libraries(hello_static PRIVATE zkconsumer::zkconsumer_static)
