// The fixture of all tests of CRMs: the managed and an external one, each fresh on each back end, and an org
// of Salesforce, with plain SQL as an admin would use it (ARCH-33). The contract of crm/crm.h is
// tested on all of them, features of the managed one only there. What Salesforce keeps otherwise is in
// salesforce_exceptions.h.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "crm/sql/external/external_crm.h"
#include "crm/sql/managed/managed_crm.h"
#include "schema/contact_normalization.h"
#include "tests/crm/crm_under_test.h"
#include "tests/crm/external_crm_tables.h"
#include "tests/crm/salesforce_exceptions.h"
#include "tests/salesforce/org_under_test.h"
#include "tests/support/temporary_database.h"

namespace giftsync::crm {

class CrmConformance : public tests::DatabaseFixture<CrmUnderTest> {
 protected:
  void SetUp() override {
    if (is_salesforce()) return create_org();
    DatabaseFixture::SetUp();
    if (IsSkipped()) return;
    if (is_managed())
      crm::managed::migrate_managed_crm(address());
    else
      create_external_crm(address());
  }

  void TearDown() override {
    DatabaseFixture::TearDown();
    org_.reset();
  }

  static bool is_managed() { return crm::is_managed(GetParam()); }
  static bool is_bare() { return GetParam() == CrmUnderTest::salesforce_bare; }
  static bool is_salesforce() { return GetParam() == CrmUnderTest::salesforce || is_bare(); }
  /// Its gift records hold the version that was written last.
  static bool keeps_versions() { return is_managed() || (is_salesforce() && !is_bare()); }

  void sql(const std::string& statement) { org_ ? org_->sql(statement) : DatabaseFixture::sql(statement); }
  std::string scalar(const std::string& query) {
    return org_ ? org_->scalar(query) : DatabaseFixture::scalar(query);
  }

  /// The settings' defaults.
  static MatchFields default_fields() {
    const PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    return {person, person, "US"};
  }
  std::unique_ptr<Crm> crm(const MatchFields& fields = default_fields()) {
    if (org_) return org_->crm(fields);
    if (is_managed()) return crm::managed::make_managed_crm({address(), "giftsync", fields});
    crm::external::ExternalCrmOptions options{address(), external_crm_names(), fields, true, {}};
    options.database.is_external_crm = true;
    options.task_fields = {crm::external::kTaskDescription, crm::external::kDueDate};
    options.account_owners = true;
    options.newest_versions = [this](std::span<const TransactionId> ids) { return newest_versions(ids); };
    return crm::external::make_external_crm(options);
  }
  /// Makes the store have this version of the gift, as it has before a version is written to a CRM.
  void set_store_version(TransactionId transaction, std::int64_t version) {
    const std::lock_guard lock(mutex_);
    std::int64_t& newest = versions_[transaction.value];
    newest = std::max(newest, version);
  }

  static RecipientMatchKeys recipient(const std::string& email, const std::string& phone = "") {
    return {email_key(email), phone_key(phone, "US")};
  }
  static Candidates find(Crm& crm, PersonObject object, const RecipientMatchKeys& keys) {
    return crm.directory().find_candidates(object, std::span(&keys, 1)).front();
  }
  static std::vector<std::string> ids(const std::vector<Candidate>& people) {
    std::vector<std::string> all;
    for (const Candidate& person : people) all.push_back(person.id);
    return all;
  }
  static std::vector<std::string> by_email(Crm& crm, PersonObject object, const std::string& email) {
    return ids(find(crm, object, recipient(email)).by_email);
  }
  static std::vector<std::string> by_phone(Crm& crm, PersonObject object, const std::string& phone) {
    return ids(find(crm, object, recipient("", phone)).by_phone);
  }

 private:
  void create_org() {
    if (const char* reason = reason_of_exception(is_bare())) GTEST_SKIP() << reason;
    using Package = tests::OrgUnderTest::Package;
    org_ = std::make_unique<tests::OrgUnderTest>(
        is_bare() ? Package::foreign : Package::own,
        [this](std::span<const TransactionId> ids) { return newest_versions(ids); });
  }

  std::vector<std::pair<TransactionId, std::int64_t>> newest_versions(std::span<const TransactionId> ids) {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<TransactionId, std::int64_t>> found;
    for (const TransactionId id : ids) {
      if (const auto known = versions_.find(id.value); known != versions_.end())
        found.emplace_back(id, known->second);
    }
    return found;
  }

  std::unique_ptr<tests::OrgUnderTest> org_;  ///< of Salesforce
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> versions_;  // guarded by mutex_
};

}  // namespace giftsync::crm
