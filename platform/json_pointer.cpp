#include "platform/json_pointer.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/quoted_text.h"
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

const JsonValue* child_of(const JsonValue& value, const std::string& token) {
  if (!value.is_array()) return value.find(token);
  const std::optional<std::size_t> index = parse_index(token);
  return index && *index < value.elements().size() ? &value.elements()[*index] : nullptr;
}

}  // namespace

std::optional<JsonPointer> JsonPointer::parse(std::string_view text) {
  JsonPointer pointer;
  pointer.text_ = text;
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
    current = child_of(*current, token);
    if (current == nullptr) return nullptr;
  }
  return current;
}

std::string JsonPointer::describe_ambiguity(const JsonValue& root) const {
  const JsonValue* current = &root;
  for (auto token = tokens_.begin(); token != tokens_.end() && current != nullptr; ++token) {
    const std::span<const JsonMember> members = current->members();
    const auto is_named = [&](const JsonMember& one) { return one.name == *token; };
    if (std::count_if(members.begin(), members.end(), is_named) > 1) {
      const std::string path = fmt::format("{}", fmt::join(tokens_.begin(), token, "/"));
      return fmt::format("The name {} appears twice at {}; which one counts is not clear", in_quotes(*token),
                         path.empty() ? "the top level" : in_quotes("/" + path));
    }
    current = child_of(*current, *token);
  }
  return {};
}

}  // namespace giftsync::platform
