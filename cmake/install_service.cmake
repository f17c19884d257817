# Runs at install time: the units with the paths of the prefix, and the settings, which are the admin's once they exist.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR CMAKE_INSTALL_PREFIX STREQUAL "/")
  set(settings_folder /etc/giftsync)
else()
  set(settings_folder ${CMAKE_INSTALL_PREFIX}/etc/giftsync)
endif()

foreach(name giftsyncd.service giftsync-backfill.service giftsync-backfill.timer)
  file(READ ${source}/systemd/${name} unit)
  string(REPLACE /usr/sbin/giftsyncd ${CMAKE_INSTALL_PREFIX}/${sbindir}/giftsyncd unit "${unit}")
  string(REPLACE /usr/bin/giftsyncctl ${CMAKE_INSTALL_PREFIX}/${bindir}/giftsyncctl unit "${unit}")
  string(REPLACE /etc/giftsync ${settings_folder} unit "${unit}")
  set(unit_file ${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${name})
  message(STATUS "Installing: $ENV{DESTDIR}${unit_file}")
  file(WRITE $ENV{DESTDIR}${unit_file} "${unit}")
  file(CHMOD $ENV{DESTDIR}${unit_file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${unit_file})
endforeach()

# Not in the manifest: who removes the files listed there keeps the settings.
set(settings_file $ENV{DESTDIR}${settings_folder}/giftsyncd.yaml)
if(EXISTS ${settings_file})
  message(STATUS "Kept as it is: ${settings_file} (every key is in share/giftsync/giftsyncd.yaml)")
else()
  message(STATUS "Installing: ${settings_file}")
  file(MAKE_DIRECTORY $ENV{DESTDIR}${settings_folder})
  # Whatever the umask: the service reads it as a user of its own.
  file(CHMOD $ENV{DESTDIR}${settings_folder} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
       WORLD_READ WORLD_EXECUTE)
  file(COPY ${documents}/giftsyncd.yaml DESTINATION $ENV{DESTDIR}${settings_folder}
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endif()
