// The YAML layer of settings: what it has read is printed, with every text in quotes, and read again.
#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>

#include "platform/visible_text.h"
#include "platform/yaml_document.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (auto at = text.begin(); at != text.end();) {
    const char32_t c = utf8::next(at, text.end());
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\')
      out += static_cast<char>(c);
    else
      out += fmt::format("\\U{:08x}", static_cast<unsigned>(c));
  }
  return out + "\"";
}

std::string print(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::nothing:
      return "~";
    case YamlNode::Kind::text:
      return quoted(node.text);
    case YamlNode::Kind::list:
      for (const YamlNode& item : node.items) out += print(item) + ",\n ";
      return "[" + out + "]";
    case YamlNode::Kind::map:
      // With "?", because a key of more than 1,024 bytes needs it.
      for (const YamlEntry& entry : node.entries)
        out += "? " + quoted(entry.key) + " : " + print(entry.value) + ",\n ";
      return "{" + out + "}";
  }
  std::abort();
}

bool is_same(const YamlNode& a, const YamlNode& b) {
  const auto is_same_entry = [](const YamlEntry& one, const YamlEntry& two) {
    return one.key == two.key && is_same(one.value, two.value);
  };
  return a.kind == b.kind && a.text == b.text &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), is_same) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), is_same_entry);
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace giftsync;
  const YamlDocument document = read_yaml(fuzz::text_of(bytes, size));
  for (const FileFault& fault : document.faults) {
    const std::string line = to_line(fault, "giftsyncd.yaml");
    fuzz::require(fault.line > 0 && visible_text(line) == line, "a fault has its line and is visible text",
                  line);
  }
  if (!document.faults.empty()) return 0;
  const std::string printed = fuzz::print(document.root);
  const YamlDocument again = read_yaml(printed);
  fuzz::require(again.faults.empty(), "what was read is printed and read again",
                again.faults.empty() ? "" : to_line(again.faults.front(), "") + "\n" + printed);
  fuzz::require(fuzz::is_same(document.root, again.root), "it is read again as it was", printed);
  return 0;
}
