#include "crm/salesforce/records/lookup_targets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/statements.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kFewTargets = 20;

constexpr std::array<std::pair<GiftField, std::string_view>, 8> kLookups{{
    {GiftField::recipient_contact, "contact"},
    {GiftField::account, "account"},
    {GiftField::recipient_lead, "lead"},
    {GiftField::opportunity, "opportunity"},
    {GiftField::sender, "user"},
    {GiftField::actual_sender, "user"},
    {GiftField::created_by, "user"},
    {GiftField::owner, "user"},
}};

/// Ids by their first 15 characters, which distinguish them.
using ShortIds = std::set<std::string, std::less<>>;

struct Seen {
  ShortIds existing;
  ShortIds deleted;
};

bool is_true(const JsonValue& row, std::string_view name) {
  const JsonValue* value = row.find(name);
  return value && value->boolean().value_or(false);
}

std::map<std::string, Seen> look_up(OrgCalls& calls, const ApiNames& names, const TargetIds& ids,
                                    Spending spending) {
  std::vector<std::vector<std::string>> values;
  std::vector<std::string> objects;
  for (const auto& [object, some] : ids) {
    objects.push_back(object);
    values.emplace_back(some.begin(), some.end());
  }
  std::vector<Question> questions;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    questions.push_back(question_of(
        std::span<const std::string>(values[i]),
        [&names, object = objects[i]](std::span<const std::string> some) {
          return lookup_targets(names, object, some);
        },
        objects[i] != "user"));
  }
  std::map<std::string, Seen> seen;
  const Answers answers = ask(calls, questions, spending);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (const JsonValue* row : answers.of_question[i].rows) {
      Seen& of_object = seen[objects[i]];
      std::string id = short_id(text_at(*row, "Id"));
      (is_true(*row, "IsDeleted") ? of_object.deleted : of_object.existing).insert(std::move(id));
    }
  }
  return seen;
}

TargetIds lost(OrgCalls& calls, const ApiNames& names, const TargetIds& ids, Spending spending,
               bool is_cautious) {
  TargetIds asked = ids;
  std::erase_if(asked,
                [&](const auto& entry) { return entry.second.empty() || names.object(entry.first).empty(); });
  if (asked.empty()) return {};
  std::map<std::string, Seen> seen = look_up(calls, names, asked, spending);
  TargetIds lost;
  for (const auto& [object, some] : asked) {
    const Seen& known = seen[object];
    std::set<std::string> absent;
    for (const std::string& id : some) {
      if (known.deleted.contains(short_id(id)))
        lost[object].insert(id);
      else if (!known.existing.contains(short_id(id)))
        absent.insert(id);
    }
    const bool is_doubtful = is_cautious && some.size() >= kFewTargets && absent.size() * 2 > some.size();
    if (!is_doubtful) lost[object].insert(absent.begin(), absent.end());
  }
  return lost;
}

}  // namespace

std::string_view target_object(GiftField lookup) {
  const auto* const found = std::find_if(kLookups.begin(), kLookups.end(),
                                         [&](const auto& entry) { return entry.first == lookup; });
  return found == kLookups.end() ? std::string_view() : found->second;
}

std::vector<GiftField> written_lookups() {
  std::vector<GiftField> lookups;
  for (const auto& [field, object] : kLookups) lookups.push_back(field);
  return lookups;
}

TargetIds lost_targets(OrgCalls& calls, const ApiNames& names, const TargetIds& ids, Spending spending) {
  return lost(calls, names, ids, spending, false);
}

TargetIds surely_lost_targets(OrgCalls& calls, const ApiNames& names, const TargetIds& ids,
                              Spending spending) {
  return lost(calls, names, ids, spending, true);
}

bool is_same_id(std::string_view one, std::string_view other) {
  return short_id(one) == short_id(other) && one.empty() == other.empty();
}

bool names_id(std::string_view words, std::string_view id) {
  return !id.empty() && words.find(short_id(id)) != std::string_view::npos;
}

}  // namespace giftsync::salesforce
