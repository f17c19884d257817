#include "daemon/salesforce/directory.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/person_matching.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::crm::ConvertedLead;
using schema::crm::Opportunity;

using Ids = std::span<const std::string>;

}  // namespace

SalesforceDirectory::SalesforceDirectory(OrgCalls& calls, const ApiNames& names,
                                         schema::crm::MatchFields fields)
    : calls_(calls), names_(names), fields_(std::move(fields)) {}

std::vector<std::vector<Opportunity>> SalesforceDirectory::find_open_opportunities(Ids contact_ids) {
  const schema::crm::OrderBy& order = fields_.opportunity.order_by;
  const std::vector<std::string> contacts = distinct({contact_ids.begin(), contact_ids.end()});
  const Question question =
      question_of(Ids(contacts), [&](Ids some) { return roles_by_contact(names_, order, some); });
  const Answers answers = ask(calls_, std::span(&question, 1), Spending::matching);
  OpportunitiesByContact found =
      opportunities_by_contact(names_, answers.of_question.front().rows, order.field);
  std::vector<std::vector<Opportunity>> results;
  for (const std::string& contact : contact_ids) results.push_back(found[short_id(contact)]);
  return results;
}

std::vector<ConvertedLead> SalesforceDirectory::find_converted_leads(Ids lead_ids) {
  const std::vector<std::string> leads = distinct({lead_ids.begin(), lead_ids.end()});
  std::map<std::string, std::string> as_given;
  for (const std::string& lead : leads) as_given.emplace(short_id(lead), lead);
  std::vector<ConvertedLead> found;
  const auto statements = [&](Ids some) { return converted_leads(names_, some); };
  each_row(calls_, question_of(Ids(leads), statements), Spending::backfill, [&](const JsonValue& row) {
    ConvertedLead lead;
    lead.lead_id = as_given[short_id(text_at(row, "Id"))];
    lead.contact_id = text_at(row, "ConvertedContactId");
    const JsonValue* contact = row.find("ConvertedContact");
    lead.contact_exists = contact && contact->is_object();  // null for a deleted contact
    lead.contact_name = text_of_value(value_at(row, "ConvertedContact.Name"));
    lead.account_id = text_of_value(value_at(row, "ConvertedContact.AccountId"));
    found.push_back(std::move(lead));
  });
  return found;
}

std::vector<std::optional<std::string>> SalesforceDirectory::find_accounts_of_contacts(Ids contact_ids) {
  const std::vector<std::string> contacts = distinct({contact_ids.begin(), contact_ids.end()});
  const std::string field = names_.field("contact", "AccountId");
  std::map<std::string, std::string> found;
  const auto statements = [&](Ids some) { return accounts_of_contacts(names_, some); };
  each_row(calls_, question_of(Ids(contacts), statements), Spending::matching, [&](const JsonValue& row) {
    found[short_id(text_at(row, "Id"))] = field.empty() ? std::string() : text_of_value(value_at(row, field));
  });
  std::vector<std::optional<std::string>> results;
  for (const std::string& contact : contact_ids) {
    const auto at = found.find(short_id(contact));
    results.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return results;
}

}  // namespace giftsync::daemon::salesforce
