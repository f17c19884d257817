// Single rows that the org does not take, that name the wrong record or whose people are hard to find: the
// others are written, and each says what happened.
#include <fmt/format.h>

#include "platform/dependency_error.h"
#include "tests/salesforce/salesforce_sync_fixture.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftUpsert;
using store::CrmSyncStatus;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SalesforceRowsTest : public SalesforceSyncTest {
 protected:
  std::string status_of(TransactionId gift) {
    return scalar("SELECT recipienttransactionstatus FROM crm_gift_record WHERE recipienttransactionid = " +
                  std::to_string(gift.value));
  }
  void end_faults() {
    server_.with_org([](Org& org) { org.faults().clear(); });
  }
  std::vector<std::string> found_by_email(const std::string& email) {
    const crm::RecipientMatchKeys keys{email_key(email), {}};
    const auto found = crm_->directory().find_candidates(crm::PersonObject::contact, std::span(&keys, 1));
    std::vector<std::string> ids;
    for (const auto& person : found.front().by_email) ids.push_back(person.id);
    return ids;
  }
  std::string contact_with(const std::string& email) {
    std::string id;
    server_.with_org([&](Org& org) {
      id = org.database()
               .run("INSERT INTO crm_contact (lastname, name, email) VALUES ('L', 'L', ?) RETURNING id",
                    {email})[0][0]
               .value_or("");
    });
    return id;
  }
};

TEST_F(SalesforceRowsTest, ARowThatIsLockedForAnHourHoldsUpNoOther) {
  add_contacts(10);
  const auto gifts = store_.create_gifts(10);
  work();
  const std::string locked = scalar("SELECT id FROM crm_gift_record WHERE recipienttransactionid = " +
                                    std::to_string(gifts[3].value));
  fault({{"kind", "lock"}, {"ids", {locked}}, {"times", 0}});
  report(gifts, Status::opened, kMinuteMillis);
  const int before = calls();
  work();
  EXPECT_EQ(last_.updated, 9U);
  EXPECT_EQ(last_.failed, 1U);
  work_for(kHourMillis, 10 * kSecondMillis);
  EXPECT_EQ(status_of(gifts[3]), "sent");
  EXPECT_EQ(status_of(gifts[4]), "opened");
  EXPECT_LE(calls() - before, 20) << "its pauses grow";
  end_faults();
  work_for(11 * kMinuteMillis, kMinuteMillis);
  EXPECT_EQ(status_of(gifts[3]), "opened");
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

TEST_F(SalesforceRowsTest, ARuleOfTheOrgThatRefusesEachTenthRowIsTriedRarelyAndSaysWhatToDo) {
  const auto gifts = store_.create_gifts(100);
  std::string formula;
  for (std::size_t i = 9; i < gifts.size(); i += 10)
    formula +=
        (formula.empty() ? "OR(" : ", ") + fmt::format("RecipientTransactionId__c = {}", gifts[i].value);
  fault({{"kind", "rule"},
         {"object", "Gift_Record__c"},
         {"formula", formula + ")"},
         {"message", "Every tenth gift needs a region."},
         {"times", 0}});
  work();
  EXPECT_EQ(last_.created, 90U);
  EXPECT_EQ(last_.tasks, 90U);
  const int before = calls();
  work_for(24 * kHourMillis, kMinuteMillis);
  EXPECT_LE(calls() - before, 8) << "six hours at least lie between two attempts";
  const auto refused = store_->sync.list_states_in(CrmSyncStatus::rejected, {0}, 100);
  ASSERT_THAT(refused, SizeIs(10));
  EXPECT_EQ(refused[0].transaction, gifts[9]);
  EXPECT_THAT(
      refused[0].error,
      AllOf(HasSubstr("FIELD_CUSTOM_VALIDATION_EXCEPTION"), HasSubstr("Every tenth gift needs a region."),
            HasSubstr("change that rule of the org"), HasSubstr("giftsyncctl crm retry")));
  EXPECT_EQ(store_->sync.counts().rejected, 10);
  end_faults();
  store_->sync.reset_rejected_after(clock(), clock());
  work();
  EXPECT_EQ(last_.created, 10U);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "100");
}

