// Recorded answers of real orgs. They lie outside of the sources; tests that read them are skipped where they
// are missing. GIFTSYNC_SALESFORCE_RECORDED names another folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "platform/yaml_document.h"
#include "tests/source_folder.h"

namespace giftsync::salesforce {

inline std::string recorded_folder() {
  const char* given = std::getenv("GIFTSYNC_SALESFORCE_RECORDED");
  return given ? given : std::string(kSourceFolder) + "/../shared/data/salesforce-recorded";
}

/// Empty when there is no such file.
inline std::string recorded(const std::string& name) {
  std::ifstream file(recorded_folder() + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string();
}

inline void add_bodies(const YamlNode& node, std::vector<std::string>& bodies) {
  for (const YamlNode& item : node.items) add_bodies(item, bodies);
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "string")
      bodies.push_back(entry.value.text);
    else
      add_bodies(entry.value, bodies);
  }
}

/// The bodies of the answers in a recording.
inline std::vector<std::string> recorded_bodies(const std::string& name) {
  std::vector<std::string> bodies;
  add_bodies(read_yaml(recorded(name)).root, bodies);
  return bodies;
}

}  // namespace giftsync::salesforce

#define SKIP_WITHOUT_RECORDED() \
  if (recorded("README.md").empty()) GTEST_SKIP() << "no recorded answers in " << recorded_folder()
