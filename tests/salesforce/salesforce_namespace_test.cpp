// The whole life of gifts in an org whose package has a namespace, and one whose object and fields have names
// of their own (crm.objects, crm.columns).
#include "sync/crm/crm_reconciliation.h"
#include "sync/crm/status_log_backfill.h"
#include "sync/crm/sync_step.h"
#include "tests/salesforce/fake_org/projects.h"
#include "tests/salesforce/salesforce_crm_fixture.h"
#include "tests/support/temporary_store.h"

namespace giftsync::salesforce {
namespace {
using testing::SizeIs;
using Finding = sync::ReconciliationFinding;

constexpr UtcMillis kSentAt{1'700'000'000'000};
constexpr UtcMillis kNow{kSentAt.value + kDayMillis};

/// Names of the package, and those of this org in their place.
constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
    {"Gift_Record__c", "Present__c"},    {"Request_Record__c", "Wish__c"},
    {"Record_Version__c", "Edition__c"}, {"Guard_Mark__c", "Mark__c"},
    {"Message__c", "Words__c"},          {"RecipientTransactionStatus__c", "State__c"},
    {"Opened_Date_Time__c", "Seen__c"}};

/// A package, and what the settings say of it.
struct Package {
  OrgNames names;
  StatusLogNames log;
  std::string table;    ///< of the gift records in the fake org
  std::string columns;  ///< of transaction, status, opened time there, before the names of the package
  std::string log_table;
};

class SalesforceNamespaceTest : public SalesforceCrmTest {
 protected:
  SalesforceNamespaceTest() {
    rules_.match_fields = match_fields();
    rules_.tasks = {true, "Other", "Not Started", "Completed"};
    rules_.link_of = [](const store::RecipientTransaction&) { return "https://gifts.test/g/x"; };
    server_.with_org([this](Org& org) { tests::fake_org::add_status_log(org, user_); });
  }
  void use(const Package& package) {
    SalesforceCrmOptions options{.names = ApiNames(package.names), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.governor = {.share_percent = 100, .keep_free_percent = 0};
    options.request_records = {.facts = facts()};
    options.status_log = package.log;
    crm_ = make_salesforce_crm(client_, std::move(options));
  }
  void deploy(const tests::fake_org::SourceFiles& files) {
    server_.with_org([&](Org& org) { org.deploy(files); });
  }
  tests::fake_org::SourceFiles deployed() {
    tests::fake_org::SourceFiles files;
    server_.with_org([&](Org& org) { files = org.files(); });
    return files;
  }
  void sync() {
    while (sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, kNow).claimed > 0) {
    }
  }
  void report(TransactionId gift, Status status, std::int64_t after_millis) {
    const UtcMillis time = kSentAt + after_millis;
    const store::StatusChange change{{}, "test", gift, status, time, time, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  std::map<std::int64_t, Finding> reconcile(bool recreate = false) {
    std::map<std::int64_t, Finding> found;
    const sync::ReconciliationRules rules{rules_, recreate, false};
    for (const Finding& one : sync::reconcile_gift_records(*store_, *crm_, rules, {0}, kNow).findings)
      found[one.transaction.value] = one;
    return found;
  }
  std::string field_of(std::int64_t gift, GiftField field) {
    const auto found = record(gift).get(field);
    const auto* text = std::get_if<std::string>(&found);
    return text ? *text : "";
  }

  void live(const Package& package) {
    use(package);
    const std::string ada = contact("p0@example.com");
    const std::vector<TransactionId> gifts = store_.create_gifts(2);
    sync();
    EXPECT_EQ(field_of(gifts[0].value, GiftField::recipient_contact), ada);
    report(gifts[0], Status::opened, 60'000);
    report(gifts[1], Status::redeemed, 60'000);
    sync();
    EXPECT_EQ(field_of(gifts[0].value, GiftField::status), "opened");
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "2");
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_task WHERE status = 'Completed'"), "1");

    // An older version never wins.
    crm::GiftUpsert old = upsert(gifts[1].value, 1, true);
    EXPECT_EQ(write({old}).front().kind, Kind::unchanged);
    EXPECT_EQ(field_of(gifts[1].value, GiftField::status), "redeemed");

    // Backfills.
    sql("UPDATE " + package.table + " SET " + package.columns);
    EXPECT_EQ(reconcile().at(gifts[0].value).kind, Finding::Kind::repaired);
    sync();
    EXPECT_EQ(field_of(gifts[0].value, GiftField::status), "opened");
    EXPECT_EQ(reconcile().at(gifts[0].value).kind, Finding::Kind::unchanged);
    sql("UPDATE " + package.table + " SET isdeleted = 1");
    EXPECT_EQ(reconcile(true).at(gifts[0].value).kind, Finding::Kind::recreated);
    sync();
    EXPECT_EQ(gifts_in_org(), 2);

    crm::LegacyStatusLog* log = crm_->legacy_status_log();
    ASSERT_NE(log, nullptr);
    sql("INSERT INTO " + package.log_table + " VALUES (" + std::to_string(gifts[0].value) +
        ", 'delivered', '2023-11-15T00:00:00.000Z')");
    const auto batch = sync::backfill_status_log(store_->backfill, store_->changes, crm_->gift_records(),
                                                 *log, {0}, false, kNow);
    EXPECT_THAT(batch.filled, SizeIs(1));
    sync();
    EXPECT_EQ(record(gifts[0].value).get(GiftField::delivered_time),
              FieldValue(from_rfc3339("2023-11-15T00:00:00Z").value()));

    // Rows have giftsync's names for the fields.
    const auto rows = crm_->rows()->page("gift_record", "", 10);
    ASSERT_THAT(rows, SizeIs(2));
    EXPECT_TRUE(rows[0].has("RecipientTransactionStatus") && rows[0].has("Message") &&
                rows[0].has("Record_Version"));
    EXPECT_TRUE(crm_->rows()->page("task", "", 1).front().has("RecipientTransactionId"));
    EXPECT_TRUE(crm_->rows()->find("gift_record", rows[1].id).has_value());

    // Request records.
    crm::NewRequestRecord request;
    request.creation_key = "key";
    request.record.set(RequestRecordField::recipient_email, std::string("rose@example.com"));
    const auto made = crm_->request_records()->create(std::span(&request, 1));
    ASSERT_THAT(made, SizeIs(1));
    server_.with_org([](Org& org) { org.advance(3000); });
    const std::string id = made.front().id;
    const auto read = crm_->request_records()->find(std::span(&id, 1));
    ASSERT_THAT(read, SizeIs(1));
    crm::RequestRecordUpdate update{read.front()};
    update.error_log = "Not sent.";
    EXPECT_EQ(crm_->request_records()->update(std::span(&update, 1)).front().kind, Kind::updated);
    EXPECT_TRUE(crm_->rows()->find("request_record", id)->has("Error_Log"));
  }
  std::int64_t gifts_in_org() { return static_cast<std::int64_t>(crm_->gift_records().page({0}, 10).size()); }

  tests::TemporaryStore store_;
  sync::SyncRules rules_;
};

// ORG-1
TEST_F(SalesforceNamespaceTest, AManagedPackageHasItsPrefixEverywhere) {
  deploy(tests::fake_org::with_namespace(deployed(), "thx"));
  live({.names = {.name_space = "thx"},
        .log = {"thx__Status_Log__c", "thx__RecipientTransactionId__c", "thx__Status__c", "CreatedDate"},
        .table = "crm_gift_record",
        .columns = "recipienttransactionstatus = 'sent', opened_date_time = NULL",
        .log_table = "crm_status_log (recipienttransactionid, status, createddate)"});
}

TEST_F(SalesforceNamespaceTest, ObjectsAndFieldsMayHaveOtherNames) {
  tests::fake_org::SourceFiles files;
  for (const auto& [given_path, given_text] : deployed()) {
    std::string path = given_path;
    std::string text = given_text;
    for (const auto& [own, other] : kOthers) {
      for (std::string* part : {&path, &text}) {
        for (std::size_t at = 0; (at = part->find(own, at)) != std::string::npos; at += other.size())
          part->replace(at, own.size(), other);
      }
    }
    files[path] = text;
  }
  deploy(files);
  OrgNames names;
  names.objects = {{"gift_record", "Present__c"}, {"request_record", "Wish__c"}};
  names.columns = {{"gift_record.Record_Version", "Edition__c"},
                   {"gift_record.Message", "Words__c"},
                   {"gift_record.RecipientTransactionStatus", "State__c"},
                   {"gift_record.Opened_Date_Time", "Seen__c"},
                   {"request_record.Guard_Mark", "Mark__c"},
                   {"request_record.Message", "Words__c"}};
  live({.names = names,
        .log = {"Status_Log__c", "RecipientTransactionId__c", "Status__c", "CreatedDate"},
        .table = "crm_present",
        .columns = "state = 'sent', seen = NULL",
        .log_table = "crm_status_log (recipienttransactionid, status, createddate)"});
}

}  // namespace
}  // namespace giftsync::salesforce
