#include "crm/salesforce/org/org_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "crm/salesforce/org/write_mode.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {
using Severity = Finding::Severity;

constexpr std::int64_t kIdleDayCalls = 350;

/// "62.0" -> 62.
int major_version(std::string_view version) {
  return parse_number<int>(version.substr(0, version.find('.'))).value_or(0);
}

/// An Id has 15 characters, or 18 of which the last three repeat the others.
bool is_same_id(std::string_view one, std::string_view other) {
  return one.substr(0, 15) == other.substr(0, 15);
}

/// Whether the rest can be known at all.
bool check_version(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list) {
  const std::string subject = "API version " + expected.api_version;
  if (major_version(expected.api_version) < kOldestApiVersion)
    list.add(Severity::fault, subject, "giftsync needs a newer one",
             fmt::format("set crm.salesforce.api_version to {}.0 or newer", kOldestApiVersion));
  if (std::ranges::count(facts.versions, expected.api_version) > 0) return true;
  list.add(Severity::fault, subject,
           facts.versions.empty()
               ? "the org lists no version"
               : fmt::format("the org has {} to {}", facts.versions.front(), facts.versions.back()),
           "set crm.salesforce.api_version to one of them");
  return false;
}

void check_organization(const OrgFacts& facts, FindingList& list) {
  list.add(Severity::note, "org " + facts.organization_id,
           fmt::format("{}{}{}", facts.organization_name, facts.edition.empty() ? "" : ", " + facts.edition,
                       facts.is_sandbox ? ", a sandbox" : ", not a sandbox"));
}

/// Each of them has a contact, by which matching finds it.
void check_person_accounts(const OrgFacts& facts, FindingList& list) {
  const ObjectFacts* account = facts.find("account");
  if (account == nullptr) return;
  list.add(Severity::note, "person accounts",
           account->find("IsPersonAccount") == nullptr
               ? "the org has none"
               : "the org has them; a recipient is found through the contact of the person account");
}

void check_user(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list) {
  const UserFacts& user = facts.user;
  const std::string subject = "user " + (user.username.empty() ? user.id : user.username);
  list.add(Severity::note, subject, "giftsync signs in as this user");
  if (expected.integration_user.empty())
    list.add(Severity::warning, "crm.integration_user",
             "it is not set, so gifts that no user of the CRM sent have no Actual Sender",
             fmt::format("set it to {}", user.id));
  else if (!is_same_id(expected.integration_user, user.id))
    list.add(Severity::warning, "crm.integration_user",
             fmt::format("it is {}, and giftsync signs in as {}", expected.integration_user, user.id),
             "set it to the latter, unless another user should be the Actual Sender");
  // These languages fold the letter I otherwise, and Salesforce compares texts by the user's locale.
  for (const std::string_view language : {"tr", "az", "lt"}) {
    if (user.locale.starts_with(language))
      list.add(
          Severity::warning, subject,
          fmt::format("its locale is {}, in which addresses with the letter I are not found", user.locale),
          "set the user's locale to English (United States)");
  }
  if (!user.language.empty() && !user.language.starts_with("en"))
    list.add(Severity::warning, subject,
             fmt::format("its language is {}, and giftsync reads the words of refusals in English: too long "
                         "texts are not cut, and the cause of a refused row may be mistaken",
                         user.language),
             "set the user's language to English");
}

void check_calls(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list) {
  constexpr const char* kSubject = "API calls";
  if (!facts.calls) {
    list.add(Severity::note, kSubject,
             "the user may not read the org's limits; each answer tells the used calls");
    return;
  }
  const std::int64_t used = facts.calls->limit - facts.calls->remaining;
  const std::int64_t share = facts.calls->limit * expected.share_percent / 100;
  list.add(Severity::note, kSubject,
           fmt::format("{} of {} in the last 24 hours are used, by all integrations; giftsync's share is {}",
                       used, facts.calls->limit, share));
  if (share < kIdleDayCalls)
    list.add(Severity::warning, kSubject,
             fmt::format("giftsync's share of {} is less than a day without gifts needs ({})", share,
                         kIdleDayCalls),
             "raise crm.salesforce.share, or buy calls");
  if (facts.calls->remaining < facts.calls->limit * expected.keep_free_percent / 100)
    list.add(Severity::warning, kSubject,
             fmt::format("fewer than {} % are left, which giftsync keeps free for others",
                         expected.keep_free_percent),
             "find what uses them (Setup, System Overview), or lower crm.salesforce.keep_free");
}

