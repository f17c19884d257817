#include "platform/json_uniqueness.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "platform/json_error_locator.h"

namespace giftsync::platform {
namespace {

constexpr std::size_t kMaxQuotedName = 60;
/// Up to this size comparing all pairs of names is faster than sorting.
constexpr std::size_t kMaxMembersForPairwise = 12;

/// One step of the path from the root to a value. Lives on the stack and is formatted only for an error.
struct PathStep {
  const PathStep* parent = nullptr;
  std::string_view name;  ///< of an object's member; no data for a list element
  std::size_t index = 0;
};

std::string path_to(const PathStep* step) {
  if (step == nullptr || step->parent == nullptr) return {};
  const std::string before = path_to(step->parent);
  if (step->name.data() == nullptr) return fmt::format("{}[{}]", before, step->index);
  return before + (before.empty() ? "" : ".") + excerpt(step->name, kMaxQuotedName);
}

std::string quoted_path(const PathStep& step) {
  const std::string path = path_to(&step);
  return path.empty() ? "the top level" : fmt::format("\"{}\"", path);
}

std::string_view duplicate_name(std::span<const JsonMember> members) {
  if (members.size() <= kMaxMembersForPairwise) {
    for (auto second = members.begin(); second != members.end(); ++second) {
      const auto same = [&](const JsonMember& first) { return first.name == second->name; };
      if (std::any_of(members.begin(), second, same)) return second->name;
    }
    return {};
  }
  std::vector<std::string_view> names(members.size());
  std::transform(members.begin(), members.end(), names.begin(),
                 [](const JsonMember& member) { return member.name; });
  std::sort(names.begin(), names.end());
  const auto duplicate = std::adjacent_find(names.begin(), names.end());
  return duplicate == names.end() ? std::string_view{} : *duplicate;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

JsonError nul_error(const PathStep& step) {
  return {"nul_character",
          fmt::format("The text at {} contains the NUL character (\\u0000), which is not allowed.",
                      quoted_path(step))};
}

JsonError duplicate_name_error(std::string_view name, const PathStep& step) {
  return {"duplicate_key", fmt::format("The name \"{}\" appears twice at {}; which one counts is not clear.",
                                       excerpt(name, kMaxQuotedName), quoted_path(step))};
}

/// `step` is the position of `value`.
std::optional<JsonError> find_in(const JsonValue& value, const PathStep& step) {
  if (const auto text = value.text()) return has_nul(*text) ? std::optional(nul_error(step)) : std::nullopt;
  PathStep inner{&step, {}, 0};
  for (const JsonValue& element : value.elements()) {
    if (auto error = find_in(element, inner)) return error;
    ++inner.index;
  }
  const std::span<const JsonMember> members = value.members();
  for (const JsonMember& member : members) {
    if (has_nul(member.name)) return nul_error(step);
    if (auto error = find_in(member.value, {&step, member.name, 0})) return error;
  }
  const std::string_view name = duplicate_name(members);
  return name.data() != nullptr ? std::optional(duplicate_name_error(name, step)) : std::nullopt;
}

}  // namespace

std::optional<JsonError> find_ambiguity(const JsonValue& value) {
  return find_in(value, PathStep{});
}

}  // namespace giftsync::platform
