// An external CRM with tables as a replication creates them, on each back end.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <span>
#include <string>
#include <vector>

#include "crm/sql/external/external_crm.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/sql/database.h"
#include "tests/support/temporary_database.h"

namespace giftsync::crm::external {
inline constexpr std::string_view kReplicatedTables = R"sql(
CREATE TABLE contact (id INTEGER PRIMARY KEY, sfid VARCHAR(18) UNIQUE, email VARCHAR(80), work_email__c VARCHAR(80),
  phone VARCHAR(40), mobile VARCHAR(40), name VARCHAR(121), accountid VARCHAR(18), lastmodifieddate @time@);;
CREATE TABLE lead (id INTEGER PRIMARY KEY, sfid VARCHAR(18), email VARCHAR(80), phone VARCHAR(40),
  mobilephone VARCHAR(40), name VARCHAR(121), isconverted BOOLEAN, convertedcontactid VARCHAR(18),
  lastmodifieddate @time@);;
CREATE TABLE account (id INTEGER PRIMARY KEY, sfid VARCHAR(18), name VARCHAR(255));;
CREATE TABLE opportunity (id INTEGER PRIMARY KEY, sfid VARCHAR(18), name VARCHAR(120), accountid VARCHAR(18),
  stagename VARCHAR(255), isclosed BOOLEAN, closedate DATE);;
CREATE TABLE opportunitycontactrole (id INTEGER PRIMARY KEY, sfid VARCHAR(18), contactid VARCHAR(18),
  opportunityid VARCHAR(18));;
CREATE TABLE "user" (id INTEGER PRIMARY KEY, sfid VARCHAR(18), name VARCHAR(121), email VARCHAR(128),
  isactive BOOLEAN);;
CREATE TABLE task (id @serial@, sfid VARCHAR(18), whatid VARCHAR(18), whoid VARCHAR(18), type VARCHAR(255),
  status VARCHAR(255), subject VARCHAR(255), ownerid VARCHAR(18), ns__recipienttransactionid__c DOUBLE PRECISION
  UNIQUE);;
)sql";

inline std::string replicated_gift_table() {
  std::string text = "CREATE TABLE ns__gift_record__c (id @serial@, sfid VARCHAR(18)";
  for (const FieldDescriptor& field : kGiftFields) {
    if (field.owner == FieldOwner::crm || field.standard) continue;
    std::string type = "TEXT";
    if (field.type == FieldType::currency || field.type == FieldType::number) type = "DOUBLE PRECISION";
    if (field.type == FieldType::date_time) type = "@time@";
    std::string name = api_name(field, "ns");
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    text += ", " + name + " " + type;
  }
  return text +
         ", name VARCHAR(80));;\nCREATE UNIQUE INDEX gift_transaction ON ns__gift_record__c "
         "(ns__recipienttransactionid__c);;\n";
}

class ReplicatedCrmFixture : public tests::DatabaseFixture<> {
 protected:
  void SetUp() override {
    DatabaseFixture::SetUp();
    if (IsSkipped()) return;
    std::string ddl = std::string(kReplicatedTables) + replicated_gift_table();
    const bool sqlite = GetParam() == sql::Dialect::sqlite;
    const auto put = [&](std::string_view from, std::string_view to) {
      for (std::size_t at = 0; (at = ddl.find(from, at)) != std::string::npos; at += to.size())
        ddl.replace(at, from.size(), to);
    };
    put("@time@", sqlite ? "TIMESTAMP" : "timestamp without time zone");
    put("@serial@", sqlite ? "INTEGER PRIMARY KEY" : "SERIAL PRIMARY KEY");
    plain_sql_->write([&](soci::session& session) { sql::run_script(session, ddl); });
  }

  ExternalCrmOptions options() const {
    ExternalCrmOptions options;
    options.database = database_->address();
    options.names.name_space = "ns";
    options.names.id_column = "sfid";
    options.names.columns = {{"contact.MobilePhone", "mobile"}};
    const PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    options.match_fields = {person, person, "US"};
    options.tasks = true;
    return options;
  }
  static Candidates find(Crm& crm, PersonObject object, const std::string& email,
                         const std::string& phone = "") {
    const RecipientMatchKeys keys{email_key(email), phone_key(phone, "US")};
    return crm.directory().find_candidates(object, std::span(&keys, 1)).front();
  }
  static std::vector<std::string> ids(const std::vector<Candidate>& people) {
    std::vector<std::string> all;
    for (const Candidate& person : people) all.push_back(person.id);
    return all;
  }
  static GiftUpsert gift(std::int64_t transaction, std::int64_t version, bool exists = false) {
    GiftUpsert row;
    row.record.set(GiftField::transaction_id, transaction);
    row.record.set(GiftField::status, std::string("sent"));
    row.record.version = version;
    row.exists = exists;
    return row;
  }
  static RowResult put(Crm& crm, const GiftUpsert& row) {
    return crm.gift_records().upsert(std::span(&row, 1)).front();
  }
};

}  // namespace giftsync::crm::external
