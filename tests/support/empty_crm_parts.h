// Parts of a CRM that has no rows; fakes of a CRM derive from them and override what they need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"

namespace giftsync::tests {

class EmptyDirectory : public crm::Directory {
 public:
  std::vector<crm::Candidates> find_candidates(crm::PersonObject,
                                               std::span<const crm::RecipientMatchKeys> recipients) override {
    return std::vector<crm::Candidates>(recipients.size());
  }
  std::vector<std::vector<crm::Opportunity>> find_open_opportunities(
      std::span<const std::string> contacts) override {
    return std::vector<std::vector<crm::Opportunity>>(contacts.size());
  }
  std::vector<crm::ConvertedLead> find_converted_leads(std::span<const std::string>) override { return {}; }
  std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contacts) override {
    return std::vector<std::optional<std::string>>(contacts.size());
  }
  std::vector<std::vector<crm::CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
    return std::vector<std::vector<crm::CrmUser>>(keys.size());
  }
  std::vector<std::optional<crm::CrmUser>> find_users_by_id(std::span<const std::string> ids) override {
    return std::vector<std::optional<crm::CrmUser>>(ids.size());
  }
  std::optional<std::vector<std::vector<crm::PermissionSetAssignment>>> permission_sets(
      std::span<const std::string>) override {
    return std::nullopt;
  }
};

class EmptyGiftRecords : public crm::GiftRecords {
 public:
  /// Accepts every row.
  std::vector<crm::RowResult> upsert(std::span<const crm::GiftUpsert> rows) override {
    return std::vector<crm::RowResult>(rows.size(), {crm::RowResult::Kind::created, ""});
  }
  std::vector<crm::RowResult> relink(std::span<const crm::GiftRelink>) override { return {}; }
  std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) override {
    return std::vector<std::vector<GiftField>>(links.size());
  }
  std::vector<GiftRecord> find(std::span<const TransactionId>) override { return {}; }
  std::vector<GiftRecord> page(TransactionId, std::size_t) override { return {}; }
  std::vector<GiftRecord> page_in_status(Status, TransactionId, std::size_t) override { return {}; }
  std::vector<TransactionId> transaction_ids_between(TransactionId, TransactionId, std::size_t) override {
    return {};
  }
  std::vector<TransactionId> transaction_ids_below(TransactionId, std::size_t) override { return {}; }
  std::vector<TransactionId> transaction_ids_by_email(const std::string&) override { return {}; }
  std::vector<TransactionId> transaction_ids_by_contact(const std::string&) override { return {}; }
  std::int64_t count() override { return 0; }
  std::vector<crm::GiftStatusTimes> find_status_times(std::span<const TransactionId>) override { return {}; }
  std::vector<TransactionId> fill_status_times(std::span<const crm::GiftStatusTimes>) override { return {}; }
};

class EmptyTasks : public crm::Tasks {
 public:
  /// Accepts every row.
  std::vector<crm::RowResult> upsert(std::span<const crm::TaskUpsert> rows) override {
    return std::vector<crm::RowResult>(rows.size(), {crm::RowResult::Kind::created, ""});
  }
  std::vector<crm::Task> page(TransactionId, std::size_t) override { return {}; }
};

}  // namespace giftsync::tests
