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
                 const std::string& status = "Pending") {
    Record& row = rows[id];
    row = Record();
    row.id = id;
    row.set(Field::number, "R-" + id);
    row.set(Field::gift_id, std::string("7"));
    row.set(Field::recipient_email, id + "@example.com");
    row.set(Field::message, message);
    row.set(Field::sender, std::string("005A"));
    row.set(Field::status, status);
    if (auto_approved) row.set(Field::auto_approved, *auto_approved);
    add_change_event(id);
    return row;
  }
  void edit(const std::string& id, Field field, FieldValue value) {
    const auto row = rows.find(id);
    if (row == rows.end()) return;
    row->second.set(Field::last_modified_by, std::string("005B"));
    edit_anonymously(id, field, std::move(value));
  }
  /// An UPDATE that does not set Last Modified By.
  void edit_anonymously(const std::string& id, Field field, FieldValue value) {
    const auto row = rows.find(id);
    if (row == rows.end()) return;
    row->second.set(field, std::move(value));
    add_change_event(id);
  }
  void remove(const std::string& id) {
    if (rows.erase(id) > 0) add_change_event(id);
  }
  std::string text(const std::string& id, Field field) const {
    const auto row = rows.find(id);
    return row == rows.end() ? "deleted" : row->second.text(field);
  }

  /// Calls the hook before and after a call's effect.
  template <class Work>
  auto call(Work&& work) {
    around_each_call();
    auto result = work();
    around_each_call();
    return result;
  }

  // ---- the port
  std::vector<crm::RequestRecordEvent> events(std::size_t limit) override {
    return call([&] {
      const auto some = static_cast<std::ptrdiff_t>(std::min(limit, change_events.size()));
      return std::vector<crm::RequestRecordEvent>(change_events.begin(), change_events.begin() + some);
    });
  }
  void acknowledge(std::span<const std::int64_t> acked) override {
    call([&] {
      return std::erase_if(change_events, [&](const auto& one) {
        return std::find(acked.begin(), acked.end(), one.id) != acked.end();
      });
    });
  }
  void enqueue_open() override {
    for (const auto& [id, row] : rows) add_change_event(id);
  }
  std::vector<Record> find(std::span<const std::string> ids) override {
    return call([&] {
      std::vector<Record> found;
      for (const std::string& id : ids) {
        if (const auto row = rows.find(id); row != rows.end()) found.push_back(row->second);
      }
      return found;
    });
  }
  std::optional<Record> find_one(const std::string& name) override {
    return call([&]() -> std::optional<Record> {
      for (const auto& [id, row] : rows) {
        if (id == name || row.text(Field::number) == name) return row;
      }
      return std::nullopt;
    });
  }
  std::vector<crm::RowResult> update(std::span<const crm::RequestRecordUpdate> writes) override {
    return call([&] {
      std::vector<crm::RowResult> results;
      for (const crm::RequestRecordUpdate& write : writes) results.push_back(apply(write));
      return results;
    });
  }
  std::vector<crm::Person> find_persons(crm::PersonObject, std::span<const std::string> ids) override {
    std::vector<crm::Person> found;
    for (const std::string& id : ids) {
      if (const auto one = contacts.find(id); one != contacts.end()) found.push_back(one->second);
    }
    return found;
  }

  crm::Directory& directory() override { return directory_; }
  crm::GiftRecords& gift_records() override { return gifts; }
  crm::Tasks& tasks() override { return tasks_; }
  crm::RequestRecords* request_records() override { return this; }

  // ---- not used here
  std::vector<Record> page(const std::string&, std::optional<RequestRecordStatus>, std::size_t) override {
    return {};
  }
  std::vector<Record> create(std::span<const crm::NewRequestRecord>) override { return {}; }
  std::vector<crm::Opportunity> find_opportunities(std::span<const std::string>) override { return {}; }

 private:
  void add_change_event(const std::string& id) { change_events.push_back({++last_event_id_, id}); }

  static bool is_as_read(const Record& row, const Record& read) {
    const auto same = [&](Field field) { return row.get(field) == read.get(field); };
    bool all = same(Field::status) && same(Field::auto_approved) && row.claimed == read.claimed;
    for (const Field field : approval_bound_fields()) all = all && same(field);
    return all;
  }
  crm::RowResult apply(const crm::RequestRecordUpdate& write) {
    using Kind = crm::RowResult::Kind;
    const auto found = rows.find(write.expected.id);
    if (found == rows.end()) return {Kind::not_found, "deleted"};
    Record& row = found->second;
    if (refused.contains(row.id)) return {Kind::rejected, "not on Sundays"};
    if (!is_as_read(row, write.expected)) return {Kind::unchanged, "changed just now"};
    if (write.status) row.set(Field::status, std::string(to_word(*write.status)));
    if (write.error_log) row.set(Field::error_log, *write.error_log);
    if (write.auto_approved) row.set(Field::auto_approved, *write.auto_approved);
    if (write.item_link) row.set(Field::item_link, *write.item_link);
    if (write.claimed) row.claimed = *write.claimed;
    if (!integration_user.empty()) row.set(Field::last_modified_by, integration_user);
    add_change_event(row.id);
    return {Kind::updated, ""};
  }

  std::int64_t last_event_id_ = 0;
  EmptyDirectory directory_;
  EmptyTasks tasks_;
};

}  // namespace giftsync::tests
