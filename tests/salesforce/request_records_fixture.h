// Request records of a fake org: people who make and edit them in the org, and time that passes there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/salesforce/fake_org/saves.h"
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {

class SalesforceRequestsTest : public SalesforceCrmTest {
 protected:
  using F = RequestRecordField;
  using Record = RequestRecord;
  using Update = crm::RequestRecordUpdate;
  using RowResult = crm::RowResult;

  SalesforceRequestsTest() {
    server_.with_org([this](Org& org) { person_ = org.add_user("person@example.com", "Admin"); });
    sql("UPDATE crm_user SET email = username");
  }

  /// By a person; older than the two seconds that a claim waits for.
  std::string add(Json fields = Json::object()) {
    Json record{{"Gift_Id__c", "7"},
                {"Recipient_Email__c", "rose@example.com"},
                {"Message__c", "Hello"},
                {"Request_Status__c", "Approved"}};
    record.update(fields);
    std::string id;
    server_.with_org([&](Org& org) {
      const auto made = tests::fake_org::SaveBlock(org, person_).create(object(org), record);
      EXPECT_TRUE(made.is_success()) << (made.errors.empty() ? "" : made.errors[0].message);
      id = made.id;
      org.advance(3000);
    });
    return id;
  }
  /// By a person; the refusal's words.
  std::string edit(const std::string& id, const Json& fields) {
    std::string refusal;
    server_.with_org([&](Org& org) {
      const auto saved = tests::fake_org::SaveBlock(org, person_).update(object(org), id, fields);
      if (!saved.is_success()) refusal = saved.errors[0].message;
    });
    return refusal;
  }
  void remove(const std::string& id) {
    server_.with_org(
        [&](Org& org) { EXPECT_TRUE(tests::fake_org::SaveBlock(org, person_).remove(id).is_success()); });
  }
  /// In the org and for the adapter.
  void pass(std::int64_t millis) {
    server_.with_org([&](Org& org) { org.advance(millis); });
    crm_offset_ += millis;
  }

  crm::RequestRecords& requests() { return *crm_->request_records(); }
  static Record read(crm::Crm& crm, const std::string& id) {
    const auto found = crm.request_records()->find(std::span(&id, 1));
    EXPECT_EQ(found.size(), 1U) << id;
    return found.empty() ? Record() : found.front();
  }
  Record read(const std::string& id) { return read(*crm_, id); }
  static Update claim_of(const Record& record) {
    Update update{record};
    update.claimed = true;
    return update;
  }
  static RowResult write_one(crm::Crm& crm, const Update& update) {
    return crm.request_records()->update(std::span(&update, 1)).front();
  }
  RowResult write_one(const Update& update) { return write_one(*crm_, update); }
  std::string cell(const std::string& id, const std::string& column) {
    return scalar("SELECT " + column + " FROM crm_request_record WHERE id = '" + id + "'");
  }
  /// The Ids of the records that have events; all are acknowledged.
  std::vector<std::string> taken(crm::Crm& crm) {
    std::vector<std::string> records;
    std::vector<std::int64_t> events;
    for (const auto& event : crm.request_records()->events(100)) {
      records.push_back(event.record_id);
      events.push_back(event.id);
    }
    crm.request_records()->acknowledge(events);
    return records;
  }
  std::vector<std::string> taken() { return taken(*crm_); }

  static const tests::fake_org::Object& object(Org& org) { return *org.schema().find("Request_Record__c"); }

  std::string person_;
};

}  // namespace giftsync::salesforce
