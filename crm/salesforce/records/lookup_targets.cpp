#include "crm/salesforce/records/lookup_targets.h"

#include <algorithm>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/statements.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kFewTargets = 20;

/// Ids by their first 15 characters, which distinguish them.
using ShortIds = std::set<std::string, std::less<>>;

struct Seen {
  ShortIds existing;
  ShortIds deleted;
};

std::map<std::string, Seen> look_up(OrgCalls& calls, const ApiNames& names, const TargetIds& ids,
                                    CallPurpose purpose) {
  std::vector<std::vector<std::string>> values;
  std::vector<std::string> objects;
  for (const auto& [object, some] : ids) {
    objects.push_back(object);
    values.emplace_back(some.begin(), some.end());
  }
  std::vector<Query> queries;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    queries.push_back(query_of(
        std::span<const std::string>(values[i]),
        [&names, object = objects[i]](std::span<const std::string> some) {
          return lookup_targets(names, object, some);
        },
        objects[i] != "user"));
  }
  std::map<std::string, Seen> seen;
  const Answers answers = ask(calls, queries, purpose);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (const JsonValue* row : answers.of_query[i].rows) {
      Seen& of_object = seen[objects[i]];
      std::string id = short_id(text_at(*row, "Id"));
      (flag_at(*row, "IsDeleted") ? of_object.deleted : of_object.existing).insert(std::move(id));
    }
  }
  return seen;
}

TargetIds lost(OrgCalls& calls, const ApiNames& names, const TargetIds& ids, CallPurpose purpose,
               bool is_cautious) {
  TargetIds asked = ids;
  std::erase_if(asked,
                [&](const auto& entry) { return entry.second.empty() || names.object(entry.first).empty(); });
  if (asked.empty()) return {};
  std::map<std::string, Seen> seen = look_up(calls, names, asked, purpose);
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

TargetIds lost_targets(OrgCalls& calls, const ApiNames& names, const TargetIds& ids, CallPurpose purpose) {
  return lost(calls, names, ids, purpose, false);
}

TargetIds surely_lost_targets(OrgCalls& calls, const ApiNames& names, const TargetIds& ids,
                              CallPurpose purpose) {
  return lost(calls, names, ids, purpose, true);
}

bool is_same_id(std::string_view one, std::string_view other) {
  return short_id(one) == short_id(other) && one.empty() == other.empty();
}

bool names_id(std::string_view words, std::string_view id) {
  return !id.empty() && words.find(short_id(id)) != std::string_view::npos;
}

}  // namespace giftsync::salesforce
