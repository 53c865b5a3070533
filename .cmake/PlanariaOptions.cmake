# Options of the build and the one private interface target that carries the flags.
option(PLANARIA_TESTS "Build the tests" ON)
option(PLANARIA_BENCH "Build the benchmarks" ON)
set(PLANARIA_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
# Debug information of Torch's headers costs more memory and time than the build itself: line tables are enough.
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")

find_program(PLANARIA_CCACHE ccache)
if(PLANARIA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With a precompiled header ccache must look past its time stamps and the macros that it defines.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${PLANARIA_CCACHE}")
endif()

add_library(planaria_flags INTERFACE)
# Contraction off: the same bits from every instruction set, so that a hash means something.
target_compile_options(planaria_flags INTERFACE -Wall -Wextra -Wpedantic -Wno-unused-parameter -Wno-missing-field-initializers -ffp-contract=off)
if(PLANARIA_CCACHE)
  target_compile_options(planaria_flags INTERFACE -fpch-preprocess)
endif()
if(PLANARIA_SANITIZE)
  add_compile_options(-fsanitize=${PLANARIA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PLANARIA_SANITIZE})
  if(PLANARIA_SANITIZE MATCHES "thread")
    # A tail call leaves no frame, and tests/tsan.supp names functions that do nothing but call a library.
    add_compile_options(-fno-optimize-sibling-calls)
  endif()
  if(PLANARIA_SANITIZE MATCHES "undefined")
    # Torch's and CAF's headers are compiled into our objects, their vtables are not instrumented.
    add_compile_options(-fno-sanitize=vptr -fno-sanitize-recover=undefined)
  endif()
endif()
# Assertions are on unless the build is a plain release.
target_compile_definitions(planaria_flags INTERFACE $<$<NOT:$<CONFIG:Release>>:PLANARIA_ASSERTIONS=1>)
