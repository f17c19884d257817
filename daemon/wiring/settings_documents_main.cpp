// Writes the documents of the settings, of the log's events and of the API's errors into a folder:
// settings_documents FOLDER. The build runs it; it is not installed.
#include <cstdio>
#include <fstream>
#include <string>

#include "daemon/config/log_event_documents.h"
#include "daemon/config/settings_documents.h"
#include "daemon/validation/error_catalogue.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: settings_documents FOLDER\n", stderr);
    return 1;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream file(folder + name, std::ios::binary);
    if (file << text << std::flush) return true;
    std::fprintf(stderr, "settings_documents: %s%s cannot be written\n", folder.c_str(), name);
    return false;
  };
  const bool is_written = write("giftsyncd.yaml", giftsync::config::settings_example()) &&
                          write("giftsyncd.schema.json", giftsync::config::settings_schema()) &&
                          write("giftsyncd.yaml.5", giftsync::config::settings_manual()) &&
                          write("events.md", giftsync::config::log_events_page()) &&
                          write("errors.md", giftsync::validation::errors_page()) &&
                          write("giftsync.catalog", giftsync::config::journal_catalog());
  return is_written ? 0 : 1;
}
