#include "crm/salesforce/records/directory.h"

#include <functional>
#include <map>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/person_matching.h"
#include "crm/salesforce/records/statements.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::salesforce {
namespace {
using crm::ConvertedLead;
using crm::Opportunity;

using Ids = std::span<const std::string>;

}  // namespace

SalesforceDirectory::SalesforceDirectory(OrgCalls& calls, const ApiNames& names, crm::MatchFields fields)
    : calls_(calls), names_(names), fields_(std::move(fields)) {}

std::vector<std::vector<Opportunity>> SalesforceDirectory::find_open_opportunities(Ids contact_ids) {
  const crm::OrderBy& order = fields_.opportunity.order_by;
  const std::vector<std::string> contacts = distinct({contact_ids.begin(), contact_ids.end()});
  const Query query =
      query_of(Ids(contacts), [&](Ids some) { return roles_by_contact(names_, order, some); });
  const Answers answers = ask(calls_, std::span(&query, 1), CallPurpose::matching);
  OpportunitiesByContact found = opportunities_by_contact(names_, answers.of_query.front().rows, order.field);
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
  each_row(calls_, query_of(Ids(leads), statements), CallPurpose::backfill, [&](const JsonValue& row) {
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
  each_row(calls_, query_of(Ids(contacts), statements), CallPurpose::matching, [&](const JsonValue& row) {
    found[short_id(text_at(row, "Id"))] = field.empty() ? std::string() : text_of_value(value_at(row, field));
  });
  std::vector<std::optional<std::string>> results;
  for (const std::string& contact : contact_ids) {
    const auto at = found.find(short_id(contact));
    results.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return results;
}

std::vector<std::string> SalesforceDirectory::find_account_owners(Ids account_ids) {
  const std::vector<std::string> accounts = distinct({account_ids.begin(), account_ids.end()});
  std::map<std::string, std::string> found;
  const auto statements = [&](Ids some) { return owners_of_accounts(names_, some); };
  each_row(calls_, query_of(Ids(accounts), statements), CallPurpose::matching, [&](const JsonValue& row) {
    found[short_id(text_at(row, "Id"))] = text_of_value(value_at(row, names_.field("account", "OwnerId")));
  });
  std::vector<std::string> results;
  for (const std::string& account : account_ids) results.push_back(found[short_id(account)]);
  return results;
}

// Who the recipients of gifts are, in as few calls as possible. Addresses of contacts, of
// leads and of users and the opportunities of contacts are one call. Phone numbers are asked for in a second
// one, as far as matching uses them: a person that an address finds is preferred.

namespace {

using crm::Candidate;
using crm::Candidates;
using crm::DecisionFacts;
using crm::DecisionQuestions;
using crm::MatchFields;
using crm::PersonMatchFields;
using crm::PersonObject;
using crm::RecipientMatchKeys;

using List = std::vector<Candidate> Candidates::*;

const PersonMatchFields& fields_of(const MatchFields& fields, PersonObject object) {
  return object == PersonObject::contact ? fields.contact : fields.lead;
}

/// Asks for the people of one object by keys of one kind, and reads the answer.
class PersonQuestion {
 public:
  /// All outlive this object.
  PersonQuestion(const ApiNames& names, const MatchFields& fields, PersonObject object, List list,
                 std::span<const RecipientMatchKeys> recipients)
      : names_(names), fields_(fields), object_(object), list_(list) {
    keys_ = keys_of(recipients, is_email() ? &RecipientMatchKeys::email_key : &RecipientMatchKeys::phone_key,
                    compared());
  }

  const std::vector<std::string>& keys() const { return keys_; }

  Query query() const {
    return query_of(Ids(keys_), [this](Ids some) {
      if (is_email()) return persons_by_email(names_, object_, own_fields(), some);
      std::vector<std::vector<std::string>> spellings;
      for (const std::string& key : some) spellings.push_back(phone_spellings(key));
      return persons_by_phone(names_, object_, own_fields(), spellings);
    });
  }

  CandidatesByKey candidates(const Rows& answer) const {
    const auto email_key = [](const std::string& text, const std::string&) {
      return giftsync::email_key(text);
    };
    const auto phone_key = [](const std::string& text, const std::string& region) {
      return giftsync::phone_key(text, region);
    };
    const PersonComparison by_email{object_, own_fields(), compared(), email_key, fields_.default_region};
    const PersonComparison by_phone{object_, own_fields(), compared(), phone_key, fields_.default_region};
    return candidates_by_key(names_, is_email() ? by_email : by_phone, answer.rows, keys_);
  }

  /// Writes what each recipient's key finds into its list.
  void fill(const Rows& answer, std::span<const RecipientMatchKeys> recipients,
            std::vector<Candidates>& found) const {
    const CandidatesByKey by_key = candidates(answer);
    for (std::size_t i = 0; i < recipients.size(); ++i) {
      const auto at = by_key.find(is_email() ? recipients[i].email_key : recipients[i].phone_key);
      if (at != by_key.end()) found[i].*list_ = at->second;
    }
  }

 private:
  bool is_email() const { return list_ == &Candidates::by_email; }
  const PersonMatchFields& own_fields() const { return fields_of(fields_, object_); }
  const std::vector<std::string>& compared() const {
    return is_email() ? own_fields().email_fields : own_fields().phone_fields;
  }

  const ApiNames& names_;
  const MatchFields& fields_;
  const PersonObject object_;
  const List list_;
  std::vector<std::string> keys_;
};

/// The opportunities of each contact among the candidates, also without any.
crm::KnownOpportunities opportunities_of(const std::vector<Candidates>& contacts,
                                         const OpportunitiesByContact& found) {
  crm::KnownOpportunities known;
  for (const Candidates& of_recipient : contacts) {
    for (const Candidate& contact : of_recipient.by_email) {
      const auto at = found.find(short_id(contact.id));
      known[contact.id] = at == found.end() ? std::vector<crm::Opportunity>() : at->second;
    }
  }
  return known;
}

/// The phone numbers of recipients that an address does not find; the others have none.
std::vector<RecipientMatchKeys> phones_without_match(std::span<const RecipientMatchKeys> recipients,
                                                     const std::vector<Candidates>& found,
                                                     const std::vector<Candidates>& also_found) {
  std::vector<RecipientMatchKeys> phones(recipients.size());
  for (std::size_t i = 0; i < recipients.size(); ++i)
    if (found[i].empty() && also_found[i].empty()) phones[i].phone_key = recipients[i].phone_key;
  return phones;
}

void add_people_by_phone(OrgCalls& calls, const ApiNames& names, const MatchFields& fields,
                         std::span<const RecipientMatchKeys> recipients, DecisionFacts& facts) {
  const std::vector<Candidates> none(recipients.size());
  const std::vector<RecipientMatchKeys> contact_keys = phones_without_match(recipients, facts.contacts, none);
  const std::vector<RecipientMatchKeys> lead_keys =
      phones_without_match(recipients, facts.contacts, facts.leads);
  const PersonQuestion contacts(names, fields, PersonObject::contact, &Candidates::by_phone, contact_keys);
  const PersonQuestion leads(names, fields, PersonObject::lead, &Candidates::by_phone, lead_keys);
  if (contacts.keys().empty() && leads.keys().empty()) return;
  const std::vector<Query> queries{contacts.query(), leads.query()};
  const Answers answers = ask(calls, queries, CallPurpose::matching);
  contacts.fill(answers.of_query[0], contact_keys, facts.contacts);
  leads.fill(answers.of_query[1], lead_keys, facts.leads);
}

}  // namespace

DecisionFacts SalesforceDirectory::look_up(const DecisionQuestions& asked) {
  const std::vector<RecipientMatchKeys>& recipients = asked.recipients;
  const PersonQuestion contacts(names_, fields_, PersonObject::contact, &Candidates::by_email, recipients);
  const PersonQuestion leads(names_, fields_, PersonObject::lead, &Candidates::by_email, recipients);
  const std::vector<std::string> sender_keys = distinct(asked.sender_keys);
  const crm::OpportunityMatching& opportunity = fields_.opportunity;
  const Ids role_keys = opportunity.enabled ? Ids(contacts.keys()) : Ids();
  const std::vector<Query> queries{
      contacts.query(),
      query_of(role_keys,
               [&](Ids some) {
                 return roles_by_email(names_, fields_.contact.email_fields, opportunity.order_by, some);
               }),
      leads.query(), query_of(Ids(sender_keys), [&](Ids some) { return users_by_email(names_, some); })};
  const Answers answers = ask(calls_, queries, CallPurpose::matching);
  DecisionFacts facts;
  facts.contacts.resize(recipients.size());
  facts.leads.resize(recipients.size());
  contacts.fill(answers.of_query[0], recipients, facts.contacts);
  leads.fill(answers.of_query[2], recipients, facts.leads);
  if (opportunity.enabled)
    facts.opportunities = opportunities_of(
        facts.contacts,
        opportunities_by_contact(names_, answers.of_query[1].rows, opportunity.order_by.field));
  facts.senders = users_of_keys(names_, answers.of_query[3].rows, asked.sender_keys);
  add_people_by_phone(calls_, names_, fields_, recipients, facts);
  for (std::size_t i = 0; i < recipients.size(); ++i)
    if (!facts.contacts[i].empty()) facts.leads[i] = {};
  return facts;
}

/// Both queries in one call.
std::vector<Candidates> SalesforceDirectory::find_candidates(PersonObject object,
                                                             std::span<const RecipientMatchKeys> recipients) {
  const PersonQuestion by_email(names_, fields_, object, &Candidates::by_email, recipients);
  const PersonQuestion by_phone(names_, fields_, object, &Candidates::by_phone, recipients);
  const std::vector<Query> queries{by_email.query(), by_phone.query()};
  const Answers answers = ask(calls_, queries, CallPurpose::matching);
  std::vector<Candidates> found(recipients.size());
  by_email.fill(answers.of_query[0], recipients, found);
  by_phone.fill(answers.of_query[1], recipients, found);
  return found;
}

// The users of an org and their permission sets.

namespace {
using crm::CrmUser;
using crm::PermissionSetAssignment;

using AssignmentsByUser = std::map<std::string, std::vector<PermissionSetAssignment>>;

/// One that is not assigned by a group has no group Id.
struct Assignment {
  std::string user;
  std::string group;
  PermissionSetAssignment assignment;
};

/// Names the user of a row as the caller asked for it.
using UserKey = std::function<std::string(const JsonValue& row)>;

/// The set's name. One of another package, or of the org's own where giftsync's package has a namespace, has
/// its prefix (Salesforce's for the org itself is "c"), so that it does not count as the set with the bare
/// name.
std::string set_name_of(const JsonValue& row, const ApiNames& names) {
  std::string name = text_of_value(value_at(row, "PermissionSet.Name"));
  const std::string prefix = text_of_value(value_at(row, "PermissionSet.NamespacePrefix"));
  if (ascii_lower(prefix) == ascii_lower(names.name_space())) return name;
  return (prefix.empty() ? "c" : prefix) + "__" + name;
}

Assignment assignment_of(const JsonValue& row, const ApiNames& names, const UserKey& user_key) {
  Assignment read;
  read.user = user_key(row);
  read.group = short_id(text_at(row, "PermissionSetGroupId"));
  read.assignment.permission_set = set_name_of(row, names);
  read.assignment.active = flag_at(row, "IsActive", true);
  const std::string expires = text_at(row, "ExpirationDate");
  // A time that cannot be read has passed.
  if (!expires.empty()) read.assignment.expires_at = read_time(expires).value_or(UtcMillis{0});
  return read;
}

/// By user_key(). Sets inside of a group count as assigned by it.
AssignmentsByUser read_assignments(OrgCalls& calls, const ApiNames& names, const Query& query,
                                   CallPurpose purpose, const UserKey& user_key) {
  AssignmentsByUser found;
  std::map<std::string, std::vector<Assignment>> by_group;
  std::vector<std::string> groups;
  each_row(calls, query, purpose, [&](const JsonValue& row) {
    Assignment read = assignment_of(row, names, user_key);
    if (!read.group.empty()) {
      groups.push_back(text_at(row, "PermissionSetGroupId"));
      by_group[read.group].push_back(std::move(read));
    } else {
      found[read.user].push_back(std::move(read.assignment));
    }
  });
  groups = distinct(std::move(groups));
  const auto parts = [](Ids some) { return permission_set_group_parts(some); };
  each_row(calls, query_of(Ids(groups), parts), purpose, [&](const JsonValue& row) {
    for (const Assignment& one : by_group[short_id(text_at(row, "PermissionSetGroupId"))]) {
      PermissionSetAssignment assignment = one.assignment;
      assignment.permission_set = set_name_of(row, names);
      found[one.user].push_back(std::move(assignment));
    }
  });
  return found;
}

}  // namespace

std::vector<std::vector<CrmUser>> SalesforceDirectory::find_users_by_email(Ids email_keys) {
  const std::vector<std::string> keys = distinct({email_keys.begin(), email_keys.end()});
  const Query query = query_of(Ids(keys), [&](Ids some) { return users_by_email(names_, some); });
  const Answers answers = ask(calls_, std::span(&query, 1), CallPurpose::matching);
  return users_of_keys(names_, answers.of_query.front().rows, email_keys);
}

std::vector<std::optional<CrmUser>> SalesforceDirectory::find_users_by_id(Ids ids) {
  const std::vector<std::string> wanted = distinct({ids.begin(), ids.end()});
  std::map<std::string, CrmUser> found;
  const auto statements = [&](Ids some) { return users_by_id(names_, some); };
  each_row(calls_, query_of(Ids(wanted), statements), CallPurpose::matching, [&](const JsonValue& row) {
    CrmUser user = user_of(names_, row);
    found.insert_or_assign(short_id(user.id), std::move(user));
  });
  std::vector<std::optional<CrmUser>> results;
  for (const std::string& id : ids) {
    // An Id whose last three characters do not fit is not that of the user with the same 15.
    const auto at = is_record_id(id) ? found.find(short_id(id)) : found.end();
    results.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return results;
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> SalesforceDirectory::permission_sets(
    Ids user_ids) {
  const std::vector<std::string> users = distinct({user_ids.begin(), user_ids.end()});
  const auto statements = [](Ids some) { return permission_set_assignments(some); };
  AssignmentsByUser found =
      read_assignments(calls_, names_, query_of(Ids(users), statements), CallPurpose::requests,
                       [](const JsonValue& row) { return short_id(text_at(row, "AssigneeId")); });
  std::vector<std::vector<PermissionSetAssignment>> results;
  for (const std::string& user : user_ids)
    results.push_back(is_record_id(user) ? found[short_id(user)] : std::vector<PermissionSetAssignment>());
  return results;
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>>
SalesforceDirectory::permission_sets_by_email(Ids email_keys) {
  const std::vector<std::string> keys = distinct({email_keys.begin(), email_keys.end()});
  const auto statements = [&](Ids some) { return permission_set_assignments_by_email(names_, some); };
  const std::string email = "Assignee." + names_.field("user", "Email");
  AssignmentsByUser found =
      read_assignments(calls_, names_, query_of(Ids(keys), statements), CallPurpose::backfill,
                       [&](const JsonValue& row) { return email_key(text_of_value(value_at(row, email))); });
  std::vector<std::vector<PermissionSetAssignment>> results;
  for (const std::string& key : email_keys) results.push_back(found[key]);
  return results;
}

}  // namespace giftsync::salesforce
