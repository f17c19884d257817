// Parts of a CRM that has no rows; fakes of a CRM derive from them and override what they need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/crm/crm.h"

namespace giftsync::tests {

class EmptyDirectory : public schema::crm::Directory {
 public:
  std::vector<schema::crm::Candidates> find_candidates(
      schema::crm::PersonObject, std::span<const schema::crm::RecipientMatchKeys> recipients) override {
    return std::vector<schema::crm::Candidates>(recipients.size());
  }
  std::vector<std::vector<schema::crm::Opportunity>> find_open_opportunities(
      std::span<const std::string> contacts) override {
    return std::vector<std::vector<schema::crm::Opportunity>>(contacts.size());
  }
  std::vector<schema::crm::ConvertedLead> find_converted_leads(std::span<const std::string>) override {
    return {};
  }
  std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contacts) override {
    return std::vector<std::optional<std::string>>(contacts.size());
  }
  std::vector<std::vector<schema::crm::CrmUser>> find_users_by_email(
      std::span<const std::string> keys) override {
    return std::vector<std::vector<schema::crm::CrmUser>>(keys.size());
  }
  std::vector<std::optional<schema::crm::CrmUser>> find_users_by_id(
      std::span<const std::string> ids) override {
    return std::vector<std::optional<schema::crm::CrmUser>>(ids.size());
  }
  std::optional<std::vector<std::vector<schema::crm::PermissionSetAssignment>>> permission_sets(
      std::span<const std::string>) override {
    return std::nullopt;
  }
};

class EmptyGiftRecords : public schema::crm::GiftRecords {
 public:
  /// Accepts every row.
  std::vector<schema::crm::RowResult> upsert(std::span<const schema::crm::GiftUpsert> rows) override {
    return std::vector<schema::crm::RowResult>(rows.size(), {schema::crm::RowResult::Kind::created, ""});
  }
  std::vector<schema::crm::RowResult> relink(std::span<const schema::crm::GiftRelink>) override { return {}; }
  std::vector<std::vector<schema::GiftField>> missing_lookups(
      std::span<const schema::Associations> links) override {
    return std::vector<std::vector<schema::GiftField>>(links.size());
  }
  std::vector<schema::GiftRecord> find(std::span<const schema::TransactionId>) override { return {}; }
  std::vector<schema::GiftRecord> page(schema::TransactionId, std::size_t) override { return {}; }
  std::vector<schema::GiftRecord> page_in_status(schema::Status, schema::TransactionId,
                                                 std::size_t) override {
    return {};
  }
  std::vector<schema::TransactionId> transaction_ids_between(schema::TransactionId, schema::TransactionId,
                                                             std::size_t) override {
    return {};
  }
  std::vector<schema::TransactionId> transaction_ids_below(schema::TransactionId, std::size_t) override {
    return {};
  }
  std::vector<schema::TransactionId> transaction_ids_by_email(const std::string&) override { return {}; }
  std::vector<schema::TransactionId> transaction_ids_by_contact(const std::string&) override { return {}; }
  std::int64_t count() override { return 0; }
  std::vector<schema::crm::GiftStatusTimes> find_status_times(
      std::span<const schema::TransactionId>) override {
    return {};
  }
  std::vector<schema::TransactionId> fill_status_times(
      std::span<const schema::crm::GiftStatusTimes>) override {
    return {};
  }
};

class EmptyTasks : public schema::crm::Tasks {
 public:
  /// Accepts every row.
  std::vector<schema::crm::RowResult> upsert(std::span<const schema::crm::TaskUpsert> rows) override {
    return std::vector<schema::crm::RowResult>(rows.size(), {schema::crm::RowResult::Kind::created, ""});
  }
  std::vector<schema::crm::Task> page(schema::TransactionId, std::size_t) override { return {}; }
};

}  // namespace giftsync::tests
