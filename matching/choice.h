// matching: chooses to whom a gift belongs from the candidates that a CRM found, with an explanation
// (MATCH-4, MATCH-5, MATCH-6). Pure. Contacts by e-mail first, then by phone, then leads the same way. A gift
// links to a contact or a lead, never both.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "crm/directory.h"

namespace giftsync::matching {

struct MatchChoice {
  std::string contact_id;
  std::string account_id;  ///< the contact's
  std::string lead_id;
  std::string reason;  ///< sentences: what was compared, the other candidates, why this one

  bool matched() const { return !contact_id.empty() || !lead_id.empty(); }
};

/// `leads` are not compared when there is a contact.
MatchChoice choose(const crm::RecipientMatchKeys& recipient, const crm::Candidates& contacts,
                   const crm::Candidates& leads, const crm::MatchFields& fields);

/// Eight hex digits that change with the matching settings; part of every stored reason.
std::string match_settings_fingerprint(const crm::MatchFields& fields);

// Explains why one candidate precedes another, for stored reasons and for `giftsyncctl match`.
// Pure.

/// "LastModifiedDate descending".
std::string describe_order(const crm::OrderBy& order);

/// Why `later` ranks below `earlier`: "its CloseDate 2026-03-01 ranks below 2026-01-05". Empty values are
/// null.
std::string explain_rank(const std::string& later, const std::string& earlier, const crm::OrderBy& order);

/// A sentence for two order values of a text field that are numbers; else empty.
std::string text_order_warning(const std::string& winner, const std::string& second,
                               const crm::OrderBy& order);

/// A sentence for the two first rows when both have numbers that were ordered as text (MATCH-33), preceded by
/// a space; else empty.
template <class Row>
std::string text_order_warning(const Row& winner, const Row& second, const crm::OrderBy& order) {
  return winner.order_is_text ? text_order_warning(winner.order_value, second.order_value, order) : "";
}

/// The outcome of each candidate of a list, in order: "chosen", or why not. `decided_before` is set when an
/// earlier step has decided, as a phrase: "a contact matched by e-mail".
std::vector<std::string> explain_outcomes(const std::vector<crm::Candidate>& candidates,
                                          const crm::OrderBy& order, const std::string& decided_before);
std::vector<std::string> explain_outcomes(const std::vector<crm::Opportunity>& opportunities,
                                          const crm::OrderBy& order);

// Which of a contact's open opportunities a gift belongs to, and which account follows (MATCH-13,
// MATCH-15). Pure. Leads never have one.

struct OpportunityChoice {
  std::string opportunity_id;
  std::string account_id;  ///< the contact's, else the opportunity's
  std::string stage;
  std::string reason;  ///< sentences that follow those of the contact
};

/// `opportunities` are the contact's open ones, in order; `contact_account` may be empty. With opportunity
/// matching off the list is ignored.
OpportunityChoice choose_opportunity(const std::string& contact_account,
                                     std::span<const crm::Opportunity> opportunities,
                                     const crm::OpportunityMatching& rules);

}  // namespace giftsync::matching
