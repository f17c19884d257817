#include "daemon/salesforce/mode_watch.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/org_description.h"
#include "daemon/salesforce/soql_text.h"
#include "platform/dependency_pause.h"
#include "platform/http_client.h"

namespace giftsync::daemon::salesforce {
namespace {

/// A statement that was refused is not older.
constexpr std::int64_t kSecondLookMillis = platform::kMinuteMillis;

std::optional<ModeFinding> stored_finding(const FactStorage& facts) {
  const std::optional<std::string> text = facts.load(kModeFact);
  return text ? read_mode_finding(*text) : std::nullopt;
}

/// The gift record and the task, as the user sees them.
void describe_objects(OrgCalls& calls, const ApiNames& names, OrgFacts& facts) {
  struct Described {
    std::string_view object;
    const char* reference;
  };
  constexpr Described kObjects[] = {{"gift_record", "gift"}, {"task", "task"}};
  std::vector<PartRequest> parts;
  for (const Described& one : kObjects) {
    const std::string name = names.object(one.object);
    if (is_identifier(name)) parts.push_back(describe_part(calls.api_version(), name, one.reference));
  }
  const CompositeAnswer answer = calls.read(parts, parts.size(), Spending::watch);
  for (const Described& one : kObjects) {
    if (!is_identifier(names.object(one.object))) continue;
    const CompositePart& part = require_part(answer.parts, one.reference);
    if (part.status == kNotFound) continue;
    if (!is_success(part.status))
      calls.stop(part, Spending::watch);  // a passing fault says nothing of the object
    facts.objects[std::string(one.object)] = object_facts(*part.body);
  }
}

/// Nullopt where the user may not see the setup.
std::optional<std::vector<RuleFacts>> find_rules(OrgCalls& calls, const ApiNames& names) {
  try {
    const AnswerBody body = calls.get(
        "/tooling/query", "q=" + platform::percent_encoded(rules_statement(names)), Spending::watch);
    return rule_facts(*body.json());
  } catch (const platform::DependencyError& fault) {
    if (fault.transient()) throw;
    return std::nullopt;
  }
}

}  // namespace

WriteMode ModeWatch::require() {
  const ModeFinding finding = current();
  WriteMode mode = write_mode(wanted_, finding);
  if (mode.mode != OrgMode::none) return mode;
  const platform::UtcMillis next = finding.found_at + kModeObstacleMillis;
  throw platform::DependencyPause(
      next,
      fmt::format("{}; the org is looked at again at {}, or at once by \"giftsyncctl crm retry --all\"",
                  mode.obstacle, platform::to_rfc3339(next)),
      true);
}

bool ModeWatch::offers_tasks() {
  return wanted_ == OrgMode::guarded || write_mode(wanted_, current()).offers_tasks;
}

ModeFinding ModeWatch::current() {
  const std::lock_guard lock(mutex_);
  const platform::UtcMillis now = clock_();
  if (!first_asked_at_) first_asked_at_ = now;
  const std::optional<ModeFinding> stored = stored_finding(facts_);
  hide(stored);
  if (!is_due(wanted_, stored, names_, now)) return *stored;
  if (now.value - first_asked_at_->value < kFirstLookMillis && may_assume_guarded(wanted_, stored, names_))
    return {.mode = OrgMode::guarded};
  return look(stored);
}

ModeFinding ModeWatch::look(const std::optional<ModeFinding>& before) {
  OrgFacts facts;
  describe_objects(calls_, names_, facts);
  const ObjectFacts* gift = facts.find("gift_record");
  if (gift != nullptr && gift->find(names_.field(OwnField::record_version)) != nullptr)
    facts.rules = find_rules(calls_, names_);
  ModeFinding finding = find_write_mode(facts, names_, before, clock_());
  facts_.save(kModeFact, to_text(finding));
  hide(finding);
  return finding;
}

void ModeWatch::hide(const std::optional<ModeFinding>& finding) {
  const bool is_of_names = finding && finding->names == mode_names(names_);
  shown_names_.hide(is_of_names ? finding->left_out : std::vector<schema::GiftField>());
}

void ModeWatch::hide_unusable_fields() {
  const std::lock_guard lock(mutex_);
  hide(stored_finding(facts_));
}

bool ModeWatch::hides_more_fields() {
  const std::lock_guard lock(mutex_);
  const platform::UtcMillis now = clock_();
  const std::vector<schema::GiftField> before = shown_names_.gift_fields();
  hide(stored_finding(facts_));  // another process may have looked meanwhile
  if (shown_names_.gift_fields() != before) return true;
  // Another thread has looked since the refused statement was made.
  if (found_more_at_ && !platform::has_elapsed(*found_more_at_, kSecondLookMillis, now)) return true;
  if (looked_in_vain_at_ && !platform::has_elapsed(*looked_in_vain_at_, kModeFindingMillis, now))
    return false;
  look(stored_finding(facts_));
  const bool has_changed = shown_names_.gift_fields() != before;
  (has_changed ? found_more_at_ : looked_in_vain_at_) = now;
  return has_changed;
}

void store_mode(const FactStorage& facts, const OrgFacts& org, const ApiNames& names,
                platform::UtcMillis now) {
  facts.save(kModeFact, to_text(find_write_mode(org, names, stored_finding(facts), now)));
}

}  // namespace giftsync::daemon::salesforce
