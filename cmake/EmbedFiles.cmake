# giftsync_embed(target NAMED folder FILES file...): makes each file a constant of the program, so that what is
# readable in the tree (DDL, templates) is what runs. A file web/mail.txt becomes embedded::web_mail_txt in
# generated/embedded/<target>.h, a std::string_view; embedded::<target>_files lists all of them with their names.
function(giftsync_embed target)
  set(header ${CMAKE_BINARY_DIR}/generated/embedded/${target}.h)
  set(inputs)
  foreach(file ${ARGN})
    list(APPEND inputs ${CMAKE_SOURCE_DIR}/${file})
  endforeach()
  string(REPLACE ";" "|" names "${ARGN}")
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DROOT=${CMAKE_SOURCE_DIR} "-DNAMES=${names}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${inputs} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(${target} PRIVATE ${header})
endfunction()
