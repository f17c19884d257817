#include "sync/request_record_retry.h"

#include "sync/request_record_state_machine.h"

namespace giftsync::sync {

std::int64_t retry_failed_request_records(schema::store::Store& store) {
  schema::store::RequestRecords& records = store.request_records;
  return records.retry_all_failed(transition_error_start(schema::store::RequestRecordState::approved),
                                  records.now());
}

RequestRecordRetry retry_request_record(schema::store::Store& store, const std::string& number_or_id) {
  schema::store::RequestRecords& records = store.request_records;
  const auto known = records.find_by_number_or_id(number_or_id);
  if (!known) return RequestRecordRetry::unknown;
  return records.retry_failed(std::span(&known->record_id, 1), records.now()) > 0
             ? RequestRecordRetry::retried
             : RequestRecordRetry::not_failed;
}

}  // namespace giftsync::sync
