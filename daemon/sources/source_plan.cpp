#include "daemon/sources/source_plan.h"

namespace giftsync::daemon {
namespace {

using schema::Status;
using Words = std::map<std::string, std::optional<Status>, std::less<>>;

void add_pointer(SourcePlan& plan, ReportField field, const std::string& text) {
  if (text.empty()) return;
  if (auto pointer = JsonPointer::parse(text)) plan.pointers.emplace_back(field, std::move(*pointer));
}

void add_pointers(SourcePlan& plan, const SourceFieldSettings& fields) {
  add_pointer(plan, ReportField::transaction_id, fields.transaction_id);
  add_pointer(plan, ReportField::status, fields.status);
  add_pointer(plan, ReportField::occurred_at, fields.occurred_at);
  add_pointer(plan, ReportField::event_id, fields.event_id);
  add_pointer(plan, ReportField::recipient_email, fields.recipient_email);
  add_pointer(plan, ReportField::recipient_phone, fields.recipient_phone);
  add_pointer(plan, ReportField::first_name, fields.first_name);
  add_pointer(plan, ReportField::last_name, fields.last_name);
  add_pointer(plan, ReportField::sender_email, fields.sender_email);
  add_pointer(plan, ReportField::gift_id, fields.gift_id);
  add_pointer(plan, ReportField::message, fields.message);
  add_pointer(plan, ReportField::sent_at, fields.sent_at);
  add_pointer(plan, ReportField::item_cost, fields.item_cost);
  add_pointer(plan, ReportField::shipping_cost, fields.shipping_cost);
  add_pointer(plan, ReportField::carbon_neutral_cost, fields.carbon_neutral_cost);
  add_pointer(plan, ReportField::transaction_fee, fields.transaction_fee);
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
  return plan;
}

}  // namespace giftsync::daemon