TEST_F(SalesforceRowsTest, ALeadThatIsConvertedBetweenMatchAndWriteIsLeftOut) {
  insert("crm_lead", "lastname, company, email, isconverted", "'L', 'Acme', 'p0@example.com', 0");
  const auto gifts = store_.create_gifts(1);
  fault({{"kind", "answer"},
         {"status", 503},
         {"content_type", "text/html"},
         {"body", "<html>maintenance</html>"},
         {"path", "/composite"},
         {"skip", 1},
         {"times", 2}});
  EXPECT_THAT(work(), HasSubstr("maintenance")) << "it is matched, but not written";
  sql("UPDATE crm_lead SET isconverted = 1");
  EXPECT_EQ(work(), "");
  EXPECT_EQ(last_.created, 1U);
  EXPECT_EQ(scalar("SELECT recipientleadid FROM crm_gift_record"), "null");
  EXPECT_TRUE(store_->sync.find_states(gifts)[0].needs_relink);
}

TEST_F(SalesforceRowsTest, TheTaskOfACompletedGiftWhoseRecordWasDeletedIsNotTriedForEver) {
  const auto gifts = store_.create_gifts(1);
  fault({{"kind", "row_error"},
         {"object", "Task"},
         {"status_code", "FIELD_CUSTOM_VALIDATION_EXCEPTION"},
         {"message", "No tasks today."},
         {"times", 0}});
  work();
  report(gifts, Status::redeemed, kMinuteMillis);
  work();
  EXPECT_EQ(store_->sync.counts().waiting, 1);
  sql("UPDATE crm_gift_record SET isdeleted = 1");
  end_faults();
  store_->sync.reset_rejected_after(clock(), clock());
  work();
  EXPECT_EQ(store_->sync.counts().waiting, 0);
  EXPECT_EQ(store_->sync.find_states(gifts)[0].task, store::TaskState::deleted);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "0");
}

