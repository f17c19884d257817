#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/store_address.h"
#include "schema/address.h"
#include "sync/sync_step.h"

namespace giftsync::daemon {
namespace {

using schema::Candidate;
using schema::PersonObject;

struct MatchWords {
  std::string email;
  std::string phone;
  bool json = false;
};

/// How one recipient would be matched now.
struct Explanation {
  schema::RecipientKeys keys;
  schema::Candidates contacts;
  schema::Candidates leads;
  schema::MatchDecision decision;
};

Explanation explain(schema::Crm& crm, const schema::MatchFields& fields, const MatchWords& words) {
  const schema::RecipientKeys keys{schema::email_key(words.email),
                                   schema::phone_key(words.phone, fields.default_region)};
  const std::span<const schema::RecipientKeys> one(&keys, 1);
  return {keys, crm.find_candidates(PersonObject::contact, one).front(),
          crm.find_candidates(PersonObject::lead, one).front(), sync::decide(crm, fields, {keys}).front()};
}

Json json_of(const std::vector<Candidate>& candidates) {
  Json list = Json::array();
  for (const Candidate& candidate : candidates) {
    list.push_back(
        {{"id", candidate.id},
         {"name", candidate.name},
         {"account_id", candidate.account_id.empty() ? Json(nullptr) : Json(candidate.account_id)},
         {"converted", candidate.converted},
         {"matched_field", candidate.matched_field},
         {"order_value", candidate.order_value.empty() ? Json(nullptr) : Json(candidate.order_value)}});
  }
  return list;
}

Json json_of(const schema::Candidates& candidates, const schema::PersonMatchFields& fields) {
  return {
      {"email_fields", fields.email_fields},      {"phone_fields", fields.phone_fields},
      {"order_by", fields.order_by.field},        {"direction", fields.order_by.descending ? "DESC" : "ASC"},
      {"by_email", json_of(candidates.by_email)}, {"by_phone", json_of(candidates.by_phone)}};
}

Json json_of(const Explanation& found, const schema::MatchFields& fields) {
  const auto id = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"email_key", id(found.keys.email_key)},
          {"phone_key", id(found.keys.phone_key)},
          {"contacts", json_of(found.contacts, fields.contact)},
          {"leads", json_of(found.leads, fields.lead)},
          {"contact_id", id(found.decision.contact_id)},
          {"account_id", id(found.decision.account_id)},
          {"lead_id", id(found.decision.lead_id)},
          {"reason", found.decision.reason}};
}

void tell_candidates(std::ostream& out, const std::string& title, const std::vector<Candidate>& candidates,
                     const schema::OrderBy& order) {
  out << title << (candidates.empty() ? ": nobody\n" : "\n");
  using Kind = TextTable::Kind;
  TextTable table(out, {{"", Kind::number},
                        {"ID"},
                        {"NAME", Kind::elastic},
                        {"FIELD"},
                        {order.field, Kind::elastic},
                        {"NOTE"}});
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    table.add({std::to_string(i + 1), candidate.id, candidate.name, candidate.matched_field,
               candidate.order_value.empty() ? "(empty)" : candidate.order_value,
               candidate.converted ? "converted: never matches" : ""});
  }
  table.finish();
}

void tell_person(std::ostream& out, const std::string& object, const schema::Candidates& candidates,
                 const schema::PersonMatchFields& fields, bool by_phone_too) {
  const std::string order =
      fmt::format("{} {}", fields.order_by.field, fields.order_by.descending ? "DESC" : "ASC");
  tell_candidates(
      out,
      fmt::format("{} by e-mail ({}), ordered by {}", object, fmt::join(fields.email_fields, ", "), order),
      candidates.by_email, fields.order_by);
  if (!by_phone_too) return;
  tell_candidates(
      out,
      fmt::format("{} by phone ({}), ordered by {}", object, fmt::join(fields.phone_fields, ", "), order),
      candidates.by_phone, fields.order_by);
}

void tell_explanation(std::ostream& out, const Explanation& found, const schema::MatchFields& fields) {
  const bool has_phone = !found.keys.phone_key.empty();
  out << "compared as: " << printable(found.keys.email_key);
  if (has_phone) out << ", " << found.keys.phone_key;
  out << '\n';
  tell_person(out, "contacts", found.contacts, fields.contact, has_phone);
  tell_person(out, "leads", found.leads, fields.lead, has_phone);
  const schema::MatchDecision& decision = found.decision;
  out << "choice: "
      << (!decision.contact_id.empty() ? "contact " + decision.contact_id
          : !decision.lead_id.empty()  ? "lead " + decision.lead_id
                                       : "nobody")
      << '\n';
  if (!decision.account_id.empty()) out << "account: " << printable(decision.account_id) << '\n';
  out << "why: " << printable(decision.reason) << '\n';
}

int match(const Console& console, Installation& place, const MatchWords& words) {
  const schema::SqlCrmOptions options = sql_crm_options(place.settings);
  if (const auto faults = schema::match_field_faults(options); !faults.empty()) {
    for (const std::string& fault : faults)
      console.fail(EX_CONFIG, fmt::format("{}: {}", place.settings.file, fault));
    return EX_CONFIG;
  }
  const schema::MatchFields& fields = options.match_fields;
  if (!words.phone.empty() && schema::phone_key(words.phone, fields.default_region).empty()) {
    console.note(fmt::format(
        "--phone: found {}, which is no phone number of region {} and has fewer than 7 digits: it matches "
        "nobody.",
        in_quotes(words.phone), fields.default_region));
  }
  const Explanation found = explain(*place.crm, fields, words);
  if (words.json)
    console.out << json_text(json_of(found, fields), 2) << '\n';
  else
    tell_explanation(console.out, found, fields);
  const bool skipped = place.settings.matching.skip_unmatched && found.decision.contact_id.empty() &&
                       found.decision.lead_id.empty();
  if (skipped) console.note("Such a gift gets no record (matching.on_no_match: skip).");
  return EX_OK;
}

}  // namespace

void add_match_command(Commands& commands) {
  const auto words = std::make_shared<MatchWords>();
  CLI::App* verb = commands.verb(
      commands.root(), "match",
      "Explain whom a recipient would be matched to now: the candidates in their order, the choice "
      "and its reason. Writes nothing.",
      {"match --email rose@example.com", "match --email rose@example.com --phone \"(650) 867-3450\" --json"});
  verb->add_option("--email", words->email, "The recipient's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--phone", words->phone, "The recipient's phone number")->option_text("PHONE");
  verb->add_flag("--json", words->json, "Print JSON");
  commands.run(
      verb, [words](const Console& console, Installation& place) { return match(console, place, *words); });
}

}  // namespace giftsync::daemon
