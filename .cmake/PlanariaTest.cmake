# planaria_add_tests(LAYER [TORCH] SOURCES a_test.cpp … LINKS … [LABEL unit])
# One executable a folder, one ctest entry a file: a process that links Torch takes most of a second to start.
find_package(doctest REQUIRED)

# What sanitizers need to know at run time; every add_test of ours passes it on. Suppressions are for libraries alone.
set(PLANARIA_TEST_ENVIRONMENT "")
if(PLANARIA_SANITIZE MATCHES "address")
  list(APPEND PLANARIA_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:check_initialization_order=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")
endif()
if(PLANARIA_SANITIZE MATCHES "undefined")
  list(APPEND PLANARIA_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
endif()
if(PLANARIA_SANITIZE MATCHES "thread")
  # GCC's OpenMP runtime is not instrumented: with one thread a team it has no barriers for TSan to misunderstand.
  list(APPEND PLANARIA_TEST_ENVIRONMENT
    "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp:print_suppressions=0:second_deadlock_stack=1"
    "OMP_NUM_THREADS=1")
endif()

function(planaria_add_tests layer)
  cmake_parse_arguments(arg "TORCH" "LABEL" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  set(target ${layer}_tests)
  add_executable(${target} "${CMAKE_SOURCE_DIR}/tests/main.cpp" ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINKS} doctest::doctest planaria_flags)
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${target} PRIVATE PLANARIA_ASSERTIONS=1)
  set_source_files_properties("${CMAKE_SOURCE_DIR}/tests/main.cpp" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  if(arg_TORCH)
    planaria_use_torch_pch(${target})
  endif()
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" stem ${stem})
    add_test(NAME ${layer}.${stem} COMMAND ${target} "--source-file=*/${source}")
    set_tests_properties(${layer}.${stem} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300
      ENVIRONMENT "${PLANARIA_TEST_ENVIRONMENT}")
  endforeach()
endfunction()
