# The example settings file, their JSON Schema and their manual page, made from the table of keys (daemon/config); the page
# of the log's events and the journal's message catalog, made from the table of kinds (platform/log_events.cpp); the page of the
# API's errors, made from the catalogue (daemon/validation/error_catalogue.h).
set(GIFTSYNC_DOCUMENTS ${CMAKE_BINARY_DIR}/documents)
add_executable(settings_documents daemon/wiring/settings_documents_main.cpp)
target_link_libraries(settings_documents PRIVATE giftsync_daemon_config giftsync_daemon_validation)
add_custom_command(TARGET settings_documents POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory ${GIFTSYNC_DOCUMENTS}
  COMMAND settings_documents ${GIFTSYNC_DOCUMENTS}
  COMMENT "Writing the documents of the settings, the log and the API")
# The programs are installed together with the documents.
add_dependencies(giftsyncd settings_documents)
