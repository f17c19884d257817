// sync: who may send from inside the CRM (REQ-36): checks the organization token, the sender's CRM user,
// account and plan, and a permission set. A pure decision; sender_lookup.h collects the data. Each unmet
// precondition has its own message, for the sending user and for the request record's Error Log.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crm/crm.h"
#include "crm/directory.h"
#include "schema/store/account/accounts.h"

namespace giftsync::sync {

/// A sender must hold one of these permission sets. Case is ignored, and blanks count as underscores.
inline constexpr std::string_view kStandardUser = "Standard_User";
inline constexpr std::string_view kAdmin = "Admin";

/// Whether both name one permission set: data often has the label "Standard User" instead of the API name.
bool is_same_permission_set(std::string_view one, std::string_view other);
/// Active and not expired.
bool is_in_force(const crm::PermissionSetAssignment& assignment, UtcMillis now);

/// A message fits into the Error Log (REQ-37).
inline constexpr std::size_t kMaxMessageCodePoints = 255;

/// The state of a token. `missing`: none was sent, or none is in the settings.
struct TokenStatus {
  enum class State { missing, unknown, revoked, expired, active };
  State state = State::missing;
  OrganizationId organization{};  ///< only if active
  std::string organization_name;  ///< only if active
  /// Only if active: calls of the CRM's interface with it send nothing (HTTP-51).
  std::optional<UtcMillis> paused_at = {};
};

/// The sender on whose behalf a gift is sent: a CRM user id, else an e-mail address.
struct SenderRef {
  std::string user_id;
  std::string email;
};

struct SenderInfo {
  TokenStatus token;
  SenderRef name;
  bool crm_has_users = true;              ///< false: an external CRM without a configured user table
  std::optional<crm::CrmUser> user;       ///< the sender's CRM user
  std::optional<store::Account> account;  ///< the account with that user's e-mail address
  /// Nullopt: the CRM has no permission sets.
  std::optional<std::vector<crm::PermissionSetAssignment>> permission_sets;
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

/// What is missing, who can correct it, and how.
struct MissingPrecondition {
  Precondition precondition;
  std::string message;  ///< for the sender, who has no command line (REQ-37); at most kMaxMessageCodePoints
  /// For an admin: the next step on the server; upper-case words are to be replaced.
  std::string command = {};
};

/// Whether a sender may send from the CRM (REQ-36).
struct SenderAuthorization {
  std::optional<store::Account> account;          ///< the sending account; empty when not allowed
  std::vector<MissingPrecondition> missing = {};  ///< why not, and what to do
};

/// All unmet preconditions, in the order of Precondition. If it is empty the sender may send, and `account`
/// is set. Without an active token only the token is reported; without a user, nothing that depends on the
/// user.
std::vector<MissingPrecondition> missing_preconditions(const SenderInfo& sender, UtcMillis now);
/// The same for callers with an organization's token: the one of a sender that is not of this organization
/// tells neither whether there is such a CRM user or account, nor whose or in which state (SEC-7).
std::vector<MissingPrecondition> missing_for_organization(const SenderInfo& sender, UtcMillis now);
/// The same for giftsync's own use, which hides nothing: without an active token also what the sender lacks,
/// except the membership in the token's organization, which is not known then.
std::vector<MissingPrecondition> all_missing_preconditions(const SenderInfo& sender, UtcMillis now);

// What store and CRM have about senders, one batch at a time: at most three CRM calls and one store
// statement for any number of senders. send_authorization.h evaluates it. Throws DependencyError.

/// One result for each name, in their order; at most CrmPace::rows_per_read. Of several users with one
/// address active ones come first, then the lowest Id (SYNC-12).
std::vector<SenderInfo> find_senders(store::Accounts& accounts, crm::Directory& directory,
                                     const TokenStatus& token, std::span<const SenderRef> names);

}  // namespace giftsync::sync
