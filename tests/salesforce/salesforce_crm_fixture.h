// The adapter against a fake org over HTTP: one org with giftsync's package, its integration user and a
// session for it. Requests are served one after another; a test edits records with plain SQL meanwhile.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crm/salesforce/salesforce_crm.h"
#include "platform/http_client.h"
#include "schema/contact_normalization.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::salesforce {

class SalesforceCrmTest : public testing::Test {
 protected:
  using Json = tests::fake_org::Json;
  using Org = tests::fake_org::Org;
  using Kind = crm::RowResult::Kind;

  SalesforceCrmTest()
      : tokens_([this](UtcMillis) { return sign_in(); }, "settings", "secret", facts(),
                [this] { return UtcMillis{system_now().value + clock_offset_}; }),
        client_(http_, tokens_) {
    server_.with_org([&](Org& org) {
      user_ = org.add_user("integration@example.com", "giftsync_Integration");
      organization_ = org.organization_id();
    });
    crm_ = make_crm();
  }

  static crm::MatchFields match_fields() {
    const crm::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    return {person, person, "US"};
  }
  std::unique_ptr<crm::Crm> make_crm(GovernorOptions governor = {}) {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.governor = governor;
    options.governor.slow_call_millis = kHourMillis;  // counts of calls do not depend on the machine
    options.request_records = {.facts = facts()};
    options.clock = [this] { return UtcMillis{system_now().value + crm_offset_}; };
    return make_salesforce_crm(client_, std::move(options));
  }

  /// A new session of the org for each sign-in.
  SignInOutcome sign_in() {
    const std::string token = "session " + std::to_string(++sign_ins_);
    server_.with_org([&](Org& org) {
      org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES (?, ?, ?)",
                         {token, user_, static_cast<double>(org.now().value + session_millis_)});
    });
    return Session{token, server_.url(), organization_, user_};
  }
  FactStorage facts() {
    return {[this](const std::string& name) {
              const auto found = facts_.find(name);
              return found == facts_.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& name, const std::string& value) { facts_[name] = value; },
            [this](const std::string& name, const std::string& value) {
              return facts_.try_emplace(name, value).first->second;
            }};
  }

  void sql(const std::string& statement) {
    server_.with_org([&](Org& org) { org.database().run_script(statement); });
  }
  /// The first cell; "null" for none.
  std::string scalar(const std::string& statement) {
    std::string text = "null";
    server_.with_org([&](Org& org) {
      const auto rows = org.database().run(statement);
      if (!rows.empty()) text = rows[0][0].value_or("null");
    });
    return text;
  }
  /// The Id of a new record.
  std::string insert(const std::string& table, const std::string& columns, const std::string& values) {
    std::string id;
    server_.with_org([&](Org& org) {
      id = org.database()
               .run("INSERT INTO " + table + " (" + columns + ") VALUES (" + values + ") RETURNING id")[0][0]
               .value_or("");
    });
    return id;
  }
  std::string contact(const std::string& email, const std::string& phone = "") {
    return insert("crm_contact", "lastname, name, email, phone",
                  "'Lima', 'Rose Lima', '" + email + "', '" + phone + "'");
  }
  void fault(const Json& fault) {
    server_.with_org([&](Org& org) { org.faults().add(fault); });
  }
  int calls() {
    int calls = 0;
    server_.with_org([&](Org& org) { calls = org.calls(); });
    return calls;
  }

  static crm::GiftUpsert upsert(std::int64_t transaction, std::int64_t version, bool exists = false) {
    crm::GiftUpsert row;
    row.record.set(GiftField::transaction_id, transaction);
    row.record.set(GiftField::name, "Gift " + std::to_string(transaction));
    row.record.set(GiftField::status, std::string("sent"));
    row.record.version = version;
    row.exists = exists;
    return row;
  }
  std::vector<crm::RowResult> write(const std::vector<crm::GiftUpsert>& rows) {
    return crm_->gift_records().upsert(rows);
  }
  std::vector<Kind> kinds(const std::vector<crm::GiftUpsert>& rows) { return kinds_of(write(rows)); }
  static std::vector<Kind> kinds_of(const std::vector<crm::RowResult>& results) {
    std::vector<Kind> all;
    for (const auto& result : results) {
      all.push_back(result.kind);
      if (result.kind == Kind::retry || result.kind == Kind::rejected)
        testing::Test::RecordProperty("reason", result.reason);
    }
    return all;
  }
  GiftRecord record(std::int64_t transaction) {
    const TransactionId id{transaction};
    const auto found = crm_->gift_records().find(std::span(&id, 1));
    EXPECT_EQ(found.size(), 1U) << transaction;
    return found.empty() ? GiftRecord() : found.front();
  }
  crm::GiftRecords& gifts() { return crm_->gift_records(); }

  tests::fake_org::Server server_{0, ":memory:", tests::fake_org::salesforce_project()};
  std::string user_;
  std::string organization_;
  int sign_ins_ = 0;
  std::int64_t session_millis_ = kDayMillis;
  std::int64_t clock_offset_ = 0;  ///< of the sign-ins
  std::int64_t crm_offset_ = 0;    ///< of the adapter's clock
  std::map<std::string, std::string> facts_;
  HttpClient http_{{.bypass_proxy = true}};
  AccessTokens tokens_;
  ApiClient client_;
  std::unique_ptr<crm::Crm> crm_;
};

}  // namespace giftsync::salesforce