/// Where the gift record has another namespace than the settings say.
std::string similar_object(const OrgFacts& facts, const std::string& name) {
  const std::size_t at = name.find("__");
  const std::string own = at + 3 < name.size() ? name.substr(at + 2) : name;
  for (const std::string& other : facts.object_names) {
    if (other != name && (other == own || other.ends_with("__" + own) || other.ends_with("__" + name)))
      return other;
  }
  return {};
}

void check_object(const OrgFacts& facts, const std::string& name, Severity severity, FindingList& list) {
  const std::string similar = similar_object(facts, name);
  list.add(severity, name, "it is missing, or the user may not see it",
           similar.empty()
               ? list.to_see(name)
               : fmt::format("the org has {}: set crm.namespace to its prefix (empty without one)", similar));
}

/// The settings ask for it.
void check_bare_mode(const OrgFacts& facts, const OrgExpectations& expected, OrgReport& report,
                     FindingList& list) {
  if (report.mode == OrgMode::guarded)
    list.add(
        Severity::note, "mode",
        "the org has giftsync's package: crm.salesforce.mode: guarded would protect more, and has request "
        "records");
  if (const auto problem = bare_problem(facts, expected.names)) {
    report.mode = OrgMode::none;
    report.reason = *problem;
    list.add(Severity::fault, "mode", "no gift record can be written: " + *problem, std::string(kBareRemedy));
    return;
  }
  // Also where the package's rules are not active.
  if (report.mode != OrgMode::bare) report.reason = "crm.salesforce.mode is bare";
  report.mode = OrgMode::bare;
}

void check_mode(const OrgFacts& facts, const OrgExpectations& expected, OrgReport& report,
                FindingList& list) {
  const std::string name = expected.names.object("gift_record");
  if (facts.find("gift_record") == nullptr) {
    check_object(facts, name, Severity::fault, list);
    return;
  }
  if (expected.is_bare) {
    check_bare_mode(facts, expected, report, list);
  } else if (report.mode == OrgMode::none) {
    list.add(Severity::fault, "mode", "no gift record can be written: " + report.reason,
             "repair this, or deploy giftsync's package once more with \"giftsyncctl crm setup\"");
  } else if (report.mode == OrgMode::bare) {
    list.add(
        Severity::fault, "mode", "giftsync's validation rules cannot protect gift records: " + report.reason,
        "deploy giftsync's package with \"giftsyncctl crm setup\"; if the package is of another owner, set "
        "crm.salesforce.mode: bare");
  }
  const FieldFacts* key = facts.find("gift_record")->find(expected.names.field(GiftField::transaction_id));
  if (report.mode == OrgMode::bare && key != nullptr && !key->is_unique)
    list.add(
        Severity::warning, name + "." + key->name,
        "it is not unique, so new records are created by upsert, after a call that looks for them; records "
        "made by others may be doubled",
        "make it unique (Setup, Object Manager)");
}

void check_offers(const OrgFacts& facts, const OrgExpectations& expected, OrgReport& report,
                  FindingList& list) {
  const std::optional<std::string> task = task_problem(facts, expected.names);
  report.offers_tasks = !task.has_value();
  if (task && expected.is_bare)
    list.add(expected.has_tasks ? Severity::warning : Severity::note, "tasks",
             "no task is made, since a gift could get two: " + *task,
             expected.has_tasks
                 ? "make a field of Activity (a number of 18 digits without decimal places, External "
                   "ID, Unique), let the user write it, and name it in crm.columns as "
                   "task.RecipientTransactionId; or set tasks.enabled to false"
                 : "");
  else if (task)
    list.add(expected.has_tasks ? Severity::fault : Severity::note, "tasks", *task,
             expected.has_tasks ? "deploy giftsync's package with \"giftsyncctl crm setup\" and assign its "
                                  "permission set, or set tasks.enabled to false"
                                : "");
  const ObjectFacts* tasks = facts.find("task");
  for (const std::string& wanted : expected.task_fields) {
    const FieldFacts* field = tasks == nullptr ? nullptr : tasks->find(expected.names.field("task", wanted));
    if (expected.has_tasks && !task && (field == nullptr || !field->is_createable))
      list.add(Severity::fault, "Task." + wanted, "the user may not write it, so no task is made",
               list.to_write());
  }
  std::optional<std::string> request = request_problem(facts, expected.names);
  if (report.mode == OrgMode::bare) request = "they need giftsync's package and guarded mode";
  report.offers_requests = !request.has_value();
  if (request)
    list.add(expected.has_requests ? Severity::fault : Severity::note, "request records", *request,
             expected.has_requests
                 ? "deploy giftsync's package with \"giftsyncctl crm setup\" and assign its "
                   "permission set, or set requests.enabled to false"
                 : "");
}

