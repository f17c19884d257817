// Bare mode: gift records in an org without giftsync's package.
#include "crm/salesforce/org/write_mode.h"
#include "tests/salesforce/bare_org_fixture.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftUpsert;
using crm::TaskUpsert;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SalesforceBareTest : public BareOrgTest {};

std::string status_of(const GiftRecord& record) {
  const auto* status = std::get_if<std::string>(&record.get(GiftField::status));
  return status == nullptr ? std::string() : *status;
}

// ORG-9
TEST_F(SalesforceBareTest, RecordsAreCreatedByUpsertAndUpdatedByTheirIds) {
  const auto created = write({sent(1, 1), sent(2, 1)});
  EXPECT_THAT(kinds_of(created), ElementsAre(Kind::created, Kind::created));
  EXPECT_EQ(calls(), 3) << "a look at the org, a query for the records, a write";
  EXPECT_EQ(created[0].crm_id, scalar("SELECT id FROM crm_gift_record WHERE recipienttransactionid = 1"));
  sql("UPDATE crm_gift_record SET name = 'Mine'");
  GiftUpsert next = sent(1, 2, true);
  next.crm_id = created[0].crm_id;
  next.record.set(GiftField::status, std::string("opened"));
  const int before = calls();
  EXPECT_THAT(kinds({next}), ElementsAre(Kind::updated));
  EXPECT_EQ(calls() - before, 1);
  EXPECT_EQ(status_of(record(1)), "opened");
  EXPECT_EQ(record(1).get(GiftField::name), FieldValue(std::string("Mine"))) << "giftsync does not own it";
  EXPECT_EQ(records(), "2");
}

// ORG-9
TEST_F(SalesforceBareTest, ALostAnswerMakesNoSecondRecord) {
  for (const bool is_unique : {false, true}) {
    if (is_unique) make_key_unique();
    for (const char* when : {"before_commit", "after_commit"}) {
      sql("DELETE FROM crm_gift_record");
      facts_.erase(kModeFact);
      crm_ = make_bare("one");                // after a lost answer the former one writes nothing for a while
      const int queries = is_unique ? 1 : 2;  // before the write
      fault({{"kind", "cut"}, {"when", when}, {"path", "/composite"}, {"skip", queries}});
      // The record of a lost call may be of an older version, so one that was found is written again.
      const auto made = testing::AnyOf(Kind::created, Kind::updated);
      EXPECT_THAT(kinds({sent(1, 1), sent(2, 1)}), ElementsAre(made, made)) << when << is_unique;
      EXPECT_EQ(records(), "2") << when << is_unique;
      lease_owner_.clear();
    }
  }
}

TEST_F(SalesforceBareTest, AWriteThatWasKilledIsRecognizedByWhatItWrote) {
  for (const bool is_unique : {false, true}) {
    if (is_unique) make_key_unique();
    sql("DELETE FROM crm_gift_record");
    facts_.erase(kModeFact);
    kinds({sent(1, 1)});
    EXPECT_THAT(kinds({sent(1, 1)}), ElementsAre(Kind::updated)) << is_unique;
    EXPECT_EQ(records(), "1");
  }
}

// ORG-9
TEST_F(SalesforceBareTest, AnUnknownRecordIsNeverChangedUnlessItMayBeAdopted) {
  for (const bool is_unique : {false, true}) {
    if (is_unique) make_key_unique();
    sql("DELETE FROM crm_gift_record");
    sql("INSERT INTO crm_gift_record (recipienttransactionid, name, recipienttransactionstatus, "
        "recipient_email, recipienttransactioncreatedat) VALUES (77, 'Dinner', 'redeemed', "
        "'stella@example.com', '2020-01-01T00:00:00.000Z')");
    facts_.erase(kModeFact);
    GiftUpsert ours = sent(77, 1);
    ours.record.set(GiftField::recipient_email, std::string("rose@example.com"));
    const auto results = write({ours, sent(78, 1)});
    EXPECT_THAT(kinds_of(results), ElementsAre(Kind::rejected, Kind::created)) << is_unique;
    EXPECT_EQ(results[0].reason, crm::id_conflict_result({77}).reason);
    EXPECT_EQ(status_of(record(77)), "redeemed");
    ours.may_adopt = true;
    EXPECT_THAT(kinds({ours}), ElementsAre(Kind::updated));
    EXPECT_EQ(status_of(record(77)), "sent");
  }
}

// ORG-9
TEST_F(SalesforceBareTest, AnOlderVersionIsNeverWrittenOverANewerOne) {
  kinds({sent(1, 1)});
  versions_[1] = 5;
  GiftUpsert newer = sent(1, 5, true);
  newer.record.set(GiftField::status, std::string("opened"));
  EXPECT_THAT(kinds({newer}), ElementsAre(Kind::updated));
  for (const bool exists : {false, true}) {
    const int before = calls();
    EXPECT_THAT(kinds({sent(1, 4, exists)}), ElementsAre(Kind::unchanged));
    EXPECT_EQ(calls(), before + (exists ? 0 : 1)) << "it asks whether the record is there";
  }
  EXPECT_EQ(status_of(record(1)), "opened");
  versions_[2] = 5;
  EXPECT_THAT(kinds({sent(2, 4)}), ElementsAre(Kind::retry)) << "unchanged would count as written";
  EXPECT_EQ(records(), "1");
}

