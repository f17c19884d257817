#include "sync/access/send_authorization.h"

#include <algorithm>

#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/enums.h"

namespace giftsync::sync {
namespace {

using State = TokenStatus::State;

constexpr auto kPreconditions =
    enum_words<Precondition>({{Precondition::organization_token, "organization_token"},
                              {Precondition::sender_in_crm, "sender_in_crm"},
                              {Precondition::active_user, "active_user"},
                              {Precondition::account, "account"},
                              {Precondition::active_account, "active_account"},
                              {Precondition::account_organization, "account_organization"},
                              {Precondition::plan, "plan"},
                              {Precondition::permission_set, "permission_set"}});

/// Code points of a name or an address.
constexpr std::size_t kMaxQuotedCodePoints = 60;
/// Code points of all permission sets that a user holds: the rest of the message is needed for the advice.
constexpr std::size_t kMaxQuotedSetsCodePoints = 40;

/// Names and addresses come from outside; a long one must not cut off the advice.
std::string quoted(std::string_view text, std::size_t max_code_points = kMaxQuotedCodePoints) {
  const std::string_view shortened = truncated(text, max_code_points);
  return "\"" + std::string(shortened) + (shortened.size() < text.size() ? "…" : "") + "\"";
}

std::string token_message(State state) {
  const std::string how =
      " Ask your giftsync administrator for one, and have it entered in the package settings "
      "(requests.organization_token).";
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

std::string no_user_message(const SenderInfo& sender) {
  const SenderRef& name = sender.name;
  if (!sender.crm_has_users) {
    return "giftsync cannot read the CRM's users: crm.tables.user in the settings is \"-\". A giftsync "
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

/// Normalised for comparison: data often has the label "Standard User" instead of the API name.
std::string set_key(std::string_view name) {
  std::string key = ascii_lower(giftsync::trimmed(name));
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

bool allows_sending(const crm::PermissionSetAssignment& assignment) {
  return is_same_permission_set(assignment.permission_set, kStandardUser) ||
         is_same_permission_set(assignment.permission_set, kAdmin);
}

bool is_expired(const crm::PermissionSetAssignment& assignment, UtcMillis now) {
  return assignment.expires_at && *assignment.expires_at <= now;
}

/// ", only "Sales, Service"": the active sets that do not allow sending; empty when there are none.
std::string describe_other_sets(const std::vector<crm::PermissionSetAssignment>& all, UtcMillis now) {
  std::string names;
  for (const crm::PermissionSetAssignment& assignment : all) {
    const std::string_view name = giftsync::trimmed(assignment.permission_set);
    if (name.empty() || !is_in_force(assignment, now)) continue;
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names.empty() ? "" : ", only " + quoted(names, kMaxQuotedSetsCodePoints);
}

std::string permission_message(const SenderInfo& sender, UtcMillis now) {
  const std::string who = "CRM user " + quoted(sender.user->email);
  const std::string how =
      " A CRM administrator must assign the permission set Standard_User or Admin to this user.";
  if (!sender.permission_sets) {
    return "giftsync cannot read the CRM's permission sets. A giftsync administrator must name their table "
           "in "
           "the settings: crm.tables.permission_set_assignment.";
  }
  bool expired = false;
  bool inactive = false;
  for (const crm::PermissionSetAssignment& assignment : *sender.permission_sets) {
    if (!allows_sending(assignment)) continue;
    const bool over = is_expired(assignment, now);
    if (assignment.active && !over) return {};
    expired = expired || over;
    inactive = inactive || !assignment.active;
  }
  if (expired) return "The permission set of " + who + " has expired." + how;
  if (inactive) return "The permission set of " + who + " is not active." + how;
  return who + " holds no permission set for sending" + describe_other_sets(*sender.permission_sets, now) +
         "." + how;
}

/// The command that corrects it; empty if there is none.
std::string command_for(Precondition precondition, const SenderInfo& sender) {
  using P = Precondition;
  const std::string account = sender.account ? shell_word(sender.account->email) : "EMAIL";
  switch (precondition) {
    case P::organization_token:
      return sender.token.state == State::missing ? "giftsyncctl organization create --name NAME"
                                                  : "giftsyncctl organization list";
    case P::sender_in_crm:
    case P::active_user:
      return "giftsyncctl crm import --object user FILE";
    case P::account:
      if (giftsync::trimmed(sender.user->email).empty()) return "giftsyncctl crm import --object user FILE";
      return "giftsyncctl account create --email " + shell_word(sender.user->email) +
             " --name NAME --plan team";
    case P::active_account:
      return "giftsyncctl account activate " + account;
    case P::account_organization:
      return "giftsyncctl account set-organization " + account + " --organization " +
             shell_word(sender.token.organization_name);
    case P::plan:
      return "giftsyncctl account set-plan " + account + " --plan team";
    case P::permission_set:
      return "giftsyncctl crm import --object permission_set_assignment FILE";
  }
  return {};
}

MissingPrecondition missing(Precondition precondition, const SenderInfo& sender, const std::string& message) {
  return {precondition, std::string(truncated(message, kMaxMessageCodePoints)),
          command_for(precondition, sender)};
}

std::vector<MissingPrecondition> account_preconditions(const SenderInfo& sender) {
  const std::string& email = sender.user->email;
  if (giftsync::trimmed(email).empty())
    return {missing(Precondition::account, sender,
                    "CRM user " + quoted(sender.user->id) +
                        " has no e-mail address. A CRM administrator must enter the address of the sender's "
                        "giftsync account.")};
  if (!sender.account)
    return {missing(Precondition::account, sender,
                    "No giftsync account has the sender's CRM address " + quoted(email) +
                        ". Ask your giftsync administrator to create one, or have the CRM's address "
                        "corrected.")};
  const store::Account& account = *sender.account;
  std::vector<MissingPrecondition> all;
  if (!account.active)
    all.push_back(missing(Precondition::active_account, sender,
                          "The giftsync account " + quoted(account.email) +
                              " is deactivated. Ask your giftsync administrator to activate it."));
  if (sender.token.state == State::active && account.organization != sender.token.organization)
    all.push_back(missing(Precondition::account_organization, sender,
                          "The giftsync account " + quoted(account.email) +
                              " does not belong to organization " + quoted(sender.token.organization_name) +
                              ". Ask your giftsync administrator to assign it."));
  if (!has_api_access(account.plan))
    all.push_back(missing(Precondition::plan, sender,
                          "The plan " + std::string(to_word(account.plan)) + " of account " +
                              quoted(account.email) +
                              " does not include sending from the CRM. Ask your giftsync administrator for "
                              "a team or enterprise plan."));
  return all;
}

/// What the sender alone lacks.
std::vector<MissingPrecondition> missing_of_sender(const SenderInfo& sender, UtcMillis now) {
  if (!sender.user) return {missing(Precondition::sender_in_crm, sender, no_user_message(sender))};
  const crm::CrmUser& user = *sender.user;
  std::vector<MissingPrecondition> all = account_preconditions(sender);
  if (!user.active)
    all.insert(all.begin(), missing(Precondition::active_user, sender,
                                    "CRM user " + quoted(user.email.empty() ? user.id : user.email) +
                                        " is not active. A CRM administrator must activate the user, or "
                                        "name another sender."));
  if (const std::string message = permission_message(sender, now); !message.empty())
    all.push_back(missing(Precondition::permission_set, sender, message));
  return all;
}

}  // namespace

bool is_same_permission_set(std::string_view one, std::string_view other) {
  return set_key(one) == set_key(other);
}

bool is_in_force(const crm::PermissionSetAssignment& assignment, UtcMillis now) {
  return assignment.active && !is_expired(assignment, now);
}

std::string_view to_word(Precondition precondition) {
  return kPreconditions.word_of(precondition);
}

std::vector<MissingPrecondition> missing_preconditions(const SenderInfo& sender, UtcMillis now) {
  if (sender.token.state != State::active)
    return {missing(Precondition::organization_token, sender, token_message(sender.token.state))};
  return missing_of_sender(sender, now);
}

std::vector<MissingPrecondition> missing_for_organization(const SenderInfo& sender, UtcMillis now) {
  const bool is_own = sender.account && sender.account->organization == sender.token.organization;
  if (sender.token.state != State::active || !sender.crm_has_users || is_own)
    return missing_preconditions(sender, now);
  const std::string who = sender.name.user_id.empty() ? "the e-mail address " + quoted(sender.name.email)
                                                      : "the Id " + quoted(sender.name.user_id);
  return {missing(Precondition::account_organization, sender,
                  "No CRM user with " + who + " has a giftsync account of organization " +
                      quoted(sender.token.organization_name) +
                      ". A giftsync administrator finds the reason in the log.")};
}

std::vector<MissingPrecondition> all_missing_preconditions(const SenderInfo& sender, UtcMillis now) {
  std::vector<MissingPrecondition> all = missing_of_sender(sender, now);
  if (sender.token.state != State::active)
    all.insert(all.begin(),
               missing(Precondition::organization_token, sender, token_message(sender.token.state)));
  return all;
}

namespace {

void look_up_users(crm::Directory& directory, std::vector<SenderInfo>& senders) {
  std::vector<std::string> ids;
  std::vector<std::string> emails;
  for (const SenderInfo& sender : senders) {
    if (!sender.name.user_id.empty())
      ids.push_back(sender.name.user_id);
    else
      emails.push_back(email_key(sender.name.email));
  }
  std::vector<std::optional<crm::CrmUser>> by_id;
  std::vector<std::vector<crm::CrmUser>> by_email;
  if (!ids.empty()) by_id = directory.find_users_by_id(ids);
  if (!emails.empty()) by_email = directory.find_users_by_email(emails);
  std::size_t id = 0;
  std::size_t email = 0;
  for (SenderInfo& sender : senders) {
    if (!sender.name.user_id.empty()) {
      sender.user = by_id.at(id++);
    } else if (const auto& users = by_email.at(email++); !users.empty()) {
      sender.user = users.front();
    }
  }
}

void find_accounts(store::Accounts& accounts, std::vector<SenderInfo>& senders) {
  std::vector<std::string> keys;
  for (const SenderInfo& sender : senders)
    if (sender.user) keys.push_back(email_key(sender.user->email));
  const auto found = accounts.find_by_email_keys(keys);
  for (SenderInfo& sender : senders) {
    if (!sender.user) continue;
    if (const auto account = found.find(email_key(sender.user->email)); account != found.end())
      sender.account = account->second;
  }
}

void find_permission_sets(crm::Directory& directory, std::vector<SenderInfo>& senders) {
  std::vector<std::string> users;
  for (const SenderInfo& sender : senders)
    if (sender.user) users.push_back(sender.user->id);
  if (users.empty()) return;
  auto found = directory.permission_sets(users);
  if (!found) return;
  std::size_t next = 0;
  for (SenderInfo& sender : senders)
    if (sender.user) sender.permission_sets = std::move(found->at(next++));
}

}  // namespace

std::vector<SenderInfo> find_senders(store::Accounts& accounts, crm::Directory& directory,
                                     const TokenStatus& token, std::span<const SenderRef> names) {
  std::vector<SenderInfo> senders;
  for (const SenderRef& name : names) {
    SenderInfo& sender = senders.emplace_back();
    sender.token = token;
    sender.name = name;
  }
  look_up_users(directory, senders);
  find_accounts(accounts, senders);
  find_permission_sets(directory, senders);
  return senders;
}

}  // namespace giftsync::sync