bool is_usable(const ObjectFacts& gift, GiftField field, const std::string& name) {
  const FieldFacts* facts = gift.find(name);
  if (facts == nullptr) return false;
  const FieldOwner owner = descriptor_of(field).owner;
  if (owner == FieldOwner::once) return facts->is_createable;
  return owner == FieldOwner::crm || facts->is_writable();
}

}  // namespace

FindingList::FindingList(const OrgFacts& facts, const OrgExpectations& expected)
    : user_(facts.user.username.empty() ? "the user" : facts.user.username),
      has_package_(!expected.is_bare) {}

void FindingList::add(Severity severity, std::string subject, std::string found, std::string remedy) {
  findings_.push_back({severity, std::move(subject), std::move(found), std::move(remedy)});
}

std::string FindingList::to_see(std::string_view field) const {
  if (!has_package_)
    return fmt::format("let {} read and edit {}, or name it in crm.tables or crm.columns", user_, field);
  return fmt::format(
      "run \"giftsyncctl crm setup\" if it was never deployed, and assign the permission set {} to {}",
      kIntegrationPermissionSet, user_);
}

std::string FindingList::to_write() const {
  if (!has_package_) return fmt::format("give {} these rights by a permission set", user_);
  return fmt::format("assign the permission set {} to {}", kIntegrationPermissionSet, user_);
}

/// A permission set that is not assigned hides each of the package's fields.
void FindingList::fold() {
  constexpr std::size_t kLeastFolded = 4;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    const Finding& finding = findings_[i];
    if (has_package_ && finding.remedy.find(kIntegrationPermissionSet) != std::string::npos)
      alike[{finding.found, finding.remedy}].push_back(i);
  }
  std::set<std::size_t> dropped;
  for (const auto& [texts, places] : alike) {
    if (places.size() < kLeastFolded) continue;
    Finding& first = findings_[places.front()];
    std::vector<std::string> subjects;
    for (const std::size_t place : places) {
      subjects.push_back(findings_[place].subject);
      first.severity = std::max(first.severity, findings_[place].severity);
      if (place != places.front()) dropped.insert(place);
    }
    first.subject = fmt::format("permission set {}", kIntegrationPermissionSet);
    first.found = fmt::format("of {} fields or objects the same was found: {}: {}", subjects.size(),
                              texts.first, fmt::join(subjects, ", "));
  }
  std::vector<Finding> kept;
  for (std::size_t i = 0; i < findings_.size(); ++i)
    if (!dropped.contains(i)) kept.push_back(std::move(findings_[i]));
  findings_ = std::move(kept);
}

std::vector<Finding> FindingList::take() {
  fold();
  std::ranges::stable_sort(findings_, std::ranges::greater(), &Finding::severity);
  return std::move(findings_);
}

std::string_view to_word(OrgMode mode) {
  constexpr auto kWords = std::to_array<std::string_view>({"guarded", "bare", "none"});
  return kWords[static_cast<std::size_t>(mode)];
}

std::string_view to_word(Severity severity) {
  constexpr auto kWords = std::to_array<std::string_view>({"note", "warning", "fault"});
  return kWords[static_cast<std::size_t>(severity)];
}

std::string to_text(const Finding& finding) {
  return fmt::format("{}: {}{}{}", finding.subject, finding.found, finding.remedy.empty() ? "" : "; ",
                     finding.remedy);
}

bool OrgReport::has_faults() const {
  return std::ranges::any_of(findings,
                             [](const Finding& finding) { return finding.severity == Severity::fault; });
}

OrgReport check(const OrgFacts& facts, const OrgExpectations& expected) {
  FindingList list(facts, expected);
  OrgReport report;
  if (!check_version(facts, expected, list)) {
    report.reason = "the org does not have this API version";
    report.findings = list.take();
    return report;
  }
  const FoundMode found = find_mode(facts, expected.names);
  report.mode = found.mode;
  report.reason = found.reason;
  check_organization(facts, list);
  check_person_accounts(facts, list);
  check_user(facts, expected, list);
  check_mode(facts, expected, report, list);
  check_offers(facts, expected, report, list);
  check_gift_fields(facts, expected, list);
  check_request_fields(facts, expected, list);
  check_matching(facts, expected, list);
  check_calls(facts, expected, list);
  report.findings = list.take();
  return report;
}

std::vector<GiftField> unusable_fields(const ApiNames& names, const OrgFacts& facts) {
  std::vector<GiftField> fields;
  const ObjectFacts* gift = facts.find("gift_record");
  if (gift == nullptr) return fields;
  for (const GiftField field : names.gift_fields()) {
    if (!is_vital(field) && !is_usable(*gift, field, names.field(field))) fields.push_back(field);
  }
  return fields;
}

}  // namespace giftsync::salesforce