// ORG-9
TEST_F(SalesforceBareTest, OneOfTwoDaemonsWritesAndTheOtherWaitsForItsLease) {
  const auto other = make_bare("other");
  lease_owner_ = "other, killed while it wrote";
  const GiftUpsert row = sent(1, 1);
  EXPECT_THAT(refusal({row}), AllOf(HasSubstr("other, killed while it wrote"), HasSubstr("has the lease"),
                                    HasSubstr("nothing is written here")));
  EXPECT_EQ(records(), "0");
  lease_owner_.clear();  // its time is over
  EXPECT_THAT(kinds({row}), ElementsAre(Kind::created));
  EXPECT_EQ(lease_owner_, "") << "it is released after the batch";
  EXPECT_THAT(kinds_of(other->gift_records().upsert(std::vector{sent(2, 1)})), ElementsAre(Kind::created));
  EXPECT_EQ(records(), "2");
}

TEST_F(SalesforceBareTest, AWriterThatLostItsLeaseWritesNothingMore) {
  kinds({sent(1, 1)});
  GiftUpsert row = sent(1, 2, true);
  row.record.set(GiftField::status, std::string("opened"));
  SalesforceCrmOptions options{.names = ApiNames(names_of_org()), .match_fields = match_fields()};
  options.mode_facts = facts();
  options.bare = BareOptions{
      .lease = {[](std::int64_t) { return LeaseHolder{.is_this = true}; }, [](std::int64_t) { return false; },
                [] {}},
      .newest_versions = [](auto) { return std::vector<std::pair<TransactionId, std::int64_t>>(); }};
  crm_ = make_salesforce_crm(client_, std::move(options));
  EXPECT_THAT(refusal({row}), HasSubstr("another writer took the lease"));
  EXPECT_EQ(status_of(record(1)), "sent");
}

TEST_F(SalesforceBareTest, TheLeaseStaysWhileALostCallMayStillRun) {
  kinds({sent(1, 1)});
  EXPECT_EQ(lease_owner_, "");
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite"}, {"skip", 1}});
  kinds({sent(2, 1)});
  EXPECT_EQ(lease_owner_, "one");
  EXPECT_GE(renewals_, 3) << "before each call that writes";
  EXPECT_THAT(refusal({sent(3, 1)}), HasSubstr("answer of a call was lost")) << "nor does this process write";
}

// ORG-9
TEST_F(SalesforceBareTest, SeveralRecordsOfOneGiftAreRejectedWithWordsForAnAdmin) {
  for (int i = 0; i < 2; ++i)
    sql("INSERT INTO crm_gift_record (recipienttransactionid, name) VALUES (1, 'Twice')");
  for (const bool exists : {false, true}) {
    const auto results = write({sent(1, 1, exists), sent(2, 1)});
    EXPECT_THAT(results[0].reason, AllOf(HasSubstr("2 gift records have the Transaction Id 1"),
                                         HasSubstr("delete all but one"), HasSubstr("unique")));
    EXPECT_EQ(results[0].kind, Kind::rejected);
    EXPECT_NE(results[1].kind, Kind::rejected);
  }
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE name = 'Twice'"), "2");
}

TEST_F(SalesforceBareTest, SeveralRecordsThatAppearBeforeTheWriteAreRejectedByTheOrg) {
  for (int i = 0; i < 2; ++i)
    fault({{"kind", "interleave"},
           {"part", 0},
           {"skip", 2},
           {"method", "POST"},
           {"url", "/services/data/v62.0/sobjects/thx__Gift_Record__c"},
           {"body", {{kKey, 1}, {"Name", "Twice"}}}});
  const auto results = write({sent(1, 1)});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::rejected));
  EXPECT_THAT(results[0].reason, AllOf(HasSubstr("DUPLICATE_EXTERNAL_ID"), HasSubstr("delete all but one")));
  EXPECT_EQ(records(), "2");
}

// ORG-10
TEST_F(SalesforceBareTest, TasksAreOffWithoutAUniqueFieldOfActivity) {
  kinds({sent(1, 1)});
  TaskUpsert task;
  task.transaction = {1};
  task.status = "Not Started";
  task.subject = "Gift";
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(&task, 1))), ElementsAre(Kind::unchanged));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "0");
  EXPECT_THAT(crm_->tasks().page({0}, 10), IsEmpty());
  server_.with_org([](Org& org) {
    tests::fake_org::Field key;
    key.name = key.label = "Gift_Key__c";
    key.column = "gift_key";
    key.kind = tests::fake_org::Kind::number;
    key.precision = 18;
    key.is_unique = key.is_external_id = true;
    org.add_field("crm_task", key);
  });
  OrgNames names = names_of_org();
  names.columns["task.RecipientTransactionId"] = "Gift_Key__c";
  crm_ = make_bare("one", names);
  for (const Kind expected : {Kind::created, Kind::unchanged})
    EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(&task, 1))), ElementsAre(expected));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "1");
}

