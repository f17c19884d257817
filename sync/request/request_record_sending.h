// sync: claims approved request records and sends their gifts: the part of a request record step that follows
// their reconciliation (REQ-24, REQ-25). Every function saves in the store before it writes to the CRM.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sync/request/request_record_step.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::sync {

struct RequestRecordContext {
  store::Store& store;
  crm::RequestRecords& records;
  std::size_t max_records;  ///< of a step
  const RequestRecordRules& rules;
  UtcMillis now;
};

/// One request record in this step.
struct RequestWork {
  LoadedRequestRecord loaded;
  store::RequestRecordEntry known;  ///< as in the store
  bool is_in_crm = false;
  bool is_conflicted = false;               ///< another process changed it meanwhile
  std::optional<std::string> refusal = {};  ///< why the CRM rejected an update
  std::int64_t retry_after_millis = 0;      ///< of the refusal, or of the postponed update
  bool is_postponed = false;                ///< the CRM could not write an update at present
  std::optional<store::NewGiftRequest> gift_request = {};
};

/// The records of this step by Id, the catalogue's items that they name, and what was done.
struct RequestRecordBatch {
  std::map<std::string, RequestWork> works;
  std::map<GiftId, std::optional<store::GiftItem>> items;
  RequestRecordStepStats stats;
};

/// Saves and updates the works; returns the Ids that were saved. The others are conflicted.
std::set<std::string> save_entries(store::RequestRecords& request_records,
                                   const std::vector<store::RequestRecordEntryUpdate>& changes,
                                   RequestRecordBatch& batch);
/// Writes to the CRM and updates the loaded rows; returns the Ids that were written.
std::set<std::string> write_records(crm::RequestRecords& records,
                                    const std::vector<crm::RequestRecordUpdate>& writes,
                                    RequestRecordBatch& batch);

/// Of the written records that are Pending in the store: the CRM shows it from now on. Approved is then a
/// person's approval, and no write of giftsync's that was lost.
void save_withdrawn(store::RequestRecords& request_records, const std::set<std::string>& written,
                    RequestRecordBatch& batch);

/// The entry as it is, due again at that time.
store::RequestRecordEntryUpdate deferred_change(store::RequestRecordEntry next, UtcMillis until);

/// The address that the record names; may be empty.
std::string recipient_of(const RequestRecord& completed);
/// Why nothing is sent to those of the addresses that are refused (GUARD-1), by address.
std::map<std::string, std::string> refusals_of(std::set<std::string> emails, const RequestRecordRules& rules);

/// Claims and sends the approved records, and sends those that an interrupted step has claimed.
void send_request_records(const RequestRecordContext& context, const std::vector<std::string>& approved,
                          std::vector<std::string> claimed, RequestRecordBatch& batch);

}  // namespace giftsync::sync
