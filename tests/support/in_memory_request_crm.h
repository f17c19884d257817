// An in-memory CRM with request records: people can edit rows at any time, and every change queues an event.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/empty_crm_parts.h"

namespace giftsync::tests {

/// Accepts and keeps every gift record.
class AcceptedGiftRecords : public EmptyGiftRecords {
 public:
  std::vector<GiftRecord> records;

  std::vector<crm::RowResult> upsert(std::span<const crm::GiftUpsert> rows) override {
    for (const crm::GiftUpsert& row : rows) records.push_back(row.record);
    return EmptyGiftRecords::upsert(rows);
  }
};

/// The process was killed.
struct Killed {};

class InMemoryRequestCrm : public crm::Crm, public crm::RequestRecords {
 public:
  using Record = RequestRecord;
  using Field = RequestRecordField;

  std::map<std::string, Record> rows;
  std::map<std::string, crm::Person> contacts;
  std::vector<crm::RequestRecordEvent> change_events;
  AcceptedGiftRecords gifts;
  std::string integration_user;   ///< Last Modified By of giftsync's writes; empty: they do not set it
  std::set<std::string> refused;  ///< Ids of rows that a trigger in the CRM does not let giftsync write
  /// Before and after each call; may throw Killed, edit rows, or run another daemon's step.
  std::function<void()> around_each_call = [] {};

  // ---- what people do
  Record& insert(const std::string& id, const std::string& message, std::optional<bool> auto_approved,
                 const std::string& status = "Pending");
  void edit(const std::string& id, Field field, FieldValue value);
  /// An UPDATE that does not set Last Modified By.
  void edit_anonymously(const std::string& id, Field field, FieldValue value);
  void remove(const std::string& id);
  std::string text(const std::string& id, Field field) const;

  /// Calls the hook before and after a call's effect.
  template <class Work>
  auto call(Work&& work) {
    around_each_call();
    auto result = work();
    around_each_call();
    return result;
  }

  // ---- the port
  std::vector<crm::RequestRecordEvent> events(std::size_t limit) override;
  void acknowledge(std::span<const std::int64_t> acked) override;
  void enqueue_open() override;
  std::vector<Record> find(std::span<const std::string> ids) override;
  std::optional<Record> find_one(const std::string& name) override;
  std::vector<crm::RowResult> update(std::span<const crm::RequestRecordUpdate> writes) override;
  std::vector<crm::Person> find_persons(crm::PersonObject, std::span<const std::string> ids) override;

  crm::Directory& directory() override { return directory_; }
  crm::GiftRecords& gift_records() override { return gifts; }
  crm::Tasks& tasks() override { return tasks_; }
  crm::RequestRecords* request_records() override { return this; }

  // ---- not used here
  std::vector<Record> page(const std::string&, std::optional<RequestRecordStatus>, std::size_t) override;
  std::vector<Record> create(std::span<const crm::NewRequestRecord>) override { return {}; }
  std::vector<crm::Opportunity> find_opportunities(std::span<const std::string>) override { return {}; }

 private:
  void add_change_event(const std::string& id) { change_events.push_back({++last_event_id_, id}); }

  static bool is_as_read(const Record& row, const Record& read);
  crm::RowResult apply(const crm::RequestRecordUpdate& write);

  std::int64_t last_event_id_ = 0;
  EmptyDirectory directory_;
  EmptyTasks tasks_;
};

}  // namespace giftsync::tests