TEST_F(SalesforceBareTest, TimesAreFilledOnlyWhereARecordIsAsItWasRead) {
  kinds({sent(1, 1), sent(2, 1)});
  sql("UPDATE crm_gift_record SET lastmodifieddate = '2026-01-01T00:00:00.000Z'");
  crm::GiftStatusTimes times[2];
  for (std::size_t i = 0; i < 2; ++i) {
    times[i].transaction = {static_cast<std::int64_t>(i) + 1};
    times[i].times[Status::opened] = UtcMillis{1'795'264'300'000};
  }
  const std::string id = scalar("SELECT id FROM crm_gift_record WHERE recipienttransactionid = 2");
  fault({{"kind", "interleave"},
         {"part", 0},
         {"skip", 1},
         {"method", "PATCH"},
         {"url", "/services/data/v62.0/sobjects/thx__Gift_Record__c/" + id},
         {"body", {{"thx__Opened_Date_Time__c", "2026-02-02T02:02:02.000Z"}}}});
  EXPECT_THAT(gifts().fill_status_times(times), ElementsAre(TransactionId{1}));
  EXPECT_NE(record(2).get(GiftField::opened_time), FieldValue(UtcMillis{1'795'264'300'000}))
      << "an edit between reading and writing is kept";
}

// ORG-14
TEST_F(SalesforceBareTest, ALiveGiftIsWrittenWhileABackfillIsUnderWay) {
  constexpr std::int64_t kGifts = 250;
  std::vector<GiftUpsert> rows;
  std::vector<crm::GiftStatusTimes> times(kGifts);
  for (std::int64_t i = 1; i <= kGifts; ++i) {
    rows.push_back(sent(i, 1));
    times[static_cast<std::size_t>(i - 1)].transaction = {i};
    times[static_cast<std::size_t>(i - 1)].times[Status::opened] = UtcMillis{1'795'264'300'000};
  }
  kinds(rows);
  sql("UPDATE crm_gift_record SET lastmodifieddate = '2026-01-01T00:00:00.000Z'");
  const auto live = make_bare("live");
  int turns = 0;
  int written_before = renewals_;
  on_release_ = [&] {
    const int written = renewals_ - written_before;
    written_before = renewals_;
    if (++turns == 2) return;  // of the live gift below
    EXPECT_LE(written, 4) << "calls that write in one turn";
    if (turns > 1) return;
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE opened_date_time IS NOT NULL"), "100");
    EXPECT_THAT(kinds_of(live->gift_records().upsert(std::vector{sent(900, 1)})), ElementsAre(Kind::created));
  };
  EXPECT_EQ(gifts().fill_status_times(times).size(), static_cast<std::size_t>(kGifts));
  EXPECT_EQ(turns, 4);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE opened_date_time IS NOT NULL"), "250");
}

// ORG-9
TEST_F(SalesforceBareTest, WithoutAnExternalIdNothingIsWritten) {
  change({{"object", "thx__Gift_Record__c"}, {"field", kKey}, {"external_id", false}});
  EXPECT_THAT(refusal({sent(1, 1)}),
              AllOf(HasSubstr("is no external id"), HasSubstr("External ID, better also")));
  EXPECT_EQ(records(), "0");
}

// SYNC-73
TEST_F(SalesforceBareTest, ACampaignThatARestrictedPicklistLacksKeepsBackItsOwnGiftsAlone) {
  const Json campaign{{"object", "thx__Gift_Record__c"}, {"field", "thx__Utm_Campaign_Id__c"}};
  const auto set_words = [&](const std::vector<std::string>& words) {
    Json change_of_words = campaign;
    change_of_words["picklist"] = words;
    change_of_words["restricted"] = true;
    change(change_of_words);
  };
  const auto of_campaign = [](std::int64_t transaction, const std::string& name) {
    GiftUpsert row = sent(transaction, 1);
    row.record.set(GiftField::utm_campaign_id, name);
    return row;
  };
  set_words({"spring"});
  const std::vector<GiftUpsert> rows{of_campaign(1, "spring"), of_campaign(2, "autumn"), sent(3, 1)};
  const auto results = write(rows);
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::created, Kind::rejected, Kind::created));
  EXPECT_THAT(results[1].reason,
              AllOf(HasSubstr("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST"), HasSubstr("autumn"),
                    HasSubstr("add the value to the picklist, then run giftsyncctl crm retry")));
  EXPECT_EQ(results[1].retry_after_millis, 6 * kHourMillis) << "asked again seldom";
  EXPECT_EQ(records(), "2");
  EXPECT_THAT(kinds({rows[1], sent(4, 1)}), ElementsAre(Kind::rejected, Kind::created))
      << "nothing is paused";
  set_words({"spring", "autumn"});
  EXPECT_THAT(kinds({rows[1]}), ElementsAre(Kind::created));
  EXPECT_EQ(record(2).get(GiftField::utm_campaign_id), FieldValue(std::string("autumn")));
}

}  // namespace
}  // namespace giftsync::salesforce
