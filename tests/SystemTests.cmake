# Tests of the programs as a whole (label `system`: Python against real processes, each file a test) and of everything
# that is not compiled (label `static`). Debian's own Python is used, since scripts/packages.txt installs its modules.
find_program(GIFTSYNC_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)

# tests/system/NAME_test.py becomes system.NAME. A file whose name contains `postgresql` gets a server of its own, which
# it may stop and start; any other shares the one that scripts/test starts, if there is one.
file(GLOB system_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/system/*_test.py)
foreach(file ${system_tests})
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  set(command ${GIFTSYNC_PYTHON} ${file})
  if(name MATCHES postgresql)
    list(PREPEND command ${CMAKE_SOURCE_DIR}/scripts/with-postgresql)
  endif()
  add_test(NAME system.${name} COMMAND ${command})
  # The connection flood test runs alone: it measures response times.
  string(COMPARE EQUAL "${name}" connection_flood alone)
  set_tests_properties(system.${name} PROPERTIES
    LABELS system TIMEOUT 600 RUN_SERIAL ${alone} SKIP_RETURN_CODE 77
    ENVIRONMENT "GIFTSYNCD=$<TARGET_FILE:giftsyncd>;GIFTSYNCCTL=$<TARGET_FILE_DIR:giftsyncd>/giftsyncctl;FAKE_ORG=$<TARGET_FILE:fake_org>;PYTHONDONTWRITEBYTECODE=1")
endforeach()

file(GLOB static_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/static/*_test)
foreach(file ${static_tests})
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE "_test$" "" name ${name})
  add_test(NAME static.${name} COMMAND ${file})
  set_tests_properties(static.${name} PROPERTIES
    LABELS static TIMEOUT 120 SKIP_RETURN_CODE 77 ENVIRONMENT "BUILD_DIR=${CMAKE_BINARY_DIR}")
endforeach()
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/system/check_settings_schema.py)
  add_test(NAME static.settings_schema
           COMMAND ${GIFTSYNC_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/system/check_settings_schema.py)
  set_tests_properties(static.settings_schema PROPERTIES
    LABELS static TIMEOUT 120 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    ENVIRONMENT "BUILD_DIR=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()
