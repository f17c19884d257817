#include "sync/send_permission.h"

#include <algorithm>

#include "schema/text.h"

namespace giftsync::sync {
namespace {

using schema::PermissionSetAssignment;
using State = TokenStanding::State;

/// Of a name or an address, in code points.
constexpr std::size_t kMostShown = 60;
/// Of all the permission sets that somebody holds: what is left of a message beside its advice.
constexpr std::size_t kMostSetsShown = 40;

/// Names and addresses come from outside; what is to be done must not be cut off behind a long one.
std::string quoted(std::string_view text, std::size_t most = kMostShown) {
  const std::string_view shown = schema::truncated(text, most);
  return "\"" + std::string(shown) + (shown.size() < text.size() ? "…" : "") + "\"";
}

std::string token_message(State state) {
  const std::string how =
      " A giftsync administrator issues one (giftsyncctl organization create, or rotate NAME); enter it in "
      "the "
      "package settings (requests.organization_token).";
  switch (state) {
    case State::missing:
      return "No organization token is given." + how;
    case State::unknown:
      return "The organization token is not known to giftsync." + how;
    case State::revoked:
      return "The organization token was revoked." + how;
    case State::expired:
      return "The organization token has expired." + how;
    case State::active:
      break;
  }
  return {};
}

std::string no_user_message(const SenderFacts& facts) {
  const SenderName& name = facts.name;
  if (!facts.crm_has_users) {
    return "giftsync cannot see the CRM's users: crm.tables.user in the settings is \"-\". A giftsync "
           "administrator must name their table there.";
  }
  if (!name.user_id.empty()) {
    return "The CRM has no user with the Id " + quoted(name.user_id) +
           ". Name the Id of an existing CRM user as the sender.";
  }
  if (!name.email.empty()) {
    return "No CRM user has the e-mail address " + quoted(name.email) +
           ". A CRM administrator must enter this address at the sender's user.";
  }
  return "No sender is named. Name the sender by CRM user Id or e-mail address.";
}

/// As permission sets are compared: data often has the label, "Standard User", where the API name should be.
std::string set_key(std::string_view name) {
  std::string key = schema::ascii_lower(schema::trimmed(name));
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

bool is_for_sending(const PermissionSetAssignment& held) {
  const std::string key = set_key(held.permission_set);
  return key == set_key(kStandardUser) || key == set_key(kAdmin);
}

bool is_over(const PermissionSetAssignment& held, schema::UtcMillis now) {
  return held.expires_at && *held.expires_at <= now;
}

/// ", only "Sales, Service"": what is in force but not for sending; empty when nothing is.
std::string other_sets(const std::vector<PermissionSetAssignment>& all, schema::UtcMillis now) {
  std::string names;
  for (const PermissionSetAssignment& held : all) {
    const std::string_view name = schema::trimmed(held.permission_set);
    if (name.empty() || !held.active || is_over(held, now)) continue;
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names.empty() ? "" : ", only " + quoted(names, kMostSetsShown);
}

std::string permission_message(const SenderFacts& facts, schema::UtcMillis now) {
  const std::string who = "CRM user " + quoted(facts.user->email);
  const std::string how =
      " A CRM administrator must assign the permission set Standard_User or Admin to this user.";
  if (!facts.permission_sets) {
    return "giftsync cannot see the CRM's permission sets. A giftsync administrator must name their table in "
           "the settings: crm.tables.permission_set_assignment.";
  }
  bool expired = false;
  bool inactive = false;
  for (const PermissionSetAssignment& held : *facts.permission_sets) {
    if (!is_for_sending(held)) continue;
    const bool over = is_over(held, now);
    if (held.active && !over) return {};
    expired = expired || over;
    inactive = inactive || !held.active;
  }
  if (expired) return "The permission set of " + who + " has expired." + how;
  if (inactive) return "The permission set of " + who + " is not active." + how;
  return who + " holds no permission set for sending" + other_sets(*facts.permission_sets, now) + "." + how;
}

class Judgement {
 public:
  void miss(Precondition precondition, const std::string& message) {
    missing_.push_back({precondition, std::string(schema::truncated(message, kMostMessageCodePoints))});
  }
  void judge_user(const schema::CrmUser& user) {
    if (user.active) return;
    miss(Precondition::active_user, "CRM user " + quoted(user.email.empty() ? user.id : user.email) +
                                        " is not active. A CRM administrator must activate the user, or "
                                        "name another sender.");
  }
  void judge_account(const SenderFacts& facts) {
    const std::string& email = facts.user->email;
    if (schema::trimmed(email).empty()) {
      miss(Precondition::account, "CRM user " + quoted(facts.user->id) +
                                      " has no e-mail address. A CRM administrator must enter the address of "
                                      "the sender's giftsync account.");
      return;
    }
    if (!facts.account) {
      miss(Precondition::account,
           "No giftsync account has the sender's CRM address " + quoted(email) +
               ". A giftsync administrator makes one (giftsyncctl account create), or the CRM's address "
               "must be corrected.");
      return;
    }
    const schema::Account& account = *facts.account;
    if (!account.active) {
      miss(Precondition::active_account,
           "The giftsync account " + quoted(account.email) +
               " is deactivated. A giftsync administrator can activate it (giftsyncctl account activate).");
    }
    if (account.organization != facts.token.organization) {
      miss(Precondition::account_organization, "The giftsync account " + quoted(account.email) +
                                                   " does not belong to organization " +
                                                   quoted(facts.token.organization_name) +
                                                   ". A giftsync administrator can assign it (giftsyncctl "
                                                   "account assign).");
    }
    if (!schema::has_api_access(account.plan)) {
      miss(Precondition::plan,
           "The plan " + std::string(to_word(account.plan)) + " of account " + quoted(account.email) +
               " does not include sending from the CRM. A giftsync administrator can give it a team or "
               "enterprise plan (giftsyncctl account plan).");
    }
  }
  std::vector<MissingPrecondition> take() { return std::move(missing_); }

 private:
  std::vector<MissingPrecondition> missing_;
};

}  // namespace

std::string_view to_word(Precondition precondition) {
  switch (precondition) {
    case Precondition::organization_token:
      return "organization_token";
    case Precondition::sender_in_crm:
      return "sender_in_crm";
    case Precondition::active_user:
      return "active_user";
    case Precondition::account:
      return "account";
    case Precondition::active_account:
      return "active_account";
    case Precondition::account_organization:
      return "account_organization";
    case Precondition::plan:
      return "plan";
    case Precondition::permission_set:
      break;
  }
  return "permission_set";
}

std::vector<MissingPrecondition> missing_preconditions(const SenderFacts& facts, schema::UtcMillis now) {
  Judgement judgement;
  if (facts.token.state != State::active) {
    judgement.miss(Precondition::organization_token, token_message(facts.token.state));
    return judgement.take();
  }
  if (!facts.user) {
    judgement.miss(Precondition::sender_in_crm, no_user_message(facts));
    return judgement.take();
  }
  judgement.judge_user(*facts.user);
  judgement.judge_account(facts);
  if (const std::string message = permission_message(facts, now); !message.empty())
    judgement.miss(Precondition::permission_set, message);
  return judgement.take();
}

}  // namespace giftsync::sync
