# Installs the export set and the package files, so that find_package(planaria) works from another project.
include(CMakePackageConfigHelpers)
set(_planaria_package "${CMAKE_INSTALL_LIBDIR}/cmake/planaria")

install(TARGETS planaria_torch EXPORT planaria-targets)
install(EXPORT planaria-targets NAMESPACE planaria:: DESTINATION "${_planaria_package}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/planaria-config.cmake.in"
  "${CMAKE_BINARY_DIR}/planaria-config.cmake" INSTALL_DESTINATION "${_planaria_package}")
# Before 1.0 a minor version may break.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/planaria-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_BINARY_DIR}/planaria-config.cmake"
  "${CMAKE_BINARY_DIR}/planaria-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindCAF.cmake"
  DESTINATION "${_planaria_package}")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
