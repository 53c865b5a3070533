# One function makes a layer's library: target, alias, include root, header set, install and export.
#
#   planaria_add_layer(NAME DIRECTORY dir HEADERS ... [DETAIL ...] SOURCES ... LINKS ... [PRIVATE_LINKS ...] [PROTOS ...] [TORCH])
#
# A layer's headers have an include root of their own in the build tree: a link
# include/DIR/planaria/DIR that points at the source folder. Only targets that link the layer see it, so an upward
# include is "no such file". TORCH compiles the sources behind the precompiled header of Torch.
function(planaria_add_layer name)
  cmake_parse_arguments(arg "TORCH" "DIRECTORY" "HEADERS;DETAIL;SOURCES;LINKS;PRIVATE_LINKS;PROTOS" ${ARGN})
  set(target planaria_${name})
  set(root "${CMAKE_BINARY_DIR}/include/${arg_DIRECTORY}")
  file(MAKE_DIRECTORY "${root}/planaria")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${arg_DIRECTORY}" "${root}/planaria/${arg_DIRECTORY}" SYMBOLIC)

  add_library(${target} STATIC ${arg_SOURCES})
  add_library(planaria::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${root}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS} "$<BUILD_INTERFACE:planaria_flags>")

  foreach(proto IN LISTS arg_PROTOS)
    planaria_generate_proto(${target} ${arg_DIRECTORY} ${proto})
  endforeach()
  if(arg_TORCH)
    planaria_use_torch_pch(${target})
  endif()

  foreach(header IN LISTS arg_HEADERS)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/planaria/${arg_DIRECTORY}/${folder})
    set_property(GLOBAL APPEND PROPERTY PLANARIA_PUBLIC_HEADERS "${target}|planaria/${arg_DIRECTORY}/${header}")
  endforeach()
  install(TARGETS ${target} EXPORT planaria-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# Generates C++ from LAYER/proto/planaria/v1/NAME.proto; the header is seen by this target's sources alone.
function(planaria_generate_proto target directory proto)
  set(proto_root "${CMAKE_SOURCE_DIR}/${directory}/proto")
  set(out "${CMAKE_BINARY_DIR}/proto/${directory}")
  file(MAKE_DIRECTORY "${out}")
  add_custom_command(
    OUTPUT "${out}/${proto}.pb.cc" "${out}/${proto}.pb.h"
    COMMAND protobuf::protoc --proto_path=${proto_root} --cpp_out=${out} ${proto_root}/${proto}.proto
    DEPENDS "${proto_root}/${proto}.proto" VERBATIM)
  target_sources(${target} PRIVATE "${out}/${proto}.pb.cc")
  set_source_files_properties("${out}/${proto}.pb.cc" PROPERTIES
    COMPILE_OPTIONS "-w" SKIP_PRECOMPILE_HEADERS ON)
  target_include_directories(${target} PRIVATE "${out}")
  target_link_libraries(${target} PRIVATE protobuf::libprotobuf)
endfunction()

# torch.h costs 40 s a file: one precompiled header serves every target with the same flags.
function(planaria_use_torch_pch target)
  target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:planaria_flags>")
  if(NOT TARGET planaria_torch_pch)
    file(WRITE "${CMAKE_BINARY_DIR}/torch_pch.cpp.tmp" "// Carries the precompiled header of Torch.\n")
    configure_file("${CMAKE_BINARY_DIR}/torch_pch.cpp.tmp" "${CMAKE_BINARY_DIR}/torch_pch.cpp" COPYONLY)
    add_library(planaria_torch_pch OBJECT "${CMAKE_BINARY_DIR}/torch_pch.cpp")
    target_link_libraries(planaria_torch_pch PRIVATE planaria_flags planaria_torch CAF::core)
    target_precompile_headers(planaria_torch_pch PRIVATE <torch/torch.h> <caf/all.hpp> <functional> <string> <vector>)
  endif()
  # Executables would get -fPIE, with which the header is not the same.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM planaria_torch_pch)
endfunction()

# Torch as a target of ours: its own config puts flags into variables.
add_library(planaria_torch INTERFACE)
target_link_libraries(planaria_torch INTERFACE ${TORCH_LIBRARIES})
target_include_directories(planaria_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
separate_arguments(_torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(planaria_torch INTERFACE ${_torch_flags})
add_library(planaria::torch ALIAS planaria_torch)
set_target_properties(planaria_torch PROPERTIES EXPORT_NAME torch)
