// A CRM in memory behind the port, which can be told to fail. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/broken_world.h"
#include "schema/crm.h"

namespace giftsync::schema {

class MemoryCrm : public Crm {
 public:
  std::map<std::string, Candidate> contacts_by_email;
  std::map<std::string, Candidate> leads_by_email;
  std::map<std::string, CrmUser> users_by_email;
  std::map<std::int64_t, GiftRecord> records;
  std::map<std::int64_t, RowResult> refuses;  ///< by transaction
  bool down = false;
  int candidate_calls = 0;
  std::function<void()> before_upsert = [] {};  ///< runs once

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientKeys> recipients) override {
    check();
    ++candidate_calls;
    auto& people = object == PersonObject::contact ? contacts_by_email : leads_by_email;
    std::vector<Candidates> all;
    for (const RecipientKeys& recipient : recipients) {
      Candidates& found = all.emplace_back();
      if (const auto person = people.find(recipient.email_key); person != people.end())
        found.by_email.push_back(person->second);
    }
    return all;
  }
  std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> keys) override {
    check();
    std::vector<std::vector<CrmUser>> all;
    for (const std::string& key : keys) {
      auto& found = all.emplace_back();
      if (const auto user = users_by_email.find(key); user != users_by_email.end())
        found.push_back(user->second);
    }
    return all;
  }
  std::vector<std::optional<CrmUser>> users_by_id(std::span<const std::string> ids) override {
    return std::vector<std::optional<CrmUser>>(ids.size());
  }
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string>) override {
    return std::nullopt;
  }
  std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) override {
    check();
    std::exchange(before_upsert, [] {})();
    std::vector<RowResult> results;
    for (const GiftUpsert& row : rows) results.push_back(upsert(row));
    return results;
  }
  std::vector<std::vector<Opportunity>> open_opportunities(std::span<const std::string> contacts) override {
    return std::vector<std::vector<Opportunity>>(contacts.size());
  }
  std::vector<ConvertedLead> converted_leads(std::span<const std::string>) override { return {}; }
  std::vector<RowResult> relink_gift_records(std::span<const GiftRelink>) override { return {}; }
  std::vector<std::vector<GiftField>> lost_lookups(std::span<const Associations> links) override {
    return std::vector<std::vector<GiftField>>(links.size());
  }
  std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) override {
    check();
    return std::vector<RowResult>(rows.size(), {RowResult::Kind::created, ""});
  }
  std::vector<Task> tasks(TransactionId, std::size_t) override { return {}; }
  std::vector<GiftRecord> find_gift_records(std::span<const TransactionId>) override { return {}; }
  std::vector<GiftRecord> gift_records(TransactionId, std::size_t) override { return {}; }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    std::vector<TransactionId> ids;
    for (auto row = records.lower_bound(below.value); row != records.begin() && ids.size() < limit;)
      ids.push_back({(--row)->first});
    return ids;
  }
  std::vector<TransactionId> transaction_ids_to(const std::string&) override { return {}; }
  std::int64_t count_gift_records() override { return static_cast<std::int64_t>(records.size()); }
  std::optional<StatusLogSize> status_log_size() override { return std::nullopt; }
  void prepare_status_log() override {}
  std::vector<StatusLogSpan> status_log(TransactionId, std::size_t, UtcMillis, UtcMillis) override {
    return {};
  }
  std::vector<RecordTimes> record_times(std::span<const TransactionId>) override { return {}; }
  std::vector<TransactionId> fill_record_times(std::span<const RecordTimes>) override { return {}; }

 private:
  void check() const {
    if (down) throw BrokenWorld(true, "the CRM is down");
  }
  RowResult upsert(const GiftUpsert& row) {
    const std::int64_t id = row.record.transaction().value;
    if (const auto refusal = refuses.find(id); refusal != refuses.end()) return refusal->second;
    const auto known = records.find(id);
    if (known == records.end() && row.exists) return {RowResult::Kind::gone, "deleted"};
    if (known != records.end() && known->second.version >= row.record.version)
      return {RowResult::Kind::unchanged, ""};
    const auto kind = known == records.end() ? RowResult::Kind::created : RowResult::Kind::updated;
    records.insert_or_assign(id, row.record);
    return {kind, ""};
  }
};

}  // namespace giftsync::schema
