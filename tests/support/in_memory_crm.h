// An in-memory CRM behind the port, which can be made to fail. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/dependency_error.h"
#include "tests/support/empty_crm_parts.h"

namespace giftsync::tests {

class InMemoryCrm : public crm::Crm, public EmptyDirectory, public EmptyGiftRecords {
 public:
  std::map<std::string, crm::Candidate> contacts_by_email;
  std::map<std::string, crm::Candidate> leads_by_email;
  std::map<std::string, crm::CrmUser> users_by_email;
  std::map<std::int64_t, GiftRecord> records;
  std::map<std::int64_t, crm::RowResult> rejected_rows;  ///< by transaction
  bool down = false;
  bool is_lookup_ready = true;
  int candidate_calls = 0;
  std::size_t upserted_rows = 0;
  std::function<void()> before_lookup = [] {};  ///< runs once
  std::function<void()> before_upsert = [] {};  ///< runs once

  std::vector<crm::Candidates> find_candidates(crm::PersonObject object,
                                               std::span<const crm::RecipientMatchKeys> recipients) override {
    check();
    std::exchange(before_lookup, [] {})();
    if (!is_lookup_ready) throw crm::LookupNotReady("match keys are missing");
    ++candidate_calls;
    auto& people = object == crm::PersonObject::contact ? contacts_by_email : leads_by_email;
    std::vector<crm::Candidates> all;
    for (const crm::RecipientMatchKeys& recipient : recipients) {
      crm::Candidates& found = all.emplace_back();
      if (const auto person = people.find(recipient.email_key); person != people.end())
        found.by_email.push_back(person->second);
    }
    return all;
  }
  std::vector<std::vector<crm::CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
    check();
    std::vector<std::vector<crm::CrmUser>> all;
    for (const std::string& key : keys) {
      auto& found = all.emplace_back();
      if (const auto user = users_by_email.find(key); user != users_by_email.end())
        found.push_back(user->second);
    }
    return all;
  }
  std::vector<crm::RowResult> upsert(std::span<const crm::GiftUpsert> rows) override {
    check();
    std::exchange(before_upsert, [] {})();
    upserted_rows += rows.size();
    std::vector<crm::RowResult> results;
    for (const crm::GiftUpsert& row : rows) results.push_back(upsert_one(row));
    return results;
  }
  std::vector<TransactionId> transaction_ids_between(TransactionId from, TransactionId below,
                                                     std::size_t limit) override {
    std::vector<TransactionId> ids;
    for (auto row = records.lower_bound(from.value);
         row != records.end() && row->first < below.value && ids.size() < limit; ++row)
      ids.push_back({row->first});
    return ids;
  }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    std::vector<TransactionId> ids;
    for (auto row = records.lower_bound(below.value); row != records.begin() && ids.size() < limit;)
      ids.push_back({(--row)->first});
    return ids;
  }

  crm::Directory& directory() override { return *this; }
  crm::GiftRecords& gift_records() override { return *this; }
  crm::Tasks& tasks() override { return tasks_; }

 private:
  void check() const {
    if (down) throw DependencyError(true, "the CRM is down");
  }
  crm::RowResult upsert_one(const crm::GiftUpsert& row) {
    const std::int64_t id = row.record.transaction().value;
    if (const auto refusal = rejected_rows.find(id); refusal != rejected_rows.end()) return refusal->second;
    const auto known = records.find(id);
    if (known == records.end() && row.exists) return {crm::RowResult::Kind::not_found, "deleted"};
    if (known != records.end() && known->second.version >= row.record.version)
      return {crm::RowResult::Kind::unchanged, ""};
    const auto kind = known == records.end() ? crm::RowResult::Kind::created : crm::RowResult::Kind::updated;
    records.insert_or_assign(id, row.record);
    return {kind, ""};
  }

  EmptyTasks tasks_;
};

}  // namespace giftsync::tests
