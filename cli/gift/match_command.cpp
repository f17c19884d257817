#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/listing.h"
#include "daemon/wiring/database_config.h"
#include "matching/choice.h"
#include "matching/match_decision.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"

namespace giftsync::cli {
namespace {

struct MatchOptions {
  std::string email;
  std::string phone;
  bool json = false;
};

using matching::DecidedBefore;
using matching::MatchExplanation;

Json json_of(const std::vector<crm::Candidate>& candidates, const crm::OrderBy& order,
             const std::string& decided_before) {
  const std::vector<std::string> verdicts = matching::explain_outcomes(candidates, order, decided_before);
  Json list = Json::array();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const crm::Candidate& candidate = candidates[i];
    list.push_back({{"id", candidate.id},
                    {"name", candidate.name},
                    {"account_id", text_or_null(candidate.account_id)},
                    {"converted", candidate.converted},
                    {"matched_field", candidate.matched_field},
                    {"order_value", text_or_null(candidate.order_value)},
                    {"verdict", verdicts[i]}});
  }
  return list;
}

const char* direction_of(const crm::OrderBy& order) {
  return order.descending ? "DESC" : "ASC";
}

Json json_of(const crm::Candidates& candidates, const crm::PersonMatchFields& fields,
             const std::string& before_email, const std::string& before_phone) {
  return {{"email_fields", fields.email_fields},
          {"phone_fields", fields.phone_fields},
          {"order_by", fields.order_by.field},
          {"direction", direction_of(fields.order_by)},
          {"by_email", json_of(candidates.by_email, fields.order_by, before_email)},
          {"by_phone", json_of(candidates.by_phone, fields.order_by, before_phone)}};
}

Json opportunities_json(const MatchExplanation& found, const crm::OpportunityMatching& rules) {
  const std::vector<std::string> verdicts = matching::explain_outcomes(found.opportunities, rules.order_by);
  Json list = Json::array();
  for (std::size_t i = 0; i < found.opportunities.size(); ++i) {
    const crm::Opportunity& opportunity = found.opportunities[i];
    list.push_back({{"id", opportunity.id},
                    {"name", opportunity.name},
                    {"account_id", text_or_null(opportunity.account_id)},
                    {"stage", opportunity.stage},
                    {"order_value", text_or_null(opportunity.order_value)},
                    {"verdict", verdicts[i]}});
  }
  return {{"enabled", rules.enabled},
          {"order_by", rules.order_by.field},
          {"direction", direction_of(rules.order_by)},
          {"open", list}};
}

Json json_of(const MatchExplanation& found, const crm::MatchFields& fields) {
  const DecidedBefore before = decided_before(found);
  return {{"email_key", text_or_null(found.keys.email_key)},
          {"phone_key", text_or_null(found.keys.phone_key)},
          {"contacts", json_of(found.contacts, fields.contact, "", before.contact_phone)},
          {"leads", json_of(found.leads, fields.lead, before.lead_email, before.lead_phone)},
          {"opportunities", opportunities_json(found, fields.opportunity)},
          {"contact_id", text_or_null(found.decision.contact_id)},
          {"account_id", text_or_null(found.decision.account_id)},
          {"lead_id", text_or_null(found.decision.lead_id)},
          {"opportunity_id", text_or_null(found.decision.opportunity_id)},
          {"deal_stage", text_or_null(found.decision.deal_stage)},
          {"reason", found.decision.reason}};
}

void print_candidates(std::ostream& out, const std::string& title,
                      const std::vector<crm::Candidate>& candidates, const crm::OrderBy& order,
                      const std::string& decided_before) {
  out << title << (candidates.empty() ? ": none\n" : "\n");
  using Kind = TextTable::Kind;
  TextTable table(out, {{"", Kind::number},
                        {"ID"},
                        {"NAME", Kind::elastic},
                        {"FIELD"},
                        {order.field, Kind::elastic},
                        {"VERDICT", Kind::elastic}});
  const std::vector<std::string> verdicts = matching::explain_outcomes(candidates, order, decided_before);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const crm::Candidate& candidate = candidates[i];
    table.add({std::to_string(i + 1), candidate.id, candidate.name, candidate.matched_field,
               candidate.order_value.empty() ? "(empty)" : candidate.order_value, verdicts[i]});
  }
  table.finish();
}

void print_person(std::ostream& out, const MatchExplanation& found, const crm::MatchFields& match_fields,
                  crm::PersonObject object) {
  const bool is_contact = object == crm::PersonObject::contact;
  const crm::PersonMatchFields& fields = is_contact ? match_fields.contact : match_fields.lead;
  const crm::Candidates& candidates = is_contact ? found.contacts : found.leads;
  const DecidedBefore before = decided_before(found);
  const auto title = [&](const char* how, const std::vector<std::string>& names) {
    return fmt::format("{} by {} ({}), ordered by {} {}", is_contact ? "contacts" : "leads", how,
                       fmt::join(names, ", "), fields.order_by.field, direction_of(fields.order_by));
  };
  if (!found.keys.email_key.empty()) {
    print_candidates(out, title("e-mail", fields.email_fields), candidates.by_email, fields.order_by,
                     is_contact ? "" : before.lead_email);
  }
  if (!found.keys.phone_key.empty()) {
    print_candidates(out, title("phone", fields.phone_fields), candidates.by_phone, fields.order_by,
                     is_contact ? before.contact_phone : before.lead_phone);
  }
}

