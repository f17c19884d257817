// cli: everything that store and CRM have about one gift, for `gift show`.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.h"
#include "cli/json_array_writer.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::cli {

struct HistoryEntry {
  schema::store::StatusChange change;
  std::string conflict;  ///< with another change; empty when there is none
};

struct GiftDetail {
  schema::store::Gift gift;
  std::optional<schema::store::CrmSyncState> sync_state;  ///< none before the first sync
  std::optional<schema::GiftRecord> record;               ///< the current CRM record
  std::optional<schema::store::DeliveryRow> delivery;     ///< none for gifts issued as URLs (HTTP-2)
  std::vector<HistoryEntry> history;                      ///< by the time they occurred
  std::vector<schema::store::GiftAction> actions;         ///< by the time they were done
  std::optional<sync::DueOutcome> next;       ///< the next timer outcome, if no change comes before
  std::optional<sync::DueReminder> reminder;  ///< the reminder before it
  std::optional<schema::store::Donation> donation = {};  ///< the charity, if the gift was donated on its page
  bool has_code = false;                                 ///< a gift code was issued to the recipient
  std::string manual_links = {};    ///< "contact 003...": the record's links if they differ from the decision
  std::string request_record = {};  ///< "R-000002": the request record that it was sent for
  std::string mail_pause = {};      ///< why no mail is sent at the moment; empty: delivery is not paused
  bool is_sent_at_estimated = false;                      ///< of an adopted gift whose record has no Sent At
  std::optional<schema::store::SyncWait> sync_wait = {};  ///< none when the CRM has the current state
  std::string crm_fault = {};         ///< why `record` is not known; empty: it was asked for
  std::exception_ptr crm_error = {};  ///< the same, to be thrown
};

/// The current CRM record of a gift, if there is one.
std::optional<schema::GiftRecord> find_gift_record(schema::crm::GiftRecords& records,
                                                   schema::TransactionId id);

/// The links of the record if they differ from the match decision, because they were corrected in the CRM;
/// else empty.
std::string manual_links(const schema::crm::GiftRecords& records,
                         const schema::store::CrmSyncState& sync_state, const schema::GiftRecord& record);

/// Numbers are allotted in blocks, so one that is missing need not be lost.
std::string no_such_gift(std::int64_t id);

/// Empty when the store has no such gift. A CRM apart from the store that does not answer, an org for longer
/// than some seconds, leaves its part out (`crm_fault`).
std::optional<GiftDetail> find_gift_detail(CliContext& ctx, schema::TransactionId id);

Json gift_detail_json(const GiftDetail& detail);

/// Prints it as text, in sections.
void print(const GiftDetail& detail, std::ostream& out);

}  // namespace giftsync::cli
