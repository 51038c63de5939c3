# Compiler settings common to all targets, and the function that declares a layer.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

add_compile_options(-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                    -Wpointer-arith -Wvla -ffp-contract=off)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # texts are cut to their buffers on purpose
    add_compile_options(-Wno-format-truncation)
endif()
add_compile_definitions(_GNU_SOURCE)
# Assertions stay on in every build type: a broken invariant must not run on.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_MINSIZEREL "${CMAKE_C_FLAGS_MINSIZEREL}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

if(ZKC_SANITIZE)
    add_compile_options(-fsanitize=${ZKC_SANITIZE} -fno-omit-frame-pointer
                        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${ZKC_SANITIZE})
endif()

if(ZKC_BUILD_FUZZERS)
    add_compile_options(-fsanitize=fuzzer-no-link) # the layers tell the fuzzers what they reach
endif()

# zkc_layer(NAME SOURCES file... [DEPS layer...] [LIBS imported...])
# One folder, one target. Includes are rooted at the repository, so that each arrow between layers
# shows in the file that draws it. Every layer is remembered in ZKC_LAYERS: the installed library is
# made of all their objects; a layer's ZKC_DEPS are the layers it may call.
function(zkc_layer name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LIBS" ${ARGN})
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/zkconsumer/include>)
    target_link_libraries(${name} PUBLIC ${arg_DEPS} ${arg_LIBS})
    set_property(GLOBAL APPEND PROPERTY ZKC_LAYERS ${name})
    set_property(TARGET ${name} PROPERTY ZKC_DEPS ${arg_DEPS})
endfunction()

# zkc_manual_pages(PROGRAM WORD ...): the program, called with these words in the folder man below the
# current one, writes its manual pages there as part of the build; they are installed.
function(zkc_manual_pages program)
    set(pages ${CMAKE_CURRENT_BINARY_DIR}/man)
    file(MAKE_DIRECTORY ${pages})
    add_custom_command(
        OUTPUT ${pages}/${program}.1
        COMMAND ${program} ${ARGN}
        WORKING_DIRECTORY ${pages}
        DEPENDS ${program}
        COMMENT "Writing the manual pages of ${program}")
    add_custom_target(${program}_man ALL DEPENDS ${pages}/${program}.1)
    if(NOT ZKC_KAFKA_LINKS)
        set(left_out PATTERN "kafka-*" EXCLUDE)
    endif()
    install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 ${left_out})
endfunction()
