# The installed program and library: shared and static, made of the objects of all layers (ZKC_LAYERS), exporting
# zkc_* only; its headers, pkg-config file and CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# ---- what the layers are made of, and what they need ----

get_property(zkc_layers GLOBAL PROPERTY ZKC_LAYERS)
set(zkc_objects "")
set(zkc_needs "")
foreach(layer IN LISTS zkc_layers)
    list(APPEND zkc_objects $<TARGET_OBJECTS:${layer}>)
    get_target_property(libraries ${layer} LINK_LIBRARIES)
    if(libraries)
        list(APPEND zkc_needs ${libraries})
    endif()
endforeach()
list(REMOVE_DUPLICATES zkc_needs)
list(REMOVE_ITEM zkc_needs ${zkc_layers})

# Each library that a layer names, as pkg-config modules (Requires.private) or as a linker word.
set(zkc_modules_LIBEVENT libevent_core libevent_extra)
set(zkc_modules_JANSSON jansson)
set(zkc_modules_ZLIB zlib)
set(zkc_modules_SNAPPY snappy)
set(zkc_modules_LZ4 liblz4)
set(zkc_modules_ISAL libisal)
set(zkc_modules_PCRE2 libpcre2-8)

set(zkc_modules "")
set(ZKC_PC_LIBS "")
set(ZKC_STATIC_LIBRARIES "")
foreach(need IN LISTS zkc_needs)
    string(REPLACE "PkgConfig::" "" prefix "${need}")
    if(need STREQUAL "zookeeper_st" OR need STREQUAL "m")
        string(APPEND ZKC_PC_LIBS " -l${need}")
        list(APPEND ZKC_STATIC_LIBRARIES ${need})
    elseif(need STREQUAL "Threads::Threads")
        string(APPEND ZKC_PC_LIBS " -pthread")
    elseif(DEFINED zkc_modules_${prefix})
        list(APPEND zkc_modules ${zkc_modules_${prefix}})
        list(APPEND ZKC_STATIC_LIBRARIES ${${prefix}_LIBRARIES})
    else()
        message(FATAL_ERROR "cmake/install.cmake: how is ${need} told to pkg-config?")
    endif()
endforeach()
list(REMOVE_DUPLICATES zkc_modules)
list(JOIN zkc_modules ", " ZKC_PC_REQUIRES)
string(STRIP "${ZKC_PC_LIBS}" ZKC_PC_LIBS)

# ---- the two libraries ----

add_library(zkconsumer_shared SHARED ${zkc_objects})
set_target_properties(zkconsumer_shared PROPERTIES
    OUTPUT_NAME zkconsumer
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/zkconsumer.map)
target_include_directories(zkconsumer_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/zkconsumer/include>)
target_link_libraries(zkconsumer_shared PRIVATE ${zkc_needs})
target_link_options(zkconsumer_shared PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/zkconsumer.map)
if(NOT ZKC_SANITIZE) # whose runtime is in the program
    target_link_options(zkconsumer_shared PRIVATE -Wl,--no-undefined)
endif()
add_library(zkconsumer::zkconsumer ALIAS zkconsumer_shared)

# One object, in which names that are not public have become local: a program that links statically
# may have a buf_append() of its own.
set(zkc_archive ${PROJECT_BINARY_DIR}/libzkconsumer.a)
set(zkc_object ${PROJECT_BINARY_DIR}/zkconsumer.o)
add_custom_command(
    OUTPUT ${zkc_archive}
    COMMAND ${CMAKE_LINKER} -r -o ${zkc_object} ${zkc_objects}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${zkc_object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${zkc_archive}
    COMMAND ${CMAKE_AR} qcs ${zkc_archive} ${zkc_object}
    DEPENDS ${zkc_objects}
    COMMAND_EXPAND_LISTS
    VERBATIM
    COMMENT "Linking libzkconsumer.a")
add_custom_target(zkconsumer_static ALL DEPENDS ${zkc_archive})

# ---- what is installed ----

install(TARGETS zkconsumer RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS zkconsumer_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${zkc_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY zkconsumer/include/zkconsumer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

set(zkc_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ZKC_PC_TO_PREFIX /prefix/${zkc_pc_dir} /prefix)
string(REGEX REPLACE "/$" "" ZKC_PC_TO_PREFIX "${ZKC_PC_TO_PREFIX}")
configure_file(cmake/zkconsumer.pc.in zkconsumer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/zkconsumer.pc DESTINATION ${zkc_pc_dir})

set(zkc_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/zkconsumer)
configure_package_config_file(cmake/zkconsumerConfig.cmake.in zkconsumerConfig.cmake
    INSTALL_DESTINATION ${zkc_package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(zkconsumerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/zkconsumerConfig.cmake
              ${PROJECT_BINARY_DIR}/zkconsumerConfigVersion.cmake
        DESTINATION ${zkc_package_dir})