void print_opportunities(std::ostream& out, const MatchExplanation& found,
                         const crm::OpportunityMatching& rules) {
  if (found.decision.contact_id.empty()) return;
  if (!rules.enabled) {
    out << "opportunities: matching.opportunity.enabled is false\n";
    return;
  }
  out << fmt::format("open opportunities of contact {}, ordered by {} {}{}\n", found.decision.contact_id,
                     rules.order_by.field, direction_of(rules.order_by),
                     found.opportunities.empty() ? ": none" : "");
  using Kind = TextTable::Kind;
  TextTable table(out, {{"", Kind::number},
                        {"ID"},
                        {"NAME", Kind::elastic},
                        {"STAGE", Kind::elastic},
                        {rules.order_by.field, Kind::elastic},
                        {"VERDICT", Kind::elastic}});
  const std::vector<std::string> verdicts = matching::explain_outcomes(found.opportunities, rules.order_by);
  for (std::size_t i = 0; i < found.opportunities.size(); ++i) {
    const crm::Opportunity& opportunity = found.opportunities[i];
    table.add({std::to_string(i + 1), opportunity.id, opportunity.name, opportunity.stage,
               opportunity.order_value.empty() ? "(empty)" : opportunity.order_value, verdicts[i]});
  }
  table.finish();
}

void print_explanation(std::ostream& out, const MatchExplanation& found, const crm::MatchFields& fields) {
  const std::string& email = found.keys.email_key;
  const std::string& phone = found.keys.phone_key;
  out << "compared as: " << (email.empty() && phone.empty() ? "nothing" : printable(email))
      << (email.empty() || phone.empty() ? "" : ", ") << phone << '\n';
  print_person(out, found, fields, crm::PersonObject::contact);
  print_person(out, found, fields, crm::PersonObject::lead);
  print_opportunities(out, found, fields.opportunity);
  const store::MatchDecision& decision = found.decision;
  out << "choice: "
      << (!decision.contact_id.empty() ? "contact " + decision.contact_id
          : !decision.lead_id.empty()  ? "lead " + decision.lead_id
                                       : "none")
      << '\n';
  if (!decision.account_id.empty()) out << "account: " << printable(decision.account_id) << '\n';
  if (!decision.opportunity_id.empty()) {
    out << "opportunity: " << printable(decision.opportunity_id) << ", stage "
        << printable(decision.deal_stage) << '\n';
  }
  out << "why: " << printable(decision.reason) << '\n';
}

int match(const Console& console, CliContext& ctx, const MatchOptions& options) {
  if (options.email.empty() && options.phone.empty())
    return console.fail(EX_USAGE, "match needs --email or --phone, or both");
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return console.fail(*refusal);
  const crm::MatchFields fields = wiring::match_fields(ctx.settings.matching);
  if (!options.phone.empty() && phone_key(options.phone, fields.default_region).empty()) {
    console.info(fmt::format(
        "--phone: found {}, which is not a valid phone number (region {}), or fills a field, as 000-000-0000 "
        "does; it matches nothing.",
        in_quotes(options.phone), fields.default_region));
  }
  if (const auto why = email_error(options.email); !options.email.empty() && why) {
    const bool is_phone = !phone_key(options.email, fields.default_region).empty();
    console.info(
        is_phone ? fmt::format("--email: found {}, a phone number; use --phone.", in_quotes(options.email))
                 : fmt::format("--email: found {}, which {}; it matches nothing.", in_quotes(options.email),
                               *why));
  }
  const MatchExplanation found = matching::explain_match(
      ctx.crm->directory(), fields, crm::match_keys_of(options.email, options.phone, fields.default_region));
  if (options.json)
    console.out << json_text(json_of(found, fields), 2) << '\n';
  else
    print_explanation(console.out, found, fields);
  const bool skipped = ctx.settings.matching.skip_unmatched && found.decision.contact_id.empty() &&
                       found.decision.lead_id.empty();
  if (skipped) console.info("Such a gift gets no record (matching.on_no_match: skip).");
  return EX_OK;
}

}  // namespace

void add_match_command(Commands& commands) {
  const auto options = std::make_shared<MatchOptions>();
  Command* verb = commands.verb(
      commands.root(), "match",
      "Show to which contact or lead a recipient would be matched now: the candidates in order, the choice, "
      "why the others lost, and the opportunity. Writes nothing.",
      {"match --email rose@example.com", "match --phone \"(650) 867-3450\"",
       "match --email rose@example.com --phone \"(650) 867-3450\" --json"});
  verb->add_option("--email", options->email, "The recipient's e-mail address")->option_text("EMAIL");
  verb->add_option("--phone", options->phone, "The recipient's phone number")->option_text("PHONE");
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, match);
}

}  // namespace giftsync::cli
