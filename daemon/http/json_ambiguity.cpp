#include "daemon/http/json_ambiguity.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "daemon/http/json_fault.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kQuotedName = 60;
/// Up to here comparing each name with each other is faster than sorting.
constexpr std::size_t kFewMembers = 12;

/// One step of the way from the root to a value, kept on the stack and only written out for a fault.
struct Step {
  const Step* parent = nullptr;
  std::string_view name;  ///< of an object's member; without data in a list
  std::size_t index = 0;
};

std::string path_to(const Step* step) {
  if (step == nullptr || step->parent == nullptr) return {};
  const std::string before = path_to(step->parent);
  if (step->name.data() == nullptr) return fmt::format("{}[{}]", before, step->index);
  return before + (before.empty() ? "" : ".") + excerpt(step->name, kQuotedName);
}

std::string quoted_path(const Step& step) {
  const std::string path = path_to(&step);
  return path.empty() ? "the top level" : fmt::format("\"{}\"", path);
}

std::string_view repeated_name(std::span<const JsonMember> members) {
  if (members.size() <= kFewMembers) {
    for (auto later = members.begin(); later != members.end(); ++later) {
      const auto same = [&](const JsonMember& earlier) { return earlier.name == later->name; };
      if (std::any_of(members.begin(), later, same)) return later->name;
    }
    return {};
  }
  std::vector<std::string_view> names(members.size());
  std::transform(members.begin(), members.end(), names.begin(),
                 [](const JsonMember& member) { return member.name; });
  std::sort(names.begin(), names.end());
  const auto repeated = std::adjacent_find(names.begin(), names.end());
  return repeated == names.end() ? std::string_view{} : *repeated;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

JsonFault nul_fault(const Step& step) {
  return {"nul_character",
          fmt::format("The text at {} contains the NUL character (\\u0000), which is not allowed.",
                      quoted_path(step))};
}

JsonFault repeated_fault(std::string_view name, const Step& step) {
  return {"duplicate_key", fmt::format("The name \"{}\" appears twice at {}; which one counts is not clear.",
                                       excerpt(name, kQuotedName), quoted_path(step))};
}

class Search {
 public:
  explicit Search(const JsonValue* except) : except_(except) {}

  std::optional<JsonFault> in(const JsonValue& value, const Step& step) const {
    if (&value == except_) return std::nullopt;
    if (const auto text = value.text()) return has_nul(*text) ? std::optional(nul_fault(step)) : std::nullopt;
    Step inner{&step, {}, 0};
    for (const JsonValue& element : value.elements()) {
      if (auto fault = in(element, inner)) return fault;
      ++inner.index;
    }
    const std::span<const JsonMember> members = value.members();
    for (const JsonMember& member : members) {
      if (has_nul(member.name)) return nul_fault(step);
      if (auto fault = in(member.value, {&step, member.name, 0})) return fault;
    }
    const std::string_view name = repeated_name(members);
    return name.data() != nullptr ? std::optional(repeated_fault(name, step)) : std::nullopt;
  }

 private:
  const JsonValue* except_;
};

}  // namespace

std::optional<JsonFault> ambiguity_in(const JsonValue& value, const JsonValue* except) {
  return Search(except).in(value, Step{});
}

}  // namespace giftsync::daemon
