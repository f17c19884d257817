// sync: one step of the request record worker (REQ-24, REQ-25). It takes records that changed or are due,
// reconciles each, claims the approved ones, sends them and writes the result to the CRM. The store records
// every transition before the CRM is written, and a gift is created under its record's own key. So the step
// may be interrupted anywhere and two daemons may run it at once: the rest is processed later, and no request
// is sent twice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "platform/log_line.h"
#include "schema/store/store.h"
#include "sync/access/send_authorization.h"
#include "sync/mail/delivery_rules.h"
#include "sync/request/approver_notices.h"
#include "sync/request/request_record_findings.h"
#include "sync/request/request_record_reconcile.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::sync {

struct RequestRecordRules {
  bool auto_approved_default = false;
  std::string integration_user = {};  ///< CRM user id: Last Modified By of records that giftsync writes
  GiftRequestLimits limits = {};
  /// The URL of an item's page, which ends with the gift id; empty when there is none.
  std::function<std::string(GiftId)> item_link = [](GiftId) { return std::string(); };
  /// A record whose sender may not send is retried after 2 s, doubling to at most this (REQ-32).
  std::int64_t most_sender_retry_after_millis = kMaxSyncRetryMillis;
  /// One result for each of these CRM users.
  std::function<std::vector<SenderAuthorization>(std::span<const std::string> user_ids)> authorize_senders;
  /// Why nothing is sent to each of these addresses (GUARD-1); nullopt if it may be. Absent: all may.
  std::function<std::vector<std::optional<std::string>>(std::span<const std::string> emails)>
      refuse_recipients = {};
  /// Why a record with Auto-Approved waits for a person all the same (GUARD-30). Absent: none does.
  std::function<std::vector<store::HoldReason>(const store::NewGiftRequest&)> hold_reasons = {};
  /// Whose approvers get mails about what waits (CON-31); called when something waits. Absent: none.
  std::function<ApproverNoticeRules()> approver_notices = {};
};

/// A gift request that was made for a request record.
struct RequestRecordSent {
  std::string number;
  GiftRequestId request;
  std::vector<store::RecipientTransaction> gifts;
};

struct RequestRecordStepStats {
  std::size_t checked = 0;
  std::size_t sent = 0;
  std::size_t failed = 0;  ///< approved, but not sent: Error Log says why
  bool more = false;       ///< there is more to do at once
  std::vector<LogLine> warnings;
  std::vector<RequestRecordSent> made;  ///< not those that an interrupted step had made
};

/// Throws DependencyError when store or CRM fail.
RequestRecordStepStats request_record_step(store::Store& store, crm::Crm& crm,
                                           const RequestRecordRules& rules, UtcMillis now);

/// Checks all preconditions of send_authorization.h in store and CRM (REQ-36).
std::vector<SenderAuthorization> authorize_senders(store::Accounts& accounts, crm::Directory& directory,
                                                   const TokenStatus& token,
                                                   std::span<const std::string> user_ids, UtcMillis now);

// Checks whether a request record can be sent, without a change to store or CRM (REQ-52).

struct RequestRecordCheck {
  std::string id;
  std::string number;
  std::optional<RequestRecordStatus> status;   ///< as in the CRM; nullopt: none, or deleted there
  bool is_sent = false;                        ///< it has its gift
  std::vector<RequestRecordFinding> findings;  ///< in the order in which they are corrected
};

/// Nullopt when neither CRM nor store has such a record. `requests_enabled`: requests.enabled. Throws
/// DependencyError when store or CRM fail.
std::optional<RequestRecordCheck> check_request_record(store::RequestRecords& request_records,
                                                       store::Catalogue& catalogue, crm::Crm& crm,
                                                       const RequestRecordRules& rules, bool requests_enabled,
                                                       const std::string& number_or_id, UtcMillis now);

/// What would keep a record from being sent if it were approved now, whatever its status. `loaded`: as it was
/// read. The catalogue, and the CRM and store about the sender, are read. Throws DependencyError
/// when they fail.
std::vector<RequestRecordFinding> findings_when_approved(store::Catalogue& catalogue,
                                                         const LoadedRequestRecord& loaded,
                                                         const RequestRecordRules& rules);

}  // namespace giftsync::sync
