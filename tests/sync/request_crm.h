// A CRM in memory that has request records: rows that people edit at any moment, and notes of every change.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schema/crm.h"

namespace giftsync::sync {

/// The process died.
struct Killed {};

class RequestCrm : public schema::Crm {
 public:
  using Record = schema::RequestRecord;
  using Field = schema::RequestField;

  std::map<std::string, Record> rows;
  std::map<std::string, schema::Person> contacts;
  std::vector<schema::RequestNote> notes;
  std::string integration_user;   ///< whom giftsync's writes name as Last Modified By; empty: they leave it
  std::set<std::string> refused;  ///< Ids of rows that a trigger of the CRM's owner refuses to have written
  /// Before and after each call; may throw Killed, edit rows, or run another daemon's round.
  std::function<void()> meanwhile = [] {};

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
    note(id);
    return row;
  }
  void edit(const std::string& id, Field field, schema::FieldValue value) {
    const auto row = rows.find(id);
    if (row == rows.end()) return;
    row->second.set(Field::last_modified_by, std::string("005B"));
    edit_without_name(id, field, std::move(value));
  }
  /// An UPDATE that does not set Last Modified By.
  void edit_without_name(const std::string& id, Field field, schema::FieldValue value) {
    const auto row = rows.find(id);
    if (row == rows.end()) return;
    row->second.set(field, std::move(value));
    note(id);
  }
  void remove(const std::string& id) {
    if (rows.erase(id) > 0) note(id);
  }
  std::string text(const std::string& id, Field field) const {
    const auto row = rows.find(id);
    return row == rows.end() ? "deleted" : row->second.text(field);
  }

  /// Something may happen before a call's effect and after it.
  template <class Work>
  auto call(Work&& work) {
    meanwhile();
    auto result = work();
    meanwhile();
    return result;
  }

  // ---- the port
  std::vector<schema::RequestNote> request_notes(std::size_t limit) override {
    return call([&] {
      const auto some = static_cast<std::ptrdiff_t>(std::min(limit, notes.size()));
      return std::vector<schema::RequestNote>(notes.begin(), notes.begin() + some);
    });
  }
  void settle_request_notes(std::span<const std::int64_t> settled) override {
    call([&] {
      return std::erase_if(notes, [&](const auto& one) {
        return std::find(settled.begin(), settled.end(), one.id) != settled.end();
      });
    });
  }
  void note_open_requests() override {
    for (const auto& [id, row] : rows) note(id);
  }
  std::vector<Record> find_requests(std::span<const std::string> ids) override {
    return call([&] {
      std::vector<Record> found;
      for (const std::string& id : ids) {
        if (const auto row = rows.find(id); row != rows.end()) found.push_back(row->second);
      }
      return found;
    });
  }
  std::optional<Record> find_request(const std::string& name) override {
    return call([&]() -> std::optional<Record> {
      for (const auto& [id, row] : rows) {
        if (id == name || row.text(Field::number) == name) return row;
      }
      return std::nullopt;
    });
  }
  std::vector<schema::RowResult> write_requests(std::span<const schema::RequestWrite> writes) override {
    return call([&] {
      std::vector<schema::RowResult> results;
      for (const schema::RequestWrite& write : writes) results.push_back(apply(write));
      return results;
    });
  }
  std::vector<schema::Person> find_people(schema::PersonObject, std::span<const std::string> ids) override {
    std::vector<schema::Person> found;
    for (const std::string& id : ids) {
      if (const auto one = contacts.find(id); one != contacts.end()) found.push_back(one->second);
    }
    return found;
  }

  bool has_requests() const override { return true; }

