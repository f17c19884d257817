#include "sync/request/approver_notices.h"

#include <algorithm>
#include <map>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/money.h"
#include "sync/gift/held_requests.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using store::ApproverNotice;
using store::ConsoleUser;

constexpr std::size_t kHeldRequestsPerPage = 500;

std::vector<ConsoleUser> all_approvers(store::ConsoleUsers& console_users) {
  std::vector<ConsoleUser> users = console_users.list(store::Viewer::of_command_line());
  std::erase_if(users, [&](const ConsoleUser& user) {
    return !user.active || !user.role_set().contains(Role::approver);
  });
  return users;
}

bool sees(const ConsoleUser& approver, std::optional<OrganizationId> organization) {
  return !approver.organization || approver.organization == organization;
}

std::vector<ConsoleUser> approvers_of(store::ConsoleUsers& console_users,
                                      std::optional<OrganizationId> organization) {
  std::vector<ConsoleUser> users = all_approvers(console_users);
  std::erase_if(users, [&](const ConsoleUser& user) { return !sees(user, organization); });
  return users;
}

/// The CRM's users with the address of each approver, in one call.
std::vector<std::vector<crm::CrmUser>> crm_users_of(crm::Crm& crm,
                                                    const std::vector<ConsoleUser>& approvers) {
  std::vector<std::string> keys;
  for (const ConsoleUser& user : approvers) keys.push_back(email_key(user.email));
  return crm.directory().find_users_by_email(keys);
}

}  // namespace

RequestedItem requested_item(store::Catalogue& catalogue, const RequestRecord& record) {
  const auto id = gift_id_of(record);
  const auto item = id ? catalogue.item(*id) : std::nullopt;
  if (!item) return {std::string(giftsync::trimmed(record.text(F::gift_id)))};
  return {item->name, request_costs(*item, record).total()};
}

void add_approver_notices(store::Store& store, crm::Crm& crm, const ApproverNoticeRules& rules,
                          std::span<const LoadedRequestRecord> waiting, UtcMillis now) {
  std::map<std::string, const LoadedRequestRecord*> by_id;
  std::vector<std::string> ids;
  for (const LoadedRequestRecord& request_record : waiting) {
    by_id.emplace(request_record.row.id, &request_record);
    ids.push_back(request_record.row.id);
  }
  const auto unnoticed = store.approver_notices.find_unnoticed(ids);
  if (unnoticed.empty()) return;
  const std::vector<ConsoleUser> approvers = approvers_of(store.console_users, rules.organization);
  if (approvers.empty()) return;
  const auto crm_users = crm_users_of(crm, approvers);
  std::vector<ApproverNotice> notices;
  for (const store::UnnoticedRecord& unnoticed_record : unnoticed) {
    const LoadedRequestRecord& record = *by_id.at(unnoticed_record.record_id);
    const RequestRecordParties parties =
        parties_of(record.row, store.request_records.find(std::span(&unnoticed_record.record_id, 1)));
    const RequestedItem item = requested_item(store.catalogue, record.completed);
    for (std::size_t i = 0; i < approvers.size(); ++i) {
      const auto own_users = [&] { return crm_users[i]; };
      if (!rules.allow_self_approval && is_own(parties, approvers[i].email, own_users)) continue;
      notices.push_back({approvers[i].id, unnoticed_record.transition, unnoticed_record.record_id,
                         record.row.text(F::number), item.name, to_decimal(item.total)});
    }
  }
  store.approver_notices.add(notices, now);
}

namespace {

/// The address; empty unless there is one recipient.
std::string only_recipient(const store::HeldGiftRequest& held) {
  const auto request = held.gifts == 1 ? store::request_in(held) : std::nullopt;
  return request ? request->recipients.front().email : std::string();
}

/// Why it waits.
std::string sentences_of(const store::HeldGiftRequest& held) {
  std::string text;
  for (const store::HoldReason& reason : store::reasons_of(held))
    text.append(text.empty() ? "" : " ").append(describe(reason));
  return text;
}

/// Accounts, keys and items that several held requests name are read once.
class HeldNotices {
 public:
  HeldNotices(store::Store& store, bool allow_self_approval, UtcMillis now)
      : store_(store), allow_self_approval_(allow_self_approval), now_(now) {}

