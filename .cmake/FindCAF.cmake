# Finds CAF, whose Debian package ships neither a CMake nor a pkg-config file.
# Defines CAF::core and, if present, CAF::io and CAF::openssl; sets CAF_FOUND and CAF_VERSION.
include(FindPackageHandleStandardArgs)

find_path(CAF_INCLUDE_DIR caf/actor_system.hpp)
find_library(CAF_core_LIBRARY caf_core)
foreach(_component io openssl)
  find_library(CAF_${_component}_LIBRARY caf_${_component})
endforeach()

if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" _caf_line REGEX "^#define CAF_VERSION [0-9]+")
  string(REGEX REPLACE "^#define CAF_VERSION ([0-9]+).*" "\\1" _caf_number "${_caf_line}")
  if(_caf_number)
    math(EXPR _caf_major "${_caf_number} / 10000")
    math(EXPR _caf_minor "(${_caf_number} / 100) % 100")
    math(EXPR _caf_patch "${_caf_number} % 100")
    set(CAF_VERSION "${_caf_major}.${_caf_minor}.${_caf_patch}")
  endif()
endif()

find_package_handle_standard_args(CAF REQUIRED_VARS CAF_core_LIBRARY CAF_INCLUDE_DIR VERSION_VAR CAF_VERSION)

if(CAF_FOUND AND NOT TARGET CAF::core)
  find_package(Threads REQUIRED)
  add_library(CAF::core UNKNOWN IMPORTED)
  set_target_properties(CAF::core PROPERTIES
    IMPORTED_LOCATION "${CAF_core_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
  foreach(_component io openssl)
    if(CAF_${_component}_LIBRARY)
      add_library(CAF::${_component} UNKNOWN IMPORTED)
      set_target_properties(CAF::${_component} PROPERTIES
        IMPORTED_LOCATION "${CAF_${_component}_LIBRARY}"
        INTERFACE_LINK_LIBRARIES CAF::core)
    endif()
  endforeach()
endif()
mark_as_advanced(CAF_INCLUDE_DIR CAF_core_LIBRARY CAF_io_LIBRARY CAF_openssl_LIBRARY)
