#include "daemon/salesforce/directory.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/person_matching.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/statements.h"
#include "schema/contact_normalization.h"
#include "schema/phone_spellings.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::crm::Candidates;
using schema::crm::ConvertedLead;
using schema::crm::Opportunity;
using schema::crm::PersonMatchFields;
using schema::crm::PersonObject;
using schema::crm::RecipientMatchKeys;

using Ids = std::span<const std::string>;

constexpr std::size_t kShortId = 15;

/// 15 and 18 characters of one Id are equal in these.
std::string short_id(const std::string& id) {
  return id.substr(0, kShortId);
}

/// An org without one of the compared fields has no key there.
std::vector<std::string> keys_of(std::span<const RecipientMatchKeys> recipients,
                                 std::string RecipientMatchKeys::*key,
                                 const std::vector<std::string>& compared) {
  std::vector<std::string> keys;
  if (compared.empty()) return keys;
  for (const RecipientMatchKeys& one : recipients) keys.push_back(one.*key);
  return distinct(std::move(keys));
}

Opportunity opportunity_of(const ApiNames& names, const JsonValue& row, const std::string& order_field) {
  const auto text = [&](const std::string& field) {
    const std::string name = names.field("opportunity", field);
    return name.empty() ? std::string() : text_of_value(value_at(row, "Opportunity." + name));
  };
  Opportunity found;
  found.id = text_at(row, "OpportunityId");
  found.name = text("Name");
  found.account_id = text("AccountId");
  found.stage = text("StageName");
  found.order_value = text(order_field);
  return found;
}

}  // namespace

SalesforceDirectory::SalesforceDirectory(OrgCalls& calls, const ApiNames& names,
                                         schema::crm::MatchFields fields)
    : calls_(calls), names_(names), fields_(std::move(fields)) {}

/// Both questions in one call.
std::vector<Candidates> SalesforceDirectory::find_candidates(PersonObject object,
                                                             std::span<const RecipientMatchKeys> recipients) {
  const PersonMatchFields& fields = object == PersonObject::contact ? fields_.contact : fields_.lead;
  const std::vector<std::string> emails =
      keys_of(recipients, &RecipientMatchKeys::email_key, fields.email_fields);
  const std::vector<std::string> phones =
      keys_of(recipients, &RecipientMatchKeys::phone_key, fields.phone_fields);
  const std::vector<Question> questions{
      question_of(Ids(emails), [&](Ids some) { return persons_by_email(names_, object, fields, some); }),
      question_of(Ids(phones), [&](Ids some) {
        std::vector<std::vector<std::string>> spellings;
        for (const std::string& key : some) spellings.push_back(schema::phone_spellings(key));
        return persons_by_phone(names_, object, fields, spellings);
      })};
  const Answers answers = ask(calls_, questions, Spending::gifts);
  const auto email_key = [](const std::string& text, const std::string&) { return schema::email_key(text); };
  const auto phone_key = [](const std::string& text, const std::string& region) {
    return schema::phone_key(text, region);
  };
  const CandidatesByKey by_email =
      candidates_by_key(names_, {object, fields, fields.email_fields, email_key, fields_.default_region},
                        answers.of_question[0].rows, emails);
  const CandidatesByKey by_phone =
      candidates_by_key(names_, {object, fields, fields.phone_fields, phone_key, fields_.default_region},
                        answers.of_question[1].rows, phones);
  std::vector<Candidates> results;
  for (const RecipientMatchKeys& one : recipients) {
    Candidates& result = results.emplace_back();
    if (const auto at = by_email.find(one.email_key); at != by_email.end()) result.by_email = at->second;
    if (const auto at = by_phone.find(one.phone_key); at != by_phone.end()) result.by_phone = at->second;
  }
  return results;
}

std::vector<std::vector<Opportunity>> SalesforceDirectory::find_open_opportunities(Ids contact_ids) {
  const schema::crm::OrderBy& order = fields_.opportunity.order_by;
  const std::vector<std::string> contacts = distinct({contact_ids.begin(), contact_ids.end()});
  std::map<std::string, std::vector<Opportunity>> found;
  std::set<std::pair<std::string, std::string>> seen;
  const auto statements = [&](Ids some) { return roles_by_contact(names_, order, some); };
  each_row(calls_, question_of(Ids(contacts), statements), Spending::gifts, [&](const JsonValue& row) {
    const std::string contact = short_id(text_at(row, "ContactId"));
    Opportunity opportunity = opportunity_of(names_, row, order.field);
    std::vector<Opportunity>& of_contact = found[contact];
    if (of_contact.size() >= schema::crm::kMaxCandidates || !seen.emplace(contact, opportunity.id).second)
      return;
    of_contact.push_back(std::move(opportunity));
  });
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
  each_row(calls_, question_of(Ids(contacts), statements), Spending::gifts, [&](const JsonValue& row) {
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
