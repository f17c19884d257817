// daemon/salesforce: who the recipients of gifts are, in as few calls as possible. Addresses of contacts, of
// leads and of users and the opportunities of contacts are one call. Phone numbers are asked for in a second
// one, as far as matching uses them: a person that an address finds is preferred.
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/salesforce/directory.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/person_matching.h"
#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"
#include "schema/contact_normalization.h"
#include "schema/phone_spellings.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::crm::Candidate;
using schema::crm::Candidates;
using schema::crm::DecisionFacts;
using schema::crm::DecisionQuestions;
using schema::crm::MatchFields;
using schema::crm::PersonMatchFields;
using schema::crm::PersonObject;
using schema::crm::RecipientMatchKeys;

using Ids = std::span<const std::string>;
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

  Question question() const {
    return question_of(Ids(keys_), [this](Ids some) {
      if (is_email()) return persons_by_email(names_, object_, own_fields(), some);
      std::vector<std::vector<std::string>> spellings;
      for (const std::string& key : some) spellings.push_back(schema::phone_spellings(key));
      return persons_by_phone(names_, object_, own_fields(), spellings);
    });
  }

  CandidatesByKey candidates(const Rows& answer) const {
    const auto email_key = [](const std::string& text, const std::string&) {
      return schema::email_key(text);
    };
    const auto phone_key = [](const std::string& text, const std::string& region) {
      return schema::phone_key(text, region);
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

/// Of each contact among the candidates, also without any.
schema::crm::KnownOpportunities opportunities_of(const std::vector<Candidates>& contacts,
                                                 const OpportunitiesByContact& found) {
  schema::crm::KnownOpportunities known;
  for (const Candidates& of_recipient : contacts) {
    for (const Candidate& contact : of_recipient.by_email) {
      const auto at = found.find(short_id(contact.id));
      known[contact.id] = at == found.end() ? std::vector<schema::crm::Opportunity>() : at->second;
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
  const std::vector<Question> questions{contacts.question(), leads.question()};
  const Answers answers = ask(calls, questions, Spending::matching);
  contacts.fill(answers.of_question[0], contact_keys, facts.contacts);
  leads.fill(answers.of_question[1], lead_keys, facts.leads);
}

}  // namespace

DecisionFacts SalesforceDirectory::look_up(const DecisionQuestions& asked) {
  const std::vector<RecipientMatchKeys>& recipients = asked.recipients;
  const PersonQuestion contacts(names_, fields_, PersonObject::contact, &Candidates::by_email, recipients);
  const PersonQuestion leads(names_, fields_, PersonObject::lead, &Candidates::by_email, recipients);
  const std::vector<std::string> sender_keys = distinct(asked.sender_keys);
  const schema::crm::OpportunityMatching& opportunity = fields_.opportunity;
  const Ids role_keys = opportunity.enabled ? Ids(contacts.keys()) : Ids();
  const std::vector<Question> questions{
      contacts.question(),
      question_of(role_keys,
                  [&](Ids some) {
                    return roles_by_email(names_, fields_.contact.email_fields, opportunity.order_by, some);
                  }),
      leads.question(),
      question_of(Ids(sender_keys), [&](Ids some) { return users_by_email(names_, some); })};
  const Answers answers = ask(calls_, questions, Spending::matching);
  DecisionFacts facts;
  facts.contacts.resize(recipients.size());
  facts.leads.resize(recipients.size());
  contacts.fill(answers.of_question[0], recipients, facts.contacts);
  leads.fill(answers.of_question[2], recipients, facts.leads);
  if (opportunity.enabled)
    facts.opportunities = opportunities_of(
        facts.contacts,
        opportunities_by_contact(names_, answers.of_question[1].rows, opportunity.order_by.field));
  facts.senders = users_of_keys(names_, answers.of_question[3].rows, asked.sender_keys);
  add_people_by_phone(calls_, names_, fields_, recipients, facts);
  for (std::size_t i = 0; i < recipients.size(); ++i)
    if (!facts.contacts[i].empty()) facts.leads[i] = {};
  return facts;
}

/// Both questions in one call.
std::vector<Candidates> SalesforceDirectory::find_candidates(PersonObject object,
                                                             std::span<const RecipientMatchKeys> recipients) {
  const PersonQuestion by_email(names_, fields_, object, &Candidates::by_email, recipients);
  const PersonQuestion by_phone(names_, fields_, object, &Candidates::by_phone, recipients);
  const std::vector<Question> questions{by_email.question(), by_phone.question()};
  const Answers answers = ask(calls_, questions, Spending::matching);
  std::vector<Candidates> found(recipients.size());
  by_email.fill(answers.of_question[0], recipients, found);
  by_phone.fill(answers.of_question[1], recipients, found);
  return found;
}

}  // namespace giftsync::daemon::salesforce
