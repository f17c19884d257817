// daemon/exports: everything that store and CRM have about one gift, for `gift show` and the data of a
// person.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "daemon/exports/export_values.h"
#include "schema/gift_record.h"
#include "schema/store/gift/catalogue.h"
#include "schema/store/store.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::exports {

struct HistoryEntry {
  store::StatusChange change;
  std::string conflict;  ///< with another change; empty when there is none
};

struct GiftDetail {
  store::Gift gift;
  std::optional<store::CrmSyncState> sync_state;  ///< none before the first sync
  std::optional<GiftRecord> record;               ///< the current CRM record
  std::optional<store::DeliveryRow> delivery;     ///< none for gifts issued as URLs (HTTP-2)
  std::vector<HistoryEntry> history;              ///< by the time they occurred
  std::vector<store::GiftAction> actions;         ///< by the time they were done
  std::optional<sync::DueOutcome> next;           ///< the next timer outcome, if no change comes before
  std::optional<sync::DueReminder> reminder;      ///< the reminder before it
  std::optional<store::Donation> donation = {};   ///< the charity, if the gift was donated on its page
  bool has_code = false;                          ///< a gift code was issued to the recipient
  std::string manual_links = {};    ///< "contact 003...": the record's links if they differ from the decision
  std::string request_record = {};  ///< "R-000002": the request record that it was sent for
  std::string mail_pause = {};      ///< why no mail is sent at the moment; empty: delivery is not paused
  bool is_sent_at_estimated = false;              ///< of an adopted gift whose record has no Sent At
  std::optional<store::SyncWait> sync_wait = {};  ///< none when the CRM has the current state
  std::string crm_fault = {};                     ///< why `record` is not known; empty: it was asked for
  std::exception_ptr crm_error = {};              ///< the same, to be thrown
};

/// The current CRM record of a gift, if there is one.
std::optional<GiftRecord> find_gift_record(crm::GiftRecords& records, TransactionId id);

/// The links of the record if they differ from the match decision, because they were corrected in the CRM;
/// else empty.
std::string manual_links(const crm::GiftRecords& records, const store::CrmSyncState& sync_state,
                         const GiftRecord& record);

/// Empty when the store has no such gift. A CRM apart from the store that does not answer, an org for longer
/// than some seconds, leaves its part out (`crm_fault`). `crm_left_out`: why the CRM is not asked at all.
std::optional<GiftDetail> find_gift_detail(store::Store& store, crm::Crm& crm, TransactionId id,
                                           const std::string& crm_left_out = {});

Json gift_detail_json(const GiftDetail& detail, const std::string& currency);

/// The stored match decision with its reason, and the state of the gift's record; null before the first sync.
Json match_json(const std::optional<store::CrmSyncState>& sync_state,
                const std::optional<store::SyncWait>& wait, const std::string& manual_links = {});

// Gift records, costs and status changes.

/// Every field of the gift record in the order of SYNC-3, by its API name without prefix and suffix: times
/// RFC 3339 UTC, money as decimal text, ids as numbers, absent as null.
Json gift_record_json(const GiftRecord& record);

/// The costs of a gift as decimal texts.
Json costs_json(const store::GiftCosts& costs, const std::string& currency);

/// A change as `change list --json` and `gift show --json` print it.
Json change_json(const store::StatusChange& change);

}  // namespace giftsync::exports
