// platform: YAML text as a plain tree with line numbers and repeated keys. Built from the parser's events,
// because the library's own nodes drop repeated keys and the position of an alias.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync {

// One fault of a settings file, as parts and as the message for the admin.

struct FileFault {
  int line = 0;           ///< from 1; 0: the file as a whole
  std::string key;        ///< dotted path; empty: none
  std::string found;      ///< what the file has; never a secret's text
  std::string allowed;    ///< what it may have
  std::string next_step;  ///< what the admin should do
};

/// "giftsyncd.yaml:4: email.transport: found "pigeon"; allowed: smtp, file; correct it".
std::string to_line(const FileFault& fault, std::string_view file);

struct YamlEntry;

struct YamlNode {
  enum class Kind { nothing, text, list, map };
  Kind kind = Kind::nothing;
  int line = 1;                    ///< from 1
  std::string text;                ///< of Kind::text, as written: not converted to a number or truth value
  bool is_quoted = false;          ///< of Kind::text: quoted or a block, so never a number or a truth value
  std::vector<YamlNode> items;     ///< of Kind::list
  std::vector<YamlEntry> entries;  ///< of Kind::map, in file order, including repeated keys
};

struct YamlEntry {
  std::string key;
  int line = 1;
  YamlNode value;
};

struct YamlDocument {
  YamlNode root;  ///< complete only when `faults` is empty; an empty text is Kind::nothing
  std::vector<FileFault>
      faults;  ///< broken YAML, anchors, aliases, tags, a second document, keys that are not text
};

/// Parses one document of UTF-8 text.
YamlDocument read_yaml(const std::string& text);

}  // namespace giftsync
