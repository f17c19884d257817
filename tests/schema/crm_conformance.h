// The ground that every test of a CRM in SQL stands on: the managed CRM and one that somebody else owns, each
// fresh on each back end, and plain SQL beside it, as an admin would use it. What schema/crm.h promises is
// tested on all of them, what only the managed one has on that alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "schema/address.h"
#include "schema/foreign_crm/foreign_crm.h"
#include "schema/sql_crm/sql_crm.h"
#include "tests/schema/crm_under_test.h"
#include "tests/schema/owners_crm.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::schema {

class CrmConformance : public DatabaseGround<CrmUnderTest> {
 protected:
  void SetUp() override {
    DatabaseGround::SetUp();
    if (IsSkipped()) return;
    if (is_managed())
      migrate_managed_crm(address());
    else
      make_owners_crm(address());
  }

  static bool is_managed() { return schema::is_managed(GetParam()); }

  /// The settings' defaults (design 4).
  static MatchFields default_fields() {
    const PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    return {person, person, "US"};
  }
  std::unique_ptr<Crm> crm(const MatchFields& fields = default_fields()) {
    if (is_managed()) return make_sql_crm({address(), "giftsync", fields});
    ForeignCrmOptions options{address(), owners_names(), fields, true, {}};
    options.database.foreign = true;
    options.newest = [this](std::span<const TransactionId> ids) { return newest(ids); };
    return make_foreign_crm(options);
  }
  /// Our own store knows this version of the gift: it does before it is written to a CRM.
  void known_to_store(TransactionId transaction, std::int64_t version) {
    const std::lock_guard lock(mutex_);
    std::int64_t& newest = versions_[transaction.value];
    newest = std::max(newest, version);
  }

  static RecipientKeys recipient(const std::string& email, const std::string& phone = "") {
    return {email_key(email), phone_key(phone, "US")};
  }
  static Candidates find(Crm& crm, PersonObject object, const RecipientKeys& keys) {
    return crm.find_candidates(object, std::span(&keys, 1)).front();
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
  std::vector<std::pair<TransactionId, std::int64_t>> newest(std::span<const TransactionId> ids) {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<TransactionId, std::int64_t>> found;
    for (const TransactionId id : ids) {
      if (const auto known = versions_.find(id.value); known != versions_.end())
        found.emplace_back(id, known->second);
    }
    return found;
  }

  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> versions_;  // guarded by mutex_
};

}  // namespace giftsync::schema
