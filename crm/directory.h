// crm: the people of a CRM: contacts, leads and users, and the open opportunities of contacts. Reads
// only. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "platform/time.h"

namespace giftsync::crm {

/// Candidates that are fetched per recipient and kind of field (MATCH-11).
inline constexpr std::size_t kMaxCandidates = 200;

enum class PersonObject { contact, lead };

struct OrderBy {
  std::string field;  ///< API name without prefix and suffix
  bool descending = true;
};

/// The fields of contacts (or leads) that are compared, and the order that decides between several
/// matches (MATCH-3, MATCH-10).
struct PersonMatchFields {
  std::vector<std::string> email_fields;
  std::vector<std::string> phone_fields;
  OrderBy order_by;
};

/// Whether and how an open opportunity is chosen from a contact's opportunity contact roles (MATCH-13).
struct OpportunityMatching {
  bool enabled = true;
  OrderBy order_by{"CloseDate", false};
};

struct MatchFields {
  PersonMatchFields contact;
  PersonMatchFields lead;
  std::string default_region;  ///< for phone numbers without a country
  OpportunityMatching opportunity = {};
};

/// The match keys of a recipient: email_key() and phone_key() of schema/contact_normalization.h; empty
/// ones match nothing.
struct RecipientMatchKeys {
  std::string email_key;
  std::string phone_key;
  bool has_unusable_phone = false;  ///< a phone number was given, but it has no key
};

/// `region`: of a phone number without a country code.
RecipientMatchKeys match_keys_of(const std::string& email, const std::string& phone,
                                 const std::string& region);

struct Candidate {
  std::string id;
  std::string name;            ///< for explanations
  std::string account_id;      ///< contacts; empty when there is none
  bool converted = false;      ///< leads
  std::string matched_field;   ///< the first configured field that matches
  std::string order_value;     ///< the order-by field as text, empty when null; for explanations
  bool account_exists = true;  ///< false: account_id refers to no existing account
  bool order_is_text = false;  ///< the order-by field is text: numbers in it are ordered as text (MATCH-33)
};

/// Both lists are ordered by the configured field and direction, text without case, nulls last, then by
/// id, and have at most kMaxCandidates entries.
struct Candidates {
  std::vector<Candidate> by_email;
  std::vector<Candidate> by_phone;

  bool empty() const { return by_email.empty() && by_phone.empty(); }
};

/// An open opportunity of a contact.
struct Opportunity {
  std::string id;
  std::string name;
  std::string account_id;  ///< empty when there is none or it does not exist
  std::string stage;
  std::string order_value;     ///< the order-by field as text, empty when null; for explanations
  bool order_is_text = false;  ///< as a candidate's
};

/// The result of a lead conversion.
struct ConvertedLead {
  std::string lead_id;
  std::string contact_id;       ///< empty when the conversion names none
  bool contact_exists = false;  ///< the contact is in the CRM
  std::string contact_name;
  std::string account_id;  ///< the contact's; empty when there is none or it does not exist
};

struct CrmUser {
  std::string id;
  std::string name;
  std::string email;
  bool active = true;
};

/// One permission set that is assigned to a user (REQ-36).
struct PermissionSetAssignment {
  std::string permission_set;  ///< its API name, such as Standard_User
  bool active = true;
  std::optional<UtcMillis> expires_at;
};

/// What matching needs to know of a batch of gifts.
struct DecisionQuestions {
  std::vector<RecipientMatchKeys> recipients;
  std::vector<std::string> sender_keys;  ///< email_key() of senders
};

/// By contact Id, each as find_open_opportunities() finds them; without an entry it is not known.
using KnownOpportunities = std::map<std::string, std::vector<Opportunity>>;

struct DecisionFacts {
  /// One for each recipient. A CRM may leave out `by_phone` where `by_email` is not empty: it is unused then.
  std::vector<Candidates> contacts;
  std::vector<Candidates> leads;              ///< likewise; empty for those with a contact
  std::vector<std::vector<CrmUser>> senders;  ///< for each sender key, as find_users_by_email() finds them
  KnownOpportunities opportunities = {};      ///< of contacts, as far as the CRM could answer at once
};

/// A lookup that must wait until Directory::maintain() has no more to do: its answer could be wrong.
class LookupNotReady : public DependencyError {
 public:
  explicit LookupNotReady(const std::string& what) : DependencyError(true, what) {}
};

class Directory {
 public:
  virtual ~Directory() = default;

  /// One bounded step of what lookups need beforehand, some tenths of a second; true: there is more to do.
  /// Lookups of a CRM with such work may throw LookupNotReady until it is done.
  virtual bool maintain() { return false; }

  /// Everything that a batch of decisions needs at first: one call for a CRM that can ask several questions
  /// at once, else one for contacts, one for leads and one for users, as far as there is something to ask.
  virtual DecisionFacts look_up(const DecisionQuestions& questions);

  /// One result per recipient, in their order.
  virtual std::vector<Candidates> find_candidates(PersonObject object,
                                                  std::span<const RecipientMatchKeys> recipients) = 0;

  /// For each contact the open opportunities of its opportunity contact roles, without duplicates,
  /// ordered like candidates; at most kMaxCandidates.
  virtual std::vector<std::vector<Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) = 0;

  /// The converted ones of these leads, in any order.
  virtual std::vector<ConvertedLead> find_converted_leads(std::span<const std::string> lead_ids) = 0;

  /// For each contact (by Id) its account: empty when there is none or it does not exist; nullopt when there
  /// is no such contact.
  virtual std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contact_ids) = 0;

  /// For each account (by Id) the Id of its owner; empty when it is not known.
  virtual std::vector<std::string> find_account_owners(std::span<const std::string> account_ids) {
    return std::vector<std::string>(account_ids.size());
  }

  /// For each e-mail key the users with that address: active ones first, then by id.
  virtual std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> email_keys) = 0;

  /// For each Id the user, also an inactive one.
  virtual std::vector<std::optional<CrmUser>> find_users_by_id(std::span<const std::string> ids) = 0;

  /// For each user (by Id) the assignments, also expired ones, in any order; nothing when giftsync
  /// cannot see the CRM's assignments: then it is unknown whether a user has a permission set.
  virtual std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) = 0;

  /// The same for each e-mail key, of all active users with that address. The least important lookup: a CRM
  /// that counts calls refuses it first, and answers it with as few calls as it can.
  virtual std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets_by_email(
      std::span<const std::string> email_keys);
};

}  // namespace giftsync::crm