  void add(std::span<const store::HeldGiftRequest> waiting, const std::vector<ConsoleUser>& approvers) {
    std::vector<ApproverNotice> notices;
    for (const store::HeldGiftRequest& held : waiting) {
      for (const ConsoleUser& user : approvers) {
        if (!sees(user, held.organization)) continue;
        if (!allow_self_approval_ && email_key(account_address(held.account)) == email_key(user.email))
          continue;
        notices.push_back({user.id, -held.id.value, "", std::to_string(held.id.value),
                           std::to_string(held.gifts) + " x " + item_name(held.gift),
                           held.amount ? to_decimal(*held.amount) : "", false, false, asked_by(held),
                           only_recipient(held), sentences_of(held)});
      }
    }
    store_.approver_notices.add(notices, now_);
  }

 private:
  /// Empty of an account that is not there.
  const std::string& account_address(AccountId id) {
    const auto [known, is_new] = account_addresses_.try_emplace(id);
    if (is_new) {
      const auto account = store_.accounts.find(id);
      known->second = account ? account->email : std::string();
    }
    return known->second;
  }
  /// "rose@example.com (gsk_live_abcdefg, shop)"
  std::string asked_by(const store::HeldGiftRequest& held) {
    if (key_names_.empty()) {
      for (const CredentialKind kind : {CredentialKind::api_key, CredentialKind::organization_token})
        for (store::Credential& credential : store_.credentials.list(kind))
          key_names_.emplace(credential.prefix, credential.name.empty() ? credential.owner : credential.name);
    }
    const auto name = key_names_.find(held.credential_prefix);
    const std::string key = held.credential_prefix +
                            (name == key_names_.end() || name->second.empty() ? "" : ", " + name->second);
    return account_address(held.account) + (key.empty() ? "" : " (" + key + ")");
  }
  const std::string& item_name(GiftId id) {
    const auto [known, is_new] = item_names_.try_emplace(id);
    if (is_new) {
      const auto item = store_.catalogue.item(id);
      known->second = item ? item->name : std::to_string(id.value);
    }
    return known->second;
  }

  store::Store& store_;
  const bool allow_self_approval_;
  const UtcMillis now_;
  std::map<AccountId, std::string> account_addresses_;
  std::map<std::string, std::string> key_names_;  // by prefix
  std::map<GiftId, std::string> item_names_;
};

}  // namespace

void add_held_notices(store::Store& store, bool allow_self_approval, UtcMillis now) {
  HeldNotices notices(store, allow_self_approval, now);
  std::vector<ConsoleUser> approvers;
  // To the last one: requests that no approver may decide about stay without a notice.
  for (GiftRequestId after{};;) {
    const auto waiting = store.approver_notices.find_unnoticed_held(after, kHeldRequestsPerPage);
    if (waiting.empty()) return;
    if (approvers.empty()) approvers = all_approvers(store.console_users);
    if (approvers.empty()) return;
    notices.add(waiting, approvers);
    after = waiting.back().id;
  }
}

namespace {

bool contains(const std::vector<crm::CrmUser>& users, const std::string& user_id) {
  return std::any_of(users.begin(), users.end(),
                     [&](const crm::CrmUser& user) { return user.id == user_id; });
}

}  // namespace

RequestRecordParties parties_of(const RequestRecord& record,
                                std::span<const store::RequestRecordEntry> known) {
  return {known.empty() ? "" : known.front().requested_by, record.text(F::created_by),
          record.text(F::sender)};
}

bool is_own(const RequestRecordParties& parties, const std::string& email,
            const std::function<std::vector<crm::CrmUser>()>& find_crm_users) {
  if (email_key(parties.requested_by) == email_key(email)) return true;
  const std::vector<crm::CrmUser> users = find_crm_users();
  return contains(users, parties.created_by) || contains(users, parties.sender);
}

bool is_own(const RequestRecordParties& parties, const RequestRecordCaller& caller) {
  return is_own(parties, caller.owner.account.email, caller.find_crm_users);
}

AutoApprovalAccess auto_approval_access(const RequestRecordCaller& caller, const std::string& sender,
                                        const ApprovalSettings& settings) {
  if (caller.is_approver() && settings.self_approval) return AutoApprovalAccess::allowed;
  if (!settings.api_auto_approval) return AutoApprovalAccess::not_enabled;
  return sender.empty() || contains(caller.find_crm_users(), sender) ? AutoApprovalAccess::allowed
                                                                     : AutoApprovalAccess::other_sender;
}

}  // namespace giftsync::sync
