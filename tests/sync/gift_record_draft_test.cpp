// The record of an external gift (SRC-19): how it differs from giftsync's own gifts.
#include "sync/crm/gift_record_draft.h"

#include <gtest/gtest.h>

#include "platform/text.h"
#include "schema/store/store.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sync {
namespace {

store::Gift gift(SendMode mode) {
  store::Gift made;
  made.request.mode = mode;
  made.request.sender_email = "rose@example.com";
  made.transaction.id = {8'000'000'001};
  made.transaction.phone = "+1 650 867 3450";
  made.transaction.times[Status::sent] = UtcMillis{1'700'000'000'000};
  return made;
}

FieldValue field(const GiftRecordDraft& draft, GiftField wanted) {
  return draft.record.get(wanted);
}

// SYNC-13
TEST(GiftRecordDraftTest, ExternalGiftIsTriggeredBySenderAndOwnGiftByIntegrationUser) {
  store::MatchDecision decision;
  decision.sender_id = "005ROSE";
  const auto external = draft_gift_record(gift(SendMode::external), decision, "", "005DAEMON");
  const auto ours = draft_gift_record(gift(SendMode::email), decision, "", "005DAEMON");
  for (const GiftField who : {GiftField::actual_sender, GiftField::created_by, GiftField::owner}) {
    EXPECT_EQ(field(external, who), FieldValue(std::string("005ROSE")));
    EXPECT_EQ(field(ours, who), FieldValue(std::string("005DAEMON")));
  }
  const auto unknown = draft_gift_record(gift(SendMode::external), store::MatchDecision(), "", "005DAEMON");
  EXPECT_EQ(field(unknown, GiftField::actual_sender), FieldValue(std::string("005DAEMON")));
}

TEST(GiftRecordDraftTest, ExternalGiftHasTheKnownFields) {
  const auto draft = draft_gift_record(gift(SendMode::external), store::MatchDecision(), "", "");
  EXPECT_EQ(field(draft, GiftField::name), FieldValue(std::string("Gift for +1 650 867 3450")));
  EXPECT_EQ(field(draft, GiftField::recipient_phone_number), FieldValue(std::string("+1 650 867 3450")));
  EXPECT_EQ(field(draft, GiftField::item_id), FieldValue());
  EXPECT_EQ(field(draft, GiftField::link), FieldValue());
  EXPECT_EQ(field(draft, GiftField::delivered_by), FieldValue());
}

// SYNC-7
TEST(GiftRecordDraftTest, UnknownCostsAreAbsentNotZero) {
  constexpr GiftField kMoney[] = {GiftField::item_cost, GiftField::shipping_cost,
                                  GiftField::carbon_neutral_cost, GiftField::transaction_fee,
                                  GiftField::total_price};
  store::Gift external = gift(SendMode::external);
  const auto silent = draft_gift_record(external, store::MatchDecision(), "", "");
  for (const GiftField cost : kMoney) EXPECT_EQ(field(silent, cost), FieldValue());
  external.request.costs.item = Money{550};
  external.request.costs.transaction_fee = Money{0};
  const auto draft = draft_gift_record(external, store::MatchDecision(), "", "");
  EXPECT_EQ(field(draft, GiftField::item_cost), FieldValue(Money{550}));
  EXPECT_EQ(field(draft, GiftField::shipping_cost), FieldValue());
  EXPECT_EQ(field(draft, GiftField::transaction_fee), FieldValue(Money{0}));
  EXPECT_EQ(field(draft, GiftField::total_price), FieldValue(Money{550}));
}

// SYNC-14
TEST(GiftRecordDraftTest, TextBeyondItsFieldIsCutWithAWarning) {
  store::Gift long_text = gift(SendMode::email);
  for (int i = 0; i < 131'073; ++i) long_text.transaction.message += "\u00e9";
  long_text.request.item_name = std::string(200, 'x');
  const auto draft = draft_gift_record(long_text, store::MatchDecision(), "", "");
  const auto length = [&](GiftField wanted) {
    return count_code_points(std::get<std::string>(field(draft, wanted)));
  };
  EXPECT_EQ(length(GiftField::message), 131'072u);
  EXPECT_EQ(length(GiftField::name), 80u) << "which is no warning: SYNC-9";
  ASSERT_EQ(draft.warnings.size(), 1u);
  EXPECT_EQ(draft.warnings.front(), "Message was cut to its 131072 characters in the CRM");
}

/// A gift whose texts try to be placeholders.
store::Gift gift_for_task() {
  store::Gift made = gift(SendMode::email);
  made.request.item_name = "Coffee";
  made.request.sender_name = "{link}";
  made.request.utm_campaign_id = "spring-2026";
  made.request.costs.item = Money{550};
  made.transaction.first_name = "Ada";
  made.transaction.email = "ada@example.com";
  made.transaction.status = Status::delivered;
  return made;
}

crm::TaskUpsert task_of(const store::Gift& gift, const TaskRules& rules) {
  store::CrmSyncState state;
  state.task = store::TaskState::wanted;
  const auto draft = draft_gift_record(gift, state.decision, "https://gifts.test/g/x", "005DAEMON");
  return *next_task_write(gift, state, draft.record, rules, true);
}

// SYNC-76
TEST(TaskTemplateTest, PlaceholdersStandForTheGiftsValuesOnce) {
  struct Case {
    const char* form;
    const char* text;
  };
  constexpr Case kCases[] = {{"Gift sent: {name}", "Gift sent: Coffee for Ada"},
                             {"{item} to {recipient}", "Coffee to Ada"},
                             {"by {sender}", "by {link}"},
                             {"{campaign}/{status}/{price}", "spring-2026/delivered/5.50"},
                             {"{link}{link}", "https://gifts.test/g/xhttps://gifts.test/g/x"},
                             {"no placeholder", "no placeholder"}};
  for (const Case& one : kCases) {
    EXPECT_EQ(task_text_fault(one.form), "") << one.form;
    const TaskRules rules{true, "Other", "Not Started", "Completed", one.form, one.form};
    EXPECT_EQ(task_of(gift_for_task(), rules).subject, one.text) << one.form;
    EXPECT_EQ(task_of(gift_for_task(), rules).description, one.text) << one.form;
  }
  store::Gift bare = gift(SendMode::email);
  const TaskRules rules{true, "Other", "Not Started", "Completed", "{item}, {campaign}, {price}, {sender}"};
  EXPECT_EQ(task_of(bare, rules).subject, "Gift, , , rose@example.com") << "unknown values are empty";
}

// SYNC-76
TEST(TaskTemplateTest, WhatIsNoPlaceholderIsAFault) {
  for (const char* form : {"{nme}", "{Name}", "{ name }", "{}", "{name", "name}", "{{name}}", "{name}}", "{"})
    EXPECT_NE(task_text_fault(form), "") << form;
  EXPECT_EQ(task_text_fault("for {recipient} of {company}"), "in which \"{company}\" is no placeholder");
  EXPECT_EQ(task_text_fault(""), "");
}

// SYNC-76
TEST(TaskTemplateTest, TextsAreCutAndTheDueDateIsADayAfterTheSending) {
  store::Gift sent = gift_for_task();  // 2023-11-14T22:13:20Z
  sent.request.sender_name.clear();
  for (int i = 0; i < 300; ++i) sent.request.sender_name += "\u00e9";
  TaskRules rules{true, "Other", "Not Started", "Completed", "{sender}"};
  EXPECT_EQ(count_code_points(task_of(sent, rules).subject), 255u);
  EXPECT_EQ(task_of(sent, rules).description, "");
  EXPECT_EQ(task_of(sent, rules).due_date, "");
  rules.due_days = 1;
  EXPECT_EQ(task_of(sent, rules).due_date, "2023-11-15");
  rules.due_days = 60;
  EXPECT_EQ(task_of(sent, rules).due_date, "2024-01-13");
}

// SYNC-75, SYNC-77
TEST(OwnersTest, FollowTheAssigneeAndTheFallback) {
  using Assignee = TaskAssignee;
  struct Case {
    const char* record_owner;
    const char* sender;
    Assignee assignee;
    const char* fallback;
    const char* record;
    const char* task;
  };
  // The account is of ACC; GONE and OLD are unknown or inactive.
  const OwnerFacts facts{{"GONE", "OLD"}, {{"001A", "ACC"}, {"001O", "OLD"}}};
  const Case cases[] = {{"ANA", "BOB", Assignee::owner, "", "ANA", "ANA"},
                        {"ANA", "BOB", Assignee::owner, "FALL", "ANA", "ANA"},
                        {"GONE", "BOB", Assignee::owner, "", "GONE", "GONE"},
                        {"GONE", "BOB", Assignee::owner, "FALL", "FALL", "FALL"},
                        {"", "", Assignee::owner, "", "", ""},
                        {"", "", Assignee::owner, "FALL", "FALL", "FALL"},
                        {"ANA", "BOB", Assignee::sender, "FALL", "ANA", "BOB"},
                        {"ANA", "OLD", Assignee::sender, "FALL", "ANA", "FALL"},
                        {"ANA", "OLD", Assignee::sender, "", "ANA", "OLD"},
                        {"ANA", "", Assignee::sender, "FALL", "ANA", "ANA"},
                        {"ANA", "BOB", Assignee::account_owner, "FALL", "ANA", "ACC"},
                        {"OLD", "BOB", Assignee::account_owner, "FALL", "FALL", "ACC"}};
  for (const Case& one : cases) {
    store::MatchDecision decision;
    decision.sender_id = one.sender;
    decision.account_id = "001A";
    const Owners owners = owners_of(one.record_owner, decision, one.assignee, one.fallback, facts);
    EXPECT_EQ(owners.record, one.record) << &one - cases;
    EXPECT_EQ(owners.task, one.task) << &one - cases;
  }
  store::MatchDecision other;
  EXPECT_EQ(owners_of("ANA", other, Assignee::account_owner, "FALL", facts).task, "ANA") << "no account";
  other.account_id = "001O";
  EXPECT_EQ(owners_of("ANA", other, Assignee::account_owner, "FALL", facts).task, "FALL");
}

TEST(GiftRecordDraftTest, GiftWithoutSentChangeKeepsItsCreationTime) {
  constexpr UtcMillis kSent{1'700'000'000'000};
  tests::TemporaryDatabase database(sql::Dialect::sqlite);
  store::migrate_store(database.address());
  store::Store store(database.address());
  store.sources.open("vendor", "vendor", kSent);
  store::InboundBatch page;
  page.source = page.gift_source = "vendor";
  page.now = kSent;
  store::InboundItem& item = page.items.emplace_back();
  const TransactionId id{9'000'000'001};
  item.change = store::StatusChange{{}, "vendor", id, Status::delivered, kSent + 500, kSent + 500, {}};
  item.gift.emplace();
  item.gift->id = id;
  item.gift->email = "ada@example.com";
  item.gift->sent_at = kSent;
  store.sources.accept(page);
  const auto sent_time = [&] {
    const auto gifts = store.gifts.find(std::span(&id, 1));
    const store::Gift* const gift = &gifts.front();
    return reported_sent_times(store.changes, std::span(&gift, 1), store.changes.spans_of(std::span(&id, 1)))
        .at(id);
  };
  EXPECT_EQ(sent_time(), kSent);
  item.gift.reset();
  item.change->status = Status::sent;
  store.sources.accept(page);
  EXPECT_EQ(sent_time(), kSent) << "a later report changes nothing";
  item.change->occurred_at = kSent - 500;
  store.sources.accept(page);
  EXPECT_EQ(sent_time(), kSent - 500);
}

}  // namespace
}  // namespace giftsync::sync
