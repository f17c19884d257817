// daemon/console: what a role may do (CON-13). One table. Pure.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "daemon/console/page_call.h"
#include "schema/enums.h"
#include "schema/request_record.h"
#include "sync/report.h"

namespace giftsync::console {

enum class Permission {
  open,             ///< without a session: signing in, and what its page loads
  signed_in,        ///< any user with a session, also one without a role
  see_own,          ///< pages that a Viewer limits to what the user may see
  see_users,        ///< who uses the console
  manage_users,     ///< ends sessions of others
  see_keys,         ///< API keys of the accounts that the user sees
  manage_keys,      ///< pauses, releases and revokes them
  see_webhooks,     ///< where events of what the user sees are posted
  manage_webhooks,  ///< makes, changes, moves and deletes those endpoints
  pause_mail,       ///< pauses all mail, and ends that pause
  act_on_gifts,     ///< resends and cancels gifts
  cancel_many,      ///< cancels the gifts of a filter
  manage_people,    ///< shows and erases what is kept of a recipient
  see_crm,          ///< how gifts are matched, what their records hold and which fail
  act_on_crm,       ///< matches gifts again and retries their records
  decide_requests,  ///< approves and rejects request records and held gift requests
  see_held,         ///< gift requests that wait for approval, with their recipients
  see_operations,   ///< mails, sources and who gets no gifts
  operate,          ///< changes mails and sources
  act_on_list,      ///< adds and removes who gets no gifts
  see_settings,     ///< settings in force and sign-in connections
};

bool may(const RoleSet& roles, Permission permission);

/// The gifts whose numbers a viewer sees: all, those of an organization, or those of the own account
/// (CON-73). Test gifts count nowhere.
struct CountedGifts {
  std::optional<sync::ReportPart> part = {};
  std::optional<OrganizationId> organization = {};
};
/// Nothing: the viewer sees no gifts.
std::optional<CountedGifts> counted_gifts(const store::Viewer& viewer);

// Which request records a call may see and decide (CON-28). Any thread.

bool uses_request_records(const PageCall& call);
/// False in an org of Salesforce: people decide there, and a page makes no call.
bool decides_requests_here(const PageCall& call);
/// The organization for which request records are sent; nothing without a valid token in the settings.
std::optional<OrganizationId> owner_of_requests(const PageCall& call);
/// Whether request records are in use and the user sees each of them: a list without any then says something
/// about all (CON-44).
bool sees_all_requests(const PageCall& call);
/// The rows of these records that the user asked for, created, or is Sender of, while
/// requests.allow_self_approval does not allow to approve such ones. Needs decides_requests_here().
std::vector<bool> are_own_requests(const PageCall& call, const std::vector<RequestRecord>& rows);

/// Who asked for a record, in words: a person's address, the server's user who ran a command, or the CRM.
std::string requester_text(const std::string& requested_by);

/// Pages of request records show no recipient and no message: to an auditor who is no approver, since an
/// approval applies to what the page showed.
bool hides_recipients(const PageCall& call);

/// Whether the record is approved and its error keeps the gift from being sent (CON-57).
bool is_not_sent(store::RequestRecordState state, const std::string& error);
/// The state as pages name it, and the key of that text, which badge_data() knows.
std::string request_state_text(store::RequestRecordState state, const std::string& error);
std::string request_state_key(store::RequestRecordState state, const std::string& error);

/// The records that wait for this user's decision; `is_cut`: there may be more.
struct WaitingRequests {
  std::vector<std::string> numbers;
  bool is_cut = false;
  bool is_known = true;  ///< false: the CRM, which knows the own ones, does not respond
};
WaitingRequests requests_to_decide(const PageCall& call);
/// The held gift requests that wait and that the user sees.
store::HeldFilter waiting_held_requests(const PageCall& call);
/// How many unsent request records of those that the user sees have an error, at most 100.
std::size_t count_failed_requests(const PageCall& call);

/// The request record for which a gift was sent.
struct RequestOfGift {
  store::RequestRecordEntry entry = {};
  std::optional<UtcMillis> approved_at = {};
  bool is_seen = false;  ///< by the user; otherwise its page is 404 for them
};
/// The request of the gifts of that gift request; nothing without one, or if it is another organization's
/// than the user's (CON-36).
std::optional<RequestOfGift> request_of_gift(const PageCall& call, GiftRequestId id);

/// Calls `ask`; what a CRM that does not respond would have added is left out (CON-24).
void ask_responding_crm(const std::function<void()>& ask);

/// The record's number, or its Id while it has none.
const std::string& name_of_request(const store::RequestRecordEntry& entry);
/// The path below the console's root: "/requests/R-000017"; not encoded.
std::string path_of_request(const std::string& number);

}  // namespace giftsync::console
