// sync: who may send from inside the CRM (Spec 5.6): the organization's token, the sender as the CRM knows
// them, their account here, its plan, and a permission set. A pure decision over what is known;
// sender_facts.h brings that together. Each precondition that is not met has a message of its own, for the
// user who wanted to send and for the request record's Error Log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/crm.h"
#include "schema/store/account_book.h"

namespace giftsync::sync {

/// The permission sets of which a sender must hold one; in any case of letters, with blanks for underscores.
inline constexpr std::string_view kStandardUser = "Standard_User";
inline constexpr std::string_view kAdmin = "Admin";

/// A message fits the Error Log (Spec 2.6).
inline constexpr std::size_t kMostMessageCodePoints = 255;

/// What a token says. `missing`: none was given, or none is entered in the settings.
struct TokenStanding {
  enum class State { missing, unknown, revoked, expired, active };
  State state = State::missing;
  schema::OrganizationId organization{};  ///< of an active one
  std::string organization_name;          ///< of an active one
};

/// Whom a send is on behalf of, as the CRM names them: a user's Id, else an e-mail address.
struct SenderName {
  std::string user_id;
  std::string email;
};

struct SenderFacts {
  TokenStanding token;
  SenderName name;
  bool crm_has_users = true;               ///< false: somebody else's CRM, with no table of users named
  std::optional<schema::CrmUser> user;     ///< who that is in the CRM
  std::optional<schema::Account> account;  ///< whose address is that user's
  /// Nothing: the CRM tells no permission sets.
  std::optional<std::vector<schema::PermissionSetAssignment>> permission_sets;
};

enum class Precondition {
  organization_token,
  sender_in_crm,
  active_user,
  account,
  active_account,
  account_organization,
  plan,
  permission_set
};
/// "organization_token": for programs.
std::string_view to_word(Precondition precondition);

/// What is missing, who can mend it, and how.
struct MissingPrecondition {
  Precondition precondition;
  std::string message;  ///< at most kMostMessageCodePoints
};

/// Everything that is missing, in the order of Precondition; empty: the sender may send, and `account` is
/// there. Without a good token nothing else is told, and without a user nothing that follows from one.
std::vector<MissingPrecondition> missing_preconditions(const SenderFacts& facts, schema::UtcMillis now);

}  // namespace giftsync::sync
