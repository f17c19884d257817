#include "sync/approver_notices.h"

#include <algorithm>
#include <map>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/money.h"
#include "sync/request_record_authorization.h"
#include "sync/request_record_to_gift_request.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;
using schema::store::ApproverNotice;
using schema::store::ConsoleUser;

std::vector<ConsoleUser> approvers_of(schema::store::Store& store,
                                      std::optional<schema::OrganizationId> organization) {
  std::vector<ConsoleUser> users = store.console_users.list(schema::store::Viewer::of_command_line());
  std::erase_if(users, [&](const ConsoleUser& user) {
    return !user.active || !user.role_set().contains(schema::Role::approver) ||
           (user.organization && user.organization != organization);
  });
  return users;
}

/// The CRM's users with the address of each approver, in one call.
std::vector<std::vector<schema::crm::CrmUser>> crm_users_of(schema::crm::Crm& crm,
                                                            const std::vector<ConsoleUser>& approvers) {
  std::vector<std::string> keys;
  for (const ConsoleUser& user : approvers) keys.push_back(schema::email_key(user.email));
  return crm.directory().find_users_by_email(keys);
}

}  // namespace

RequestedItem requested_item(schema::store::Catalogue& catalogue, const schema::RequestRecord& record) {
  const auto id = gift_id_of(record);
  const auto item = id ? catalogue.item(*id) : std::nullopt;
  if (!item) return {std::string(platform::trimmed(record.text(F::gift_id))), ""};
  const auto total = request_costs(*item, record).total();
  return {item->name, total ? schema::to_decimal(*total) : ""};
}

void add_approver_notices(schema::store::Store& store, schema::crm::Crm& crm,
                          const ApproverNoticeRules& rules, std::span<const LoadedRequestRecord> waiting,
                          platform::UtcMillis now) {
  std::map<std::string, const LoadedRequestRecord*> by_id;
  std::vector<std::string> ids;
  for (const LoadedRequestRecord& one : waiting) {
    by_id.emplace(one.row.id, &one);
    ids.push_back(one.row.id);
  }
  const auto unnoticed = store.approver_notices.find_unnoticed(ids);
  if (unnoticed.empty()) return;
  const std::vector<ConsoleUser> approvers = approvers_of(store, rules.organization);
  if (approvers.empty()) return;
  const auto crm_users = crm_users_of(crm, approvers);
  std::vector<ApproverNotice> notices;
  for (const schema::store::UnnoticedRecord& one : unnoticed) {
    const LoadedRequestRecord& record = *by_id.at(one.record_id);
    const RequestRecordParties parties =
        parties_of(record.row, store.request_records.find(std::span(&one.record_id, 1)));
    const RequestedItem item = requested_item(store.catalogue, record.completed);
    for (std::size_t i = 0; i < approvers.size(); ++i) {
      const auto own_users = [&] { return crm_users[i]; };
      if (!rules.allow_self_approval && is_own(parties, approvers[i].email, own_users)) continue;
      notices.push_back(
          {approvers[i].id, one.transition, one.record_id, record.row.text(F::number), item.name, item.cost});
    }
  }
  store.approver_notices.add(notices, now);
}

}  // namespace giftsync::sync
