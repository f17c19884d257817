// daemon/settings: YAML text as a plain tree that remembers lines and keeps repeated keys. Built from the
// parser's events, because the library's own nodes drop both repeated keys and the place of an alias.
#pragma once

#include <string>
#include <vector>

#include "daemon/settings/settings_fault.h"

namespace giftsync::daemon {

struct YamlEntry;

struct YamlNode {
  enum class Kind { nothing, text, list, map };
  Kind kind = Kind::nothing;
  int line = 1;                 ///< from 1
  std::string text;             ///< of Kind::text, as written: no number or truth value is made of it
  bool is_quoted = false;       ///< of Kind::text: in quotes or a block, so never a number or a truth value
  std::vector<YamlNode> items;  ///< of Kind::list
  std::vector<YamlEntry> entries;  ///< of Kind::map, in the file's order, repeated keys included
};

struct YamlEntry {
  std::string key;
  int line = 1;
  YamlNode value;
};

struct YamlTree {
  YamlNode root;  ///< complete only when `faults` is empty; an empty text is Kind::nothing
  std::vector<SettingsFault>
      faults;  ///< broken YAML, anchors, aliases, tags, a second document, keys that are no text
};

/// Reads one document of UTF-8 text.
YamlTree read_yaml(const std::string& text);

}  // namespace giftsync::daemon
