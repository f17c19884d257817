#include "platform/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync {

std::string to_line(const FileFault& fault, std::string_view file) {
  std::string line(file);
  if (fault.line > 0) line += fmt::format(":{}", fault.line);
  if (!fault.key.empty()) line += ": " + fault.key;
  line += ": found " + fault.found;
  if (!fault.allowed.empty()) line += "; allowed: " + fault.allowed;
  if (!fault.next_step.empty()) line += "; " + fault.next_step;
  return line;
}

namespace {

/// A map or list that is still open; in a map also the key whose value comes next.
struct OpenNode {
  YamlNode node;
  std::optional<YamlEntry> pending_entry;
};

class YamlDocumentBuilder : public YAML::EventHandler {
 public:
  explicit YamlDocumentBuilder(YamlDocument& tree) : tree_(tree) {}
  int documents() const { return documents_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 2) {
      refuse(mark, "the beginning of a second document", "one document",
             "remove \"---\" or what follows the closing bracket");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "?", anchor);
    add(node_at(mark, YamlNode::Kind::nothing));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "an alias (*name)", "each value written out", "write the value in its place");
    add(node_at(mark, YamlNode::Kind::nothing));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    // The library makes a single byte of \N and of \_.
    if (!is_storable_text(value))
      refuse(mark, "an escape that makes no UTF-8 text (such as \\N, \\_ or \\0)", "UTF-8 without NUL",
             "write the character itself");
    YamlNode node = node_at(mark, YamlNode::Kind::text);
    node.text = value;
    node.is_quoted = tag != "?";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check(mark, tag, anchor);
    open_.push_back({node_at(mark, YamlNode::Kind::list), std::nullopt});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check(mark, tag, anchor);
    open_.push_back({node_at(mark, YamlNode::Kind::map), std::nullopt});
  }
  void OnMapEnd() override { close(); }

 private:
  static YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    return node;
  }

  void refuse(const YAML::Mark& mark, std::string found, std::string allowed, std::string next_step) {
    tree_.faults.push_back({mark.line + 1, "", std::move(found), std::move(allowed), std::move(next_step)});
  }

  /// "?" marks a plain node and "!" a quoted one; the admin wrote every other tag.
  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "an anchor (&name)", "each value written out", "remove the anchor");
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, "a tag (" + in_quotes(tag) + ")", "values without tags", "remove the tag");
    }
  }

  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      if (documents_ == 1) tree_.root = std::move(node);
    } else if (open_.back().node.kind == YamlNode::Kind::list) {
      open_.back().node.items.push_back(std::move(node));
    } else {
      add_to_map(open_.back(), std::move(node));
    }
  }

  void add_to_map(OpenNode& map, YamlNode node) {
    if (map.pending_entry) {
      map.pending_entry->value = std::move(node);
      map.node.entries.push_back(std::move(*map.pending_entry));
      map.pending_entry.reset();
      return;
    }
    if (node.kind != YamlNode::Kind::text) {
      tree_.faults.push_back({node.line, "", "a key that is not text", "a name such as \"listen\"",
                              "write a name before the colon"});
    }
    map.pending_entry = YamlEntry{node.text, node.line, {}};
  }

  YamlDocument& tree_;
  std::vector<OpenNode> open_;
  int documents_ = 0;
};

/// Invalid UTF-8 would silently become U+FFFD, and a NUL makes the library guess another encoding.
std::optional<FileFault> encoding_fault(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (is_storable_text(line)) continue;
    return FileFault{number, "", "bytes that are not UTF-8 text", "UTF-8 without NUL",
                     "save the file as UTF-8"};
  }
  return std::nullopt;
}

/// YAML forbids tabs for indentation, but the library's error does not name them. `error`: the line of its
/// error, from 1.
std::optional<FileFault> tab_fault(const std::string& text, int error) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; number <= error && std::getline(lines, line); ++number) {
    const std::string indentation = line.substr(0, line.find_first_not_of(" \t"));
    if (number + 1 < error || indentation.find('\t') == std::string::npos) continue;
    return FileFault{number, "", "a tab before the line's text", "spaces", "replace each tab with spaces"};
  }
  return std::nullopt;
}

}  // namespace

YamlDocument read_yaml(const std::string& text) {
  YamlDocument tree;
  if (std::optional<FileFault> fault = encoding_fault(text)) {
    tree.faults.push_back(std::move(*fault));
    return tree;
  }
  YamlDocumentBuilder builder(tree);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    // Two calls at most: on some faulty texts (a lone comma) the parser reports new documents endlessly.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const int line = std::max(error.mark.line, 0) + 1;
    if (std::optional<FileFault> tab = tab_fault(text, line)) {
      tree.faults.push_back(std::move(*tab));
      return tree;
    }
    tree.faults.push_back({line, "", "text that is not YAML (" + visible_text(error.msg) + ")", "YAML",
                           "check quotes, brackets and indentation here and in the line above"});
  }
  return tree;
}

}  // namespace giftsync
