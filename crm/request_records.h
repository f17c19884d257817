// crm: request records (REQ-1), their change events, and the rows that they refer to. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/row_result.h"
#include "schema/request_record.h"

namespace giftsync::crm {

/// A contact or lead that a request record refers to.
struct Person {
  std::string id;
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string account_id;  ///< contacts only
};

/// The record was inserted, updated or deleted. The event does not say which.
struct RequestRecordEvent {
  std::int64_t id = 0;
  std::string record_id;
};

/// A request record to create. It is created once per key: after an unknown outcome the caller repeats
/// the call.
struct NewRequestRecord {
  std::string creation_key;
  RequestRecord record;
};

/// Changes to an existing request record, written only while it is as it was read: its approved fields,
/// status, Auto-Approved and claim, or all of it (RequestRecord::revision). Absent fields stay unchanged.
struct RequestRecordUpdate {
  RequestRecord expected;
  std::optional<RequestRecordStatus> status = std::nullopt;
  std::optional<std::string> error_log = std::nullopt;  ///< an empty text clears it
  std::optional<bool> auto_approved = std::nullopt;
  std::optional<std::string> item_link = std::nullopt;  ///< an empty text clears it
  std::optional<bool> claimed = std::nullopt;
};

class RequestRecords {
 public:
  virtual ~RequestRecords() = default;

  /// Change events of request records that were inserted, updated or deleted and that are not
  /// acknowledged, the oldest first. An event is never lost: neither a transaction that commits late
  /// nor a wrong clock hides one.
  virtual std::vector<RequestRecordEvent> events(std::size_t limit) = 0;
  /// Acknowledges change events that were processed.
  virtual void acknowledge(std::span<const std::int64_t> event_ids) = 0;
  /// Creates a change event for each request record that waits for approval or sending.
  virtual void enqueue_open() = 0;
  /// The existing ones, in any order.
  virtual std::vector<RequestRecord> find(std::span<const std::string> ids) = 0;
  /// By Request Number or Id.
  virtual std::optional<RequestRecord> find_one(const std::string& number_or_id) = 0;
  /// Request records with a number above `after`, in the order of their numbers; with one status, if
  /// given.
  virtual std::vector<RequestRecord> page(const std::string& after, std::optional<RequestRecordStatus> status,
                                          std::size_t limit) = 0;
  /// For each whether it was `updated`, is `unchanged` because it changed since it was read, `not_found`,
  /// `rejected` by the CRM, or cannot be written at present (`retry`, such as a claim or decision about a
  /// record that was edited within the last two seconds, REQ-56). The claim uses this too: it decides between
  /// a daemon and a concurrent rejection.
  virtual std::vector<RowResult> update(std::span<const RequestRecordUpdate> rows) = 0;
  /// Creates the records with new keys; the CRM assigns Id, number and dates. Returns all of them with
  /// their current values.
  virtual std::vector<RequestRecord> create(std::span<const NewRequestRecord> rows) = 0;
  /// The existing ones, in any order.
  virtual std::vector<Person> find_persons(PersonObject object, std::span<const std::string> ids) = 0;
  /// The existing ones, also closed ones, in any order; without an order value.
  virtual std::vector<Opportunity> find_opportunities(std::span<const std::string> ids) = 0;
};

}  // namespace giftsync::crm
