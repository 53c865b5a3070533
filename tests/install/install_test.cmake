# cmake --install, then an outside project by find_package(planaria). Any command that fails fails the test.
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")
set(flags "")
if(sanitize)
  set(flags "-fsanitize=${sanitize} -fno-sanitize=vptr")
endif()

execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
  COMMAND "${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
# What must not be installed: detail folders and generated headers.
file(GLOB_RECURSE leaked "${prefix}/include/*.pb.h" "${prefix}/include/planaria/*/detail/*")
if(leaked)
  message(FATAL_ERROR "installed although private: ${leaked}")
endif()
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${work}/consumer" -G Ninja
    -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_C_COMPILER=${c_compiler}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}" "-DCMAKE_CXX_FLAGS=${flags}")
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND "${CMAKE_COMMAND}" --build "${work}/consumer" --parallel 1)
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND "${work}/consumer/supervised")
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND "${work}/consumer/tensors")