  // ---- not asked for here
  std::vector<schema::Opportunity> find_opportunities(std::span<const std::string>) override { return {}; }
  std::vector<schema::Candidates> find_candidates(
      schema::PersonObject, std::span<const schema::RecipientKeys> recipients) override {
    return std::vector<schema::Candidates>(recipients.size());
  }
  std::vector<std::vector<schema::CrmUser>> find_users(std::span<const std::string> keys) override {
    return std::vector<std::vector<schema::CrmUser>>(keys.size());
  }
  std::vector<std::optional<schema::CrmUser>> users_by_id(std::span<const std::string> ids) override {
    return std::vector<std::optional<schema::CrmUser>>(ids.size());
  }
  std::optional<std::vector<std::vector<schema::PermissionSetAssignment>>> permission_sets(
      std::span<const std::string>) override {
    return std::nullopt;
  }
  std::vector<schema::RowResult> upsert_gift_records(
      std::span<const schema::GiftUpsert> rows_given) override {
    for (const auto& row : rows_given) records.push_back(row.record);
    return std::vector<schema::RowResult>(rows_given.size(), {schema::RowResult::Kind::created, ""});
  }
  std::vector<std::vector<schema::Opportunity>> open_opportunities(
      std::span<const std::string> ids) override {
    return std::vector<std::vector<schema::Opportunity>>(ids.size());
  }
  std::vector<schema::ConvertedLead> converted_leads(std::span<const std::string>) override { return {}; }
  std::vector<schema::RowResult> relink_gift_records(std::span<const schema::GiftRelink>) override {
    return {};
  }
  std::vector<std::vector<schema::GiftField>> lost_lookups(
      std::span<const schema::Associations> links) override {
    return std::vector<std::vector<schema::GiftField>>(links.size());
  }
  std::vector<schema::RowResult> upsert_tasks(std::span<const schema::TaskUpsert>) override { return {}; }
  std::vector<schema::Task> tasks(schema::TransactionId, std::size_t) override { return {}; }
  std::vector<schema::GiftRecord> find_gift_records(std::span<const schema::TransactionId>) override {
    return {};
  }
  std::vector<schema::GiftRecord> gift_records(schema::TransactionId, std::size_t) override { return {}; }
  std::vector<schema::TransactionId> transaction_ids_below(schema::TransactionId, std::size_t) override {
    return {};
  }
  std::vector<schema::TransactionId> transaction_ids_to(const std::string&) override { return {}; }
  std::int64_t count_gift_records() override { return 0; }
  std::optional<schema::StatusLogSize> status_log_size() override { return std::nullopt; }
  void prepare_status_log() override {}
  std::vector<schema::StatusLogSpan> status_log(schema::TransactionId, std::size_t, schema::UtcMillis,
                                                schema::UtcMillis) override {
    return {};
  }
  std::vector<schema::RecordTimes> record_times(std::span<const schema::TransactionId>) override {
    return {};
  }
  std::vector<schema::TransactionId> fill_record_times(std::span<const schema::RecordTimes>) override {
    return {};
  }

  std::vector<schema::GiftRecord> records;

 private:
  void note(const std::string& id) { notes.push_back({++last_note_, id}); }

  static bool is_as_read(const Record& row, const Record& read) {
    const auto same = [&](Field field) { return row.get(field) == read.get(field); };
    bool all = same(Field::status) && same(Field::auto_approved) && row.claimed == read.claimed;
    for (const Field field : schema::approved_fields()) all = all && same(field);
    return all;
  }
  schema::RowResult apply(const schema::RequestWrite& write) {
    using Kind = schema::RowResult::Kind;
    const auto found = rows.find(write.as_read.id);
    if (found == rows.end()) return {Kind::gone, "deleted"};
    Record& row = found->second;
    if (refused.contains(row.id)) return {Kind::rejected, "not on Sundays"};
    if (!is_as_read(row, write.as_read)) return {Kind::unchanged, "changed just now"};
    if (write.status) row.set(Field::status, std::string(to_word(*write.status)));
    if (write.error_log) row.set(Field::error_log, *write.error_log);
    if (write.auto_approved) row.set(Field::auto_approved, *write.auto_approved);
    if (write.item_link) row.set(Field::item_link, *write.item_link);
    if (write.claimed) row.claimed = *write.claimed;
    if (!integration_user.empty()) row.set(Field::last_modified_by, integration_user);
    note(row.id);
    return {Kind::updated, ""};
  }

  std::int64_t last_note_ = 0;
};

}  // namespace giftsync::sync
