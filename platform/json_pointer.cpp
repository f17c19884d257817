#include "platform/json_pointer.h"

#include "platform/text.h"

namespace giftsync::platform {
namespace {

/// "~1" is "/", "~0" is "~"; any other "~" is an error.
std::optional<std::string> unescape_token(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      text += token[i];
      continue;
    }
    if (++i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    text += token[i] == '0' ? '~' : '/';
  }
  return text;
}

std::optional<std::size_t> parse_index(std::string_view token) {
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  return parse_number<std::size_t>(token);
}

}  // namespace

std::optional<JsonPointer> JsonPointer::parse(std::string_view text) {
  JsonPointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') return std::nullopt;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('/'), text.size());
    std::optional<std::string> token = unescape_token(text.substr(0, end));
    if (!token) return std::nullopt;
    pointer.tokens_.push_back(std::move(*token));
    text.remove_prefix(end);
  }
  return pointer;
}

const JsonValue* JsonPointer::resolve(const JsonValue& root) const {
  const JsonValue* current = &root;
  for (const std::string& token : tokens_) {
    if (current->is_array()) {
      const std::optional<std::size_t> index = parse_index(token);
      if (!index || *index >= current->elements().size()) return nullptr;
      current = &current->elements()[*index];
    } else {
      current = current->find(token);
      if (current == nullptr) return nullptr;
    }
  }
  return current;
}

}  // namespace giftsync::platform