/// What a trigger of the org says of other records looks like the end of the task.
TEST_F(SalesforceRowsTest, ATaskThatTheOrgFindsIsNotTakenForADeletedOne) {
  const auto gifts = store_.create_gifts(1);
  work();
  fault({{"kind", "row_error"},
         {"object", "Task"},
         {"status_code", "ENTITY_IS_DELETED"},
         {"message", "entity is deleted"},
         {"times", 3}});
  report(gifts, Status::redeemed, kMinuteMillis);
  work();
  EXPECT_EQ(last_.failed, 1U);
  work_for(kMinuteMillis, 10 * kSecondMillis);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

/// More than a page of answers.
TEST_F(SalesforceRowsTest, OfTwoThousandFiveHundredContactsWithOneAddressTheNewestIsChosen) {
  sql("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2499) INSERT INTO "
      "crm_contact "
      "(lastname, name, email, lastmodifieddate) SELECT 'P', 'P ' || i, 'p0@example.com', "
      "strftime('%Y-%m-%dT%H:%M:%S.000Z', 1600000000 + i * 7919 % 2500, 'unixepoch') FROM n");
  const std::string newest = scalar("SELECT id FROM crm_contact ORDER BY lastmodifieddate DESC, id LIMIT 1");
  store_.create_gifts(2);
  const int before = calls();
  work();
  EXPECT_EQ(last_.created, 2U);
  EXPECT_LE(calls() - before, 6);
  EXPECT_EQ(scalar("SELECT recipientcontactid FROM crm_gift_record WHERE recipient_email = 'p0@example.com'"),
            newest);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE recipientcontactid IS NULL"), "1");
}

/// What would end or change a text of a statement; letters whose capitals depend on the language.
// ORG-21
TEST_F(SalesforceRowsTest, AddressesWithOddCharactersFindTheirContactsOnly) {
  const std::string quote = contact_with("o'hara@example.com");
  const std::string backslash = contact_with("back\\slash@example.com");
  const std::string percent = contact_with("a%b_c@example.com");
  const std::string emoji = contact_with("\U0001F381gift@example.com");
  const std::string turkish = contact_with("f\u0131rat@example.com");
  const std::string latin = contact_with("firat@example.com");
  const std::string brace = contact_with("rose@{name}");
  contact_with("ohara@example.com");
  EXPECT_THAT(found_by_email("o'hara@example.com"), ElementsAre(quote));
  EXPECT_THAT(found_by_email("O'HARA@EXAMPLE.COM"), ElementsAre(quote));
  EXPECT_THAT(found_by_email("back\\slash@example.com"), ElementsAre(backslash));
  EXPECT_THAT(found_by_email("a%b_c@example.com"), ElementsAre(percent));
  EXPECT_THAT(found_by_email("rose@{name}"), ElementsAre(brace)) << "no reference to another part";
  EXPECT_THAT(found_by_email("aXbYc@example.com"), IsEmpty());
  EXPECT_THAT(found_by_email("\U0001F381gift@example.com"), ElementsAre(emoji));
  EXPECT_THAT(found_by_email("f\u0131rat@example.com"), ElementsAre(turkish));
  EXPECT_THAT(found_by_email("FIRAT@example.com"), ElementsAre(latin));
  EXPECT_THAT(found_by_email("' OR Email LIKE '%"), IsEmpty());
}

/// The org that the settings lead to is a copy of the one that was accepted.
TEST_F(SalesforceRowsTest, ASandboxThatWasCopiedOverProductionIsNotWritten) {
  const auto gifts = store_.create_gifts(2);
  work();
  const std::string accepted = organization_;
  report(gifts, Status::opened, kMinuteMillis);
  sql("DELETE FROM org_session");
  pass(kHourMillis);
  organization_ = "00D000000000999EAA";
  const int before = calls();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(work(),
                AllOf(HasSubstr(accepted), HasSubstr("00D000000000999EAA"), HasSubstr("crm accept-org")));
    pass(kMinuteMillis);
  }
  EXPECT_EQ(calls(), before);
  EXPECT_EQ(sign_ins_, 3) << "one each quarter of an hour";
  EXPECT_EQ(status_of(gifts[0]), "sent");
  organization_ = accepted;
  pass(16 * kMinuteMillis);
  work_for(kMinuteMillis, kMinuteMillis / 4);
  EXPECT_EQ(status_of(gifts[0]), "opened");
}

/// An Id in the store that names the record of another gift: restored from a backup, or edited by hand.
// SYNC-69
TEST_F(SalesforceRowsTest, ARecordOfAnotherGiftIsNeverWrittenByItsId) {
  const auto created = write({upsert(1, 1), upsert(2, 1)});
  GiftUpsert row = upsert(1, 2, true);
  row.record.set(GiftField::status, std::string("opened"));
  row.crm_id = created[1].crm_id;
  const auto results = write({row});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::updated));
  EXPECT_EQ(results[0].crm_id, created[0].crm_id) << "its own record is found";
  EXPECT_EQ(record(1).get(GiftField::status), FieldValue(std::string("opened")));
  EXPECT_EQ(record(2).get(GiftField::status), FieldValue(std::string("sent")));
  EXPECT_EQ(record(2).version, 1);
}

// SYNC-69
TEST_F(SalesforceRowsTest, ARecordWhoseTransactionIdWasChangedIsTheGiftsNoMore) {
  GiftUpsert row = upsert(1, 2, true);
  row.crm_id = write({upsert(1, 1)}).front().crm_id;
  for (const char* version : {"record_version", "NULL"}) {
    sql(std::string("UPDATE crm_gift_record SET recipienttransactionid = 5, record_version = ") + version);
    EXPECT_THAT(kinds({row}), ElementsAre(Kind::not_found)) << version;
    EXPECT_EQ(scalar("SELECT recipienttransactionid || recipienttransactionstatus FROM crm_gift_record"),
              "5sent");
  }
}

}  // namespace
}  // namespace giftsync::salesforce
