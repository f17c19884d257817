#include "daemon/sources/json_pointer.h"

#include <charconv>

namespace giftsync::daemon {
namespace {

/// "~1" is "/", "~0" is "~"; any other "~" is a fault.
std::optional<std::string> unescaped(std::string_view step) {
  std::string text;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      text += step[i];
      continue;
    }
    if (++i == step.size() || (step[i] != '0' && step[i] != '1')) return std::nullopt;
    text += step[i] == '0' ? '~' : '/';
  }
  return text;
}

std::optional<std::size_t> index_of(std::string_view step) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  const bool is_whole = error == std::errc() && end == step.data() + step.size();
  if (!is_whole || (step.size() > 1 && step.front() == '0')) return std::nullopt;
  return index;
}

}  // namespace

std::optional<JsonPointer> JsonPointer::parse(std::string_view text) {
  JsonPointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') return std::nullopt;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('/'), text.size());
    std::optional<std::string> step = unescaped(text.substr(0, end));
    if (!step) return std::nullopt;
    pointer.steps_.push_back(std::move(*step));
    text.remove_prefix(end);
  }
  return pointer;
}

const JsonValue* JsonPointer::in(const JsonValue& root) const {
  const JsonValue* at = &root;
  for (const std::string& step : steps_) {
    if (at->is_array()) {
      const std::optional<std::size_t> index = index_of(step);
      if (!index || *index >= at->elements().size()) return nullptr;
      at = &at->elements()[*index];
    } else {
      at = at->find(step);
      if (at == nullptr) return nullptr;
    }
  }
  return at;
}

}  // namespace giftsync::daemon
