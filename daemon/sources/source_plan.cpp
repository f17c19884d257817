#include "daemon/sources/source_plan.h"

#include "daemon/crypto/digest.h"

namespace giftsync::daemon {
namespace {

using schema::Status;
using Words = std::map<std::string, std::optional<Status>, std::less<>>;

void add_pointers(SourcePlan& plan, const SourceFieldSettings& fields) {
  for (const FieldKey& one : kFieldKeys) {
    const std::string& text = fields.*one.pointer;
    if (text.empty()) continue;
    if (auto pointer = JsonPointer::parse(text)) plan.pointers.emplace_back(one.field, std::move(*pointer));
  }
}

/// What the providers' words mean. A bounce counts when it is for good: the readers of the presets give
/// softer ones words of their own.
Words preset_words() {
  return {{"delivered", Status::delivered},
          {"bounced", Status::undelivered},
          {"opened", Status::opened},
          {"other", std::nullopt}};
}

Words words_of(const SourceSettings& settings) {
  if (settings.preset != SourcePreset::none) return preset_words();
  Words words;
  for (const auto& [word, meaning] : settings.status_map) words[word] = schema::status_from_word(meaning);
  if (!words.empty()) return words;
  for (const Status status : schema::kAllStatuses) words[std::string(to_word(status))] = status;
  return words;
}

std::set<Status> may_set_of(const SourceSettings& settings) {
  std::set<Status> allowed;
  for (const std::string& word : settings.may_set) allowed.insert(*schema::status_from_word(word));
  if (!allowed.empty()) return allowed;
  if (settings.preset != SourcePreset::none) return {Status::delivered, Status::undelivered, Status::opened};
  return {schema::kAllStatuses.begin(), schema::kAllStatuses.end()};
}

/// Of 64 bits.
constexpr std::size_t kReadingDigits = 16;

std::string reading_of(const SourcePlan& plan) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += std::to_string(text.size()) + ":";
    all += text;
  };
  add(plan.origin);
  add(plan.settings.items);
  for (const FieldKey& one : kFieldKeys) add(plan.settings.fields.*one.pointer);
  for (const auto& [word, status] : plan.words) {
    add(word);
    add(status ? to_word(*status) : "ignore");
  }
  add("");
  for (const Status status : plan.may_set) add(to_word(status));
  return to_hex(sha256(all)).substr(0, kReadingDigits);
}

}  // namespace

SourcePlan make_source_plan(const SourceSettings& settings, const std::string& installation) {
  SourcePlan plan;
  plan.settings = settings;
  plan.origin = settings.external ? settings.name : "";
  plan.items = JsonPointer::parse(settings.items);
  add_pointers(plan, settings.fields);
  plan.words = words_of(settings);
  plan.may_set = may_set_of(settings);
  plan.installation = installation;
  if (settings.preset == SourcePreset::none) plan.reading = reading_of(plan);
  return plan;
}

}  // namespace giftsync::daemon
