# Where `cmake --install build/release` puts things: as a Debian package would, below /usr and /etc. With another prefix
# (/usr/local, /opt/giftsync) the settings go to PREFIX/etc, and the units name the paths of that prefix. DESTDIR works.
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
  set_property(CACHE CMAKE_INSTALL_PREFIX PROPERTY VALUE /usr)
endif()

# Debug information makes the programs forty times as big; build/release/bin keeps it for a debugger. A package build
# turns this off and separates the debug information itself.
option(GIFTSYNC_STRIP "cmake --install strips the programs" ON)
if(GIFTSYNC_STRIP)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()
install(TARGETS giftsyncd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
file(RELATIVE_PATH program /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_SBINDIR}/giftsyncd)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/installed)
file(CREATE_LINK ${program} ${CMAKE_BINARY_DIR}/installed/giftsyncctl SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/installed/giftsyncctl DESTINATION ${CMAKE_INSTALL_BINDIR})

file(GLOB manual_pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.[158])
foreach(page ${manual_pages})
  string(REGEX MATCH "[158]$" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES ${GIFTSYNC_DOCUMENTS}/giftsyncd.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)

file(GLOB documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/docs/*.md
     ${CMAKE_SOURCE_DIR}/docs/*.yaml)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/giftsync)
install(DIRECTORY docs/operations docs/design docs/decisions DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/giftsync
        FILES_MATCHING PATTERN *.md PATTERN *.py PATTERN *.mjs)
install(FILES ${GIFTSYNC_DOCUMENTS}/giftsyncd.yaml ${GIFTSYNC_DOCUMENTS}/giftsyncd.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/giftsync)
install(DIRECTORY conf/prometheus DESTINATION ${CMAKE_INSTALL_DATADIR}/giftsync)
install(FILES conf/completion/giftsyncctl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME giftsyncctl)
install(FILES conf/completion/_giftsyncctl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES conf/completion/giftsyncctl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${GIFTSYNC_DOCUMENTS}/giftsync.catalog DESTINATION lib/systemd/catalog)
install(FILES systemd/giftsync.sysusers DESTINATION lib/sysusers.d RENAME giftsync.conf)

# These depend on the prefix, which `cmake --install --prefix` may still change.
install(CODE "
  set(source \"${CMAKE_SOURCE_DIR}\")
  set(documents \"${GIFTSYNC_DOCUMENTS}\")
  set(sbindir \"${CMAKE_INSTALL_SBINDIR}\")
  set(bindir \"${CMAKE_INSTALL_BINDIR}\")
  include(\"${CMAKE_SOURCE_DIR}/cmake/install_service.cmake\")")
