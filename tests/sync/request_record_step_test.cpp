// Request records from the CRM: approved by the rules, sent once, and every error reported.
#include "sync/request/request_record_step.h"

#include <algorithm>

#include "sync/crm/sync_step.h"
#include "sync/gift/gift_actions.h"
#include "sync/mail/delivery_rules.h"
#include "sync/request/request_record_state_machine.h"
#include "tests/support/log_lines.h"
#include "tests/support/request_record_fixture.h"

namespace giftsync::sync {
namespace {

using store::RequestRecordState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class RequestRecordStep : public tests::RequestRecordFixture {};

// REQ-9
TEST_P(RequestRecordStep, AutoApprovedRequestIsSent) {
  crm.insert("1", "Hello", true);
  EXPECT_EQ(step().sent, 1u);
  EXPECT_EQ(status("1"), "Sent");
  ASSERT_THAT(gifts_of("1"), SizeIs(1));
  EXPECT_EQ(gifts_of("1").front().email, "1@example.com");
  EXPECT_EQ(gifts_of("1").front().message, "Hello");
  EXPECT_THAT(transitions("1"), ElementsAre(">pending by a CRM user", "pending>approved by Auto-Approved",
                                            "approved>sent by giftsync"));
  run_until_idle();
  EXPECT_FALSE(crm.rows.at("1").claimed);
  EXPECT_EQ(known("1")->next_attempt_at, std::nullopt);
}

// REQ-58
TEST_P(RequestRecordStep, TheGiftHasTheCampaignOfItsRecord) {
  crm.insert("1", "Hello", true);
  crm.edit("1", F::utm_campaign_id, std::string(" autumn "));
  crm.insert("2", "Hello", true);
  run_until_idle();
  ASSERT_EQ(status("1"), "Sent");
  EXPECT_EQ(store().gifts.find_gift_request(sent("1").front().gift_request)->utm_campaign_id, "autumn");
  EXPECT_EQ(store().gifts.find_gift_request(sent("2").front().gift_request)->utm_campaign_id, std::nullopt);
}

// covers: GUARD-30
TEST_P(RequestRecordStep, ARecordThatARuleHoldsWaitsForAPersonAndPassesThen) {
  rules.hold_reasons = [](const store::NewGiftRequest& request) {
    return request.recipients.front().message == "Large"
               ? std::vector<store::HoldReason>{{"rule", "", "The rule \"large\" asks for a person."}}
               : std::vector<store::HoldReason>();
  };
  crm.insert("1", "Large", true);
  crm.insert("2", "Small", true);
  run_until_idle();
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(crm.rows.at("1").checkbox(F::auto_approved), false);
  EXPECT_EQ(error("1"), "Auto-Approved is not applied: The rule \"large\" asks for a person.");
  EXPECT_THAT(sent("1"), IsEmpty());
  now = now + kDayMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  ASSERT_EQ(decide_request_record(store().request_records, crm, "R-1",
                                  {RequestRecordAction::approve, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::done);
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(error("1"), "");
  EXPECT_THAT(sent("1"), SizeIs(1));
}

// covers: GUARD-30
TEST_P(RequestRecordStep, ARecordThatIsEditedAfterItWasHeldIsANewRequest) {
  rules.hold_reasons = [](const store::NewGiftRequest& request) {
    return request.recipients.front().message == "Large"
               ? std::vector<store::HoldReason>{{"rule", "", "The rule \"large\" asks for a person."}}
               : std::vector<store::HoldReason>();
  };
  crm.insert("1", "Large", true);
  run_until_idle();
  ASSERT_EQ(status("1"), "Pending");
  crm.edit("1", F::message, std::string("Small"));
  crm.edit("1", F::error_log, std::string());
  crm.edit("1", F::auto_approved, true);
  now = now + kDayMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

// covers: GUARD-30
TEST_P(RequestRecordStep, AReasonThatIsCutEndsInNoBlank) {
  const std::string reason = std::string(254 - kHeldError.size(), 'x') + " y";
  rules.hold_reasons = [&](const store::NewGiftRequest&) {
    return std::vector<store::HoldReason>{{"rule", "", reason}};
  };
  crm.insert("1", "Large", true);
  run_until_idle();
  EXPECT_EQ(error("1").size(), 254u) << "an org trims, and another text would be written again";
}

// covers: GUARD-30
TEST_P(RequestRecordStep, ARecordBeyondALimitThatHoldsWaitsForAPersonAndCountsThen) {
  const store::UsageLimit limit{"2027-01-15",
                                store::usage_scope(store::BudgetKind::installation),
                                store::BudgetKind::installation,
                                {1, {}},
                                now - kDayMillis,
                                now + kDayMillis,
                                true};
  store().gifts.set_sending_charge([&](const store::GiftRequest&) {
    return store::SendingCharge{"2027-01-15", {limit}};
  });
  crm.insert("1", "Hello", true);
  run_until_idle();
  crm.insert("2", "Hello", true);
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(status("2"), "Pending");
  EXPECT_THAT(error("2"), HasSubstr("Auto-Approved is not applied: The installation's budget of 1 gift"));
  EXPECT_FALSE(crm.rows.at("2").claimed);
  ASSERT_EQ(decide_request_record(store().request_records, crm, "R-2",
                                  {RequestRecordAction::approve, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::done);
  run_until_idle();
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(store().sending_usage.find(std::span(&limit, 1)).front().gifts, 2);
}

// covers: GUARD-30
TEST_P(RequestRecordStep, ARecordBeyondAFrequencyThatHoldsWaitsForAPerson) {
  store().gifts.set_frequency_rule({.gifts = 1, .days = 30, .holds = true});
  for (const char* id : {"1", "2"}) {
    crm.insert(id, "Hello", true).set(F::recipient_email, std::string("ada@example.com"));
    run_until_idle();
  }
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(status("2"), "Pending");
  EXPECT_THAT(error("2"), HasSubstr("Auto-Approved is not applied: ada@example.com got 1 gift"));
  ASSERT_EQ(decide_request_record(store().request_records, crm, "R-2",
                                  {RequestRecordAction::approve, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::done);
  run_until_idle();
  EXPECT_EQ(status("2"), "Sent");
}

TEST_P(RequestRecordStep, RequestWithoutAutoApprovalStaysPending) {
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", std::nullopt);
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(status("2"), "Pending");
  EXPECT_EQ(crm.rows.at("2").checkbox(F::auto_approved), false);
  EXPECT_THAT(sent("1"), IsEmpty());
}

// REQ-10
TEST_P(RequestRecordStep, PackageDefaultAppliesWithoutAutoApprovedValue) {
  rules.auto_approved_default = true;
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", std::nullopt);
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(crm.rows.at("2").checkbox(F::auto_approved), true);
}

TEST_P(RequestRecordStep, ApprovalInCrmIsAppliedWithItsAuthor) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  crm.edit("1", F::status, std::string("Approved"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(transitions("1"), ElementsAre(">pending by a CRM user", "pending>approved by CRM user 005B",
                                            "approved>sent by giftsync"));
}

// REQ-11, REQ-12
TEST_P(RequestRecordStep, FirstSeenAsApprovedRejectedOrSent) {
  crm.insert("1", "Hello", false, "Approved");
  crm.insert("2", "Hello", true, "Rejected");
  crm.insert("3", "Hello", true, "Sent");
  crm.insert("4", "Hello", false, "Nonsense");
  const RequestRecordStepStats report = step();
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
  EXPECT_EQ(status("2"), "Rejected");
  EXPECT_THAT(sent("2"), IsEmpty());
  EXPECT_EQ(status("3"), "Sent");
  EXPECT_THAT(sent("3"), IsEmpty());
  EXPECT_THAT(error("3"), HasSubstr("giftsync sent no gift"));
  EXPECT_THAT(tests::messages_of(report.warnings),
              testing::Contains(HasSubstr("was Sent when it was first seen")));
  EXPECT_EQ(status("4"), "Pending");
  EXPECT_THAT(error("4"), HasSubstr("A pending request can become"));
}

TEST_P(RequestRecordStep, IllegalEditsAreRevertedWithErrorLog) {
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", true);
  crm.insert("3", "Hello", false, "Rejected");
  run_until_idle();
  crm.edit("1", F::status, std::string("Sent"));
  crm.edit("2", F::status, std::string("Rejected"));
  crm.edit("3", F::status, std::string("Approved"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Pending to Sent"));
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_THAT(error("2"), HasSubstr("cannot go from Sent to Rejected"));
  EXPECT_EQ(status("3"), "Rejected");
  EXPECT_THAT(error("3"), HasSubstr("cannot go from Rejected to Approved"));
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_THAT(sent("3"), IsEmpty());
}

// REQ-9
TEST_P(RequestRecordStep, UncheckingAutoApprovedRevertsToPending) {
  const SenderAuthorization good = sender;
  sender = refused("No one may send.");
  crm.insert("1", "Hello", true);
  step();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(error("1"), "No one may send.");
  crm.edit("1", F::auto_approved, false);
  sender = good;
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("unchecked"));
}

/// Prevents every send, so that approved requests wait.
void block_sending(SenderAuthorization& sender) {
  sender.account.reset();
  sender.missing = {{Precondition::account, "wait"}};
}

// REQ-15
TEST_P(RequestRecordStep, ContentChangeAfterApprovalRequiresNewApproval) {
  const SenderAuthorization good = sender;
  block_sending(sender);
  crm.insert("1", "Hello", false, "Approved");
  crm.insert("2", "Hello", true);
  run_until_idle();
  crm.edit("1", F::message, std::string("Other"));
  crm.edit("2", F::message, std::string("Other"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("Changed after approval"));
  EXPECT_EQ(status("2"), "Approved") << "auto-approved ones are evaluated again";
  sender = good;
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(gifts_of("2").front().message, "Other");
}

// CON-54
TEST_P(RequestRecordStep, AnEditIsStoredWithItsOldAndNewValues) {
  const auto edits = [&] { return store().request_records.find_edits("1", 10); };
  const auto parsed = [](const std::string& values) {
    RequestRecord record;
    parse_values(values, approval_bound_fields(), record);
    return record;
  };
  crm.contacts["003A"] = {.id = "003A",
                          .email = "1@example.com",
                          .first_name = "Rose",
                          .last_name = "Gonzalez",
                          .account_id = ""};
  crm.insert("1", "Hello", false).set(F::recipient_contact, std::string("003A"));
  run_until_idle();
  EXPECT_THAT(edits(), IsEmpty());
  now = now + kMinuteMillis;
  crm.edit("1", F::message, std::string("Other"));
  crm.edit("1", F::send_type, std::string("link"));
  run_until_idle();
  ASSERT_THAT(edits(), SizeIs(1)) << "both edits were read at once";
  EXPECT_EQ(edits()[0].at, now);
  EXPECT_EQ(edits()[0].who, "CRM user 005B");
  EXPECT_EQ(parsed(edits()[0].before).text(F::message), "Hello");
  EXPECT_EQ(parsed(edits()[0].after).text(F::message), "Other");
  EXPECT_EQ(parsed(edits()[0].after).text(F::send_type), "link");
  EXPECT_EQ(parsed(edits()[0].before).text(F::gift_id), "") << "it was not edited";
  EXPECT_THAT(transitions("1"), SizeIs(1)) << "it waited before and waits";
  crm.edit("1", F::error_log, std::string("a text"));
  run_until_idle();
  EXPECT_THAT(edits(), SizeIs(1)) << "it is not content";
  crm.contacts["003A"].last_name = "Lima";
  crm.edit("1", F::opportunity, std::string("006A"));
  run_until_idle();
  ASSERT_THAT(edits(), SizeIs(2));
  EXPECT_EQ(edits()[1].who, "") << "the contact was edited, by whom is not known";
  EXPECT_EQ(parsed(edits()[1].after).text(F::recipient_last_name), "Lima");
  ASSERT_THAT(store().request_records.find_edits("1", 1), SizeIs(1));
  EXPECT_EQ(store().request_records.find_edits("1", 1)[0].who, "") << "the newest";
}

// CON-54
TEST_P(RequestRecordStep, EditsAreStoredUntilTheRequestIsSentOrRejected) {
  const SenderAuthorization good = sender;
  const auto edits_of = [&](const std::string& id) {
    return store().request_records.find_edits(id, 10).size();
  };
  block_sending(sender);
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", false);
  run_until_idle();
  // No daemon has read this edit when the decision is made.
  crm.edit("1", F::message, std::string("Other"));
  ASSERT_EQ(decide_request_record(store().request_records, crm, "R-1",
                                  {RequestRecordAction::approve, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::done);
  EXPECT_EQ(edits_of("1"), 1u);
  run_until_idle();
  crm.edit("1", F::message, std::string("Third"));
  run_until_idle();
  EXPECT_EQ(edits_of("1"), 2u);
  EXPECT_EQ(status("1"), "Pending") << "the approval was of other content";
  sender = good;
  ASSERT_EQ(decide_request_record(store().request_records, crm, "R-1",
                                  {RequestRecordAction::approve, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::done);
  ASSERT_EQ(decide_request_record(store().request_records, crm, "R-2",
                                  {RequestRecordAction::reject, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::done);
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  for (const std::string id : {"1", "2"}) {
    EXPECT_EQ(known(id)->seen_content, "");
    const std::size_t before = edits_of(id);
    crm.edit(id, F::message, std::string("Too late"));
    run_until_idle();
    EXPECT_EQ(edits_of(id), before);
  }
}

/// The page of each item, as catalogue.item_url makes it.
std::string item_page_of(GiftId gift) {
  return "https://items.example.com/" + std::to_string(gift.value);
}

// REQ-6
TEST_P(RequestRecordStep, TheItemLinkFollowsTheGiftIdUntilTheClaim) {
  const SenderAuthorization good = sender;
  rules.item_link = item_page_of;
  block_sending(sender);
  crm.insert("pending", "Hello", false);
  crm.insert("approved", "Hello", false, "Approved");
  crm.insert("automatic", "Hello", true);
  const char* ids[] = {"pending", "approved", "automatic"};
  run_until_idle();
  for (const char* id : ids) {
    EXPECT_EQ(crm.text(id, F::item_link), "https://items.example.com/7") << id;
    crm.edit(id, F::gift_id, std::string("8"));
  }
  run_until_idle();
  for (const char* id : ids) EXPECT_EQ(crm.text(id, F::item_link), "https://items.example.com/8") << id;
  EXPECT_EQ(status("approved"), "Pending") << "the Gift Id is what was approved";
  crm.edit("pending", F::gift_id, std::string("tea"));
  run_until_idle();
  EXPECT_EQ(crm.text("pending", F::item_link), "") << "the page of no gift";
  crm.edit("automatic", F::gift_id, std::string("7"));
  run_until_idle();
  sender = good;
  now = now + kHourMillis;
  run_until_idle();
  ASSERT_EQ(status("automatic"), "Sent");
  EXPECT_EQ(crm.text("automatic", F::item_link), "https://items.example.com/7");
  crm.edit("automatic", F::gift_id, std::string("8"));
  run_until_idle();
  EXPECT_EQ(crm.text("automatic", F::item_link), "https://items.example.com/7") << "what was sent";
}

// REQ-27
TEST_P(RequestRecordStep, GiftIdEditedAfterSendingIsReportedOnce) {
  crm.insert("1", "Hello", true);
  run_until_idle();
  ASSERT_EQ(status("1"), "Sent");
  crm.edit("1", F::gift_id, std::string("8"));
  const RequestRecordStepStats report = step();
  ASSERT_THAT(report.warnings, SizeIs(1));
  EXPECT_THAT(report.warnings.front().message,
              HasSubstr("request R-1: Item 7 was sent, and Gift Id was edited since"));
  EXPECT_THAT(report.warnings.front().message, HasSubstr("by CRM user 005B"));
  run_until_idle();
  EXPECT_THAT(error("1"), HasSubstr("no other gift is sent"));
  EXPECT_EQ(crm.text("1", F::gift_id), "8");
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
  crm.edit("1", F::message, std::string("Other"));
  EXPECT_THAT(step().warnings, IsEmpty());
  run_until_idle();
  crm.edit("1", F::status, std::string("Rejected"));
  EXPECT_THAT(step().warnings, SizeIs(1)) << "of the status alone";
  run_until_idle();
  EXPECT_THAT(error("1"), HasSubstr("A sent request stays Sent. Item 7 was sent"));
  crm.edit("1", F::gift_id, std::string("7"));
  EXPECT_THAT(step().warnings, IsEmpty());
  run_until_idle();
  EXPECT_THAT(error("1"), HasSubstr("A sent request stays Sent."));
  EXPECT_THAT(error("1"), Not(HasSubstr("Item 7")));
}

TEST_P(RequestRecordStep, CustomItemLinkIsKept) {
  rules.item_link = item_page_of;
  for (const std::string link : {"https://items.example.com/7?tab=photos", "https://items.example.com/07",
                                 "https://other.example.com/7", "see 7", "7"}) {
    crm.insert("1", "Hello", false).set(F::item_link, link);
    run_until_idle();
    crm.edit("1", F::gift_id, std::string("8"));
    run_until_idle();
    EXPECT_EQ(crm.text("1", F::item_link), link);
    crm.remove("1");
    run_until_idle();
  }
}

TEST_P(RequestRecordStep, ItemLinkChangeKeepsApproval) {
  const SenderAuthorization good = sender;
  rules.item_link = item_page_of;
  block_sending(sender);
  crm.insert("1", "Hello", false, "Approved");
  run_until_idle();
  crm.edit("1", F::item_link, std::string("https://items.example.com/8"));
  run_until_idle();
  EXPECT_EQ(crm.text("1", F::item_link), "https://items.example.com/7") << "the page of another gift";
  EXPECT_EQ(status("1"), "Approved");
  sender = good;
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

// REQ-20
TEST_P(RequestRecordStep, AnonymousEditIsNotAttributedToIntegrationUser) {
  rules.integration_user = crm.integration_user = "005I";
  rules.item_link = [](GiftId) { return std::string("https://items.example.com/7"); };
  crm.insert("1", "Hello", false).set(F::last_modified_by, std::string("005X"));
  crm.insert("2", "Hello", false);
  run_until_idle();
  ASSERT_EQ(crm.text("1", F::last_modified_by), "005I") << "giftsync wrote the item's link";
  crm.edit_anonymously("1", F::status, std::string("Approved"));
  crm.edit_anonymously("2", F::status, std::string("Rejected"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(transitions("1"), ElementsAre(">pending by CRM user 005X", "pending>approved by a CRM user",
                                            "approved>sent by giftsync"));
  EXPECT_THAT(transitions("2"), ElementsAre(">pending by a CRM user", "pending>rejected by a CRM user"));
}

TEST_P(RequestRecordStep, AnonymousUncheckingIsNotAttributedToIntegrationUser) {
  rules.integration_user = crm.integration_user = "005I";
  block_sending(sender);
  crm.insert("1", "Hello", true);
  crm.insert("2", "Hello", true);
  step();
  ASSERT_EQ(crm.text("1", F::last_modified_by), "005I") << "giftsync wrote Approved";
  crm.edit_anonymously("1", F::auto_approved, false);
  crm.edit("2", F::auto_approved, false);
  run_until_idle();
  EXPECT_THAT(transitions("1"), testing::Contains("approved>pending by a CRM user"));
  EXPECT_THAT(transitions("2"), testing::Contains("approved>pending by CRM user 005B"));
}

// REQ-33
TEST_P(RequestRecordStep, NonContentEditKeepsApproval) {
  const SenderAuthorization good = sender;
  block_sending(sender);
  crm.insert("1", "Hello", false, "Approved");
  run_until_idle();
  crm.edit("1", F::account, std::string("001X"));
  sender = good;
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(sent("1").front().link.account_id, "001X");
}

// REQ-14
TEST_P(RequestRecordStep, EveryContentFieldIsBoundByTheApproval) {
  const SenderAuthorization good = sender;
  for (const F field : approval_bound_fields()) {
    block_sending(sender);
    const std::string id = "f" + std::to_string(static_cast<int>(field));
    crm.insert(id, "Hello", false, "Approved");
    run_until_idle();
    const bool checkbox = descriptor_of(field).type == FieldType::checkbox;
    crm.edit(id, field, checkbox ? FieldValue(true) : FieldValue(std::string("8")));
    sender = good;
    now = now + kHourMillis;
    run_until_idle();
    EXPECT_EQ(status(id), "Pending") << descriptor_of(field).label;
    EXPECT_THAT(sent(id), IsEmpty()) << descriptor_of(field).label;
  }
}

struct BadCase {
  RequestRecordField field;
  const char* value;
  const char* expected_text;
};

// REQ-31, REQ-35
TEST_P(RequestRecordStep, RecordErrorsAreReportedAndWaitForAnEdit) {
  const BadCase cases[] = {
      {F::gift_id, "abc", "Gift Id \"abc\" is not a number"},
      {F::gift_id, "", "Gift Id is empty"},
      {F::gift_id, "99", "There is no item \"99\""},
      {F::gift_id, "9999999999999999999999", "is not a number"},
      {F::recipient_email, "unknown", "Recipient Email \"unknown\""},
      {F::recipient_email, "", "no address to send to"},
      {F::message, " ", "Message is empty"},
      {F::send_type, "SMS", "Send Type \"SMS\" is not available"},
      {F::recipient_first_name, "a\nb", "one line"},
      {F::recipient_contact, "003unknown", "is not in the CRM"},
  };
  int number = 0;
  for (const BadCase& one : cases) {
    const std::string id = std::to_string(++number);
    crm.insert(id, "Hello", true).set(one.field, std::string(one.value));
    run_until_idle();
    EXPECT_EQ(status(id), "Approved") << one.expected_text;
    EXPECT_THAT(error(id), HasSubstr(one.expected_text));
    EXPECT_EQ(known(id)->next_attempt_at, std::nullopt) << "waits for an edit";
    EXPECT_THAT(sent(id), IsEmpty());
  }
  crm.edit("1", F::gift_id, std::string("7"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(error("1"), "") << "cleared on success";
}

// REQ-37
TEST_P(RequestRecordStep, ErrorLogHasTheFirstFindingAndTheNumberOfOthers) {
  sender = refused("The account is not active.");
  auto& row = crm.insert("1", " ", true);
  row.set(F::gift_id, std::string("99"));
  run_until_idle();
  EXPECT_THAT(error("1"), testing::StartsWith("There is no item \"99\" in the catalogue"));
  EXPECT_THAT(error("1"), testing::EndsWith(" 2 more: ask your giftsync administrator to check R-1."));
  EXPECT_EQ(known("1")->next_attempt_at, std::nullopt) << "its own faults wait for an edit";
}

// REQ-4
TEST_P(RequestRecordStep, LongMessageAndContactWithLeadAreRejected) {
  crm.insert("1", std::string(200'000, 'x'), true);
  auto& row = crm.insert("2", "Hello", true);
  row.set(F::recipient_contact, std::string("003A"));
  row.set(F::recipient_lead, std::string("00QA"));
  run_until_idle();
  EXPECT_EQ(error("1"), "Message has 200000 characters, at most 10000 are allowed: shorten it.");
  EXPECT_THAT(error("2"), HasSubstr("both set: clear one of them"));
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_THAT(sent("2"), IsEmpty());
}

// REQ-4
TEST_P(RequestRecordStep, TheCreatorSendsWhereNoSenderIsNamed) {
  std::vector<std::string> asked;
  rules.authorize_senders = [&](std::span<const std::string> ids) {
    asked.assign(ids.begin(), ids.end());
    return std::vector<SenderAuthorization>(ids.size(), sender);
  };
  auto& row = crm.insert("1", "Hello", true);
  row.set(F::sender, {});
  row.set(F::created_by, std::string("005C"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(asked, ElementsAre("005C"));
  EXPECT_EQ(sent("1").front().link.sender_id, "005C");
}

// REQ-8
TEST_P(RequestRecordStep, AnEmptyStatusIsPending) {
  crm.insert("1", "Hello", false, "");
  crm.insert("2", "Hello", true, "");
  run_until_idle();
  EXPECT_EQ(known("1")->state, RequestRecordState::pending);
  EXPECT_EQ(error("1"), "");
  EXPECT_EQ(status("2"), "Sent");
}

// REQ-51
TEST_P(RequestRecordStep, ALostAutomaticApprovalIsGivenAgainForTheNewContent) {
  crm.insert("1", "Hello", true, "Approved");
  crm.edit("1", F::message, std::string("Other"));
  crm.edit_anonymously("1", F::status, std::string("Pending"));  // as the table's trigger does it (REQ-16)
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  ASSERT_THAT(gifts_of("1"), SizeIs(1));
  EXPECT_EQ(gifts_of("1").front().message, "Other");
  EXPECT_THAT(transitions("1"), testing::Contains("pending>approved by Auto-Approved"));
}

// GUARD-1
TEST_P(RequestRecordStep, TheRecipientsOfAllRecordsAreLookedUpAtOnce) {
  std::vector<std::vector<std::string>> lookups;
  rules.refuse_recipients = [&](std::span<const std::string> emails) {
    lookups.emplace_back(emails.begin(), emails.end());
    std::vector<std::optional<std::string>> refusals(emails.size());
    refusals[1] = "The recipient asked for no gifts.";
    return refusals;
  };
  for (const char* id : {"1", "2", "3"}) crm.insert(id, "Hello", true);
  step();
  EXPECT_THAT(lookups, ElementsAre(ElementsAre("1@example.com", "2@example.com", "3@example.com")));
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("2"), HasSubstr("The recipient asked for no gifts."));
  EXPECT_THAT(sent("2"), IsEmpty());
  EXPECT_EQ(status("3"), "Sent");
}

// covers: GUARD-19
TEST_P(RequestRecordStep, ARecordWhoseRecipientGotAGiftLatelyIsSentWhenTheGiftLeavesTheDays) {
  store().gifts.set_frequency_rule({.gifts = 1, .days = 1});
  rules.most_sender_retry_after_millis = 10 * kDayMillis;
  crm.insert("1", "Hello", true);
  run_until_idle();
  ASSERT_EQ(status("1"), "Sent");
  const UtcMillis sent_at = now;
  crm.insert("2", "Hello", true);
  crm.edit("2", F::recipient_email, std::string("1@example.com"));
  run_until_idle();
  EXPECT_EQ(status("2"), "Approved");
  EXPECT_THAT(error("2"), HasSubstr("1@example.com got 1 gift in the last 1 day (the newest on "));
  EXPECT_THAT(sent("2"), IsEmpty());
  ASSERT_TRUE(known("2")->next_attempt_at);
  while (now < sent_at + kDayMillis && known("2")->next_attempt_at) {
    EXPECT_EQ(status("2"), "Approved");
    ASSERT_LE(*known("2")->next_attempt_at, sent_at + kDayMillis);
    now = *known("2")->next_attempt_at;
    run_until_idle();
  }
  EXPECT_EQ(now, sent_at + kDayMillis);
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(error("2"), "");
}

// REQ-32
TEST_P(RequestRecordStep, UnauthorizedSenderIsRetriedWithBackoff) {
  const SenderAuthorization good = sender;
  sender = refused("The account is not active.");
  crm.insert("1", "Hello", true);
  run_until_idle();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(error("1"), "The account is not active.");
  sender = good;
  run_until_idle();
  EXPECT_EQ(status("1"), "Approved") << "not before its time";
  now = now + 3'000;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(error("1"), "");
}

// REQ-32
TEST_P(RequestRecordStep, WhereCallsCountARecordOfAFaultySenderRestsForUpToADay) {
  const SenderAuthorization good = sender;
  sender = refused("The account is not active.");
  for (const std::int64_t most : {kDayMillis, kMaxSyncRetryMillis}) {
    rules.most_sender_retry_after_millis = most;
    const std::string id = most == kDayMillis ? "1" : "2";
    crm.insert(id, "Hello", true);
    run_until_idle();
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(known(id)->next_attempt_at);
      now = std::max(now, *known(id)->next_attempt_at);
      step();
    }
    EXPECT_EQ(known(id)->next_attempt_at->value - now.value, most);
    // The second time record 1 rests for longer than records rest now.
    EXPECT_EQ(repair_clock_skew(store(), now, now, most).requests, id == "1" ? 0 : 1);
  }
  sender = good;
  retry_failed_request_records(store().request_records);
  now = store().request_records.now();
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent") << "a change of accounts retries all";
  EXPECT_EQ(status("2"), "Sent");
}

// REQ-53
TEST_P(RequestRecordStep, ARetriedRecordIsSentAtOnce) {
  const SenderAuthorization good = sender;
  sender = refused("The account is not active.");
  crm.insert("1", "Hello", true);
  crm.insert("2", "Hello", true).set(F::gift_id, std::string("99"));
  crm.insert("3", "Hello", false);
  run_until_idle();
  sender = good;
  store::GiftItem tea;
  tea.id = {99};
  tea.name = "Tea";
  store().catalogue.import(std::span(&tea, 1));
  EXPECT_EQ(retry_request_record(store().request_records, "R-9"), RequestRecordRetry::unknown);
  EXPECT_EQ(retry_request_record(store().request_records, "R-3"), RequestRecordRetry::not_failed);
  EXPECT_EQ(retry_request_record(store().request_records, "R-1"), RequestRecordRetry::retried);
  now = store().request_records.now();
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(status("2"), "Approved") << "waits for an edit";
  EXPECT_EQ(retry_failed_request_records(store().request_records), 1);
  now = store().request_records.now();
  run_until_idle();
  EXPECT_EQ(status("2"), "Sent") << "the item was imported meanwhile";
  EXPECT_EQ(status("3"), "Pending");
  EXPECT_EQ(retry_failed_request_records(store().request_records), 0);
}

// REQ-17, REQ-53
TEST_P(RequestRecordStep, ARecordThatRestsAfterARevertedEditIsNotRetriedWithTheOthers) {
  sender = refused("wait");
  crm.insert("1", "Hello", true);
  run_until_idle();
  crm.edit("1", F::status, std::string("Pending"));
  run_until_idle();
  ASSERT_THAT(error("1"), HasSubstr("cannot go from Approved to Pending"));
  EXPECT_EQ(retry_failed_request_records(store().request_records), 0) << "its editor can still reject it";
  EXPECT_EQ(retry_request_record(store().request_records, "R-1"), RequestRecordRetry::retried)
      << "asked for by an admin";
}

// REQ-53
TEST_P(RequestRecordStep, ARetryDuringAStepIsNotOverwritten) {
  sender = refused("wait");
  crm.insert("1", "Hello", true);
  run_until_idle();
  std::vector<store::RequestRecordEntryUpdate> stale{{*known("1"), {}}};
  EXPECT_EQ(retry_failed_request_records(store().request_records), 1);
  EXPECT_THAT(store().request_records.save(stale), IsEmpty());
}

// REQ-52
TEST_P(RequestRecordStep, ACheckHasTheFindingsOfTheSending) {
  const auto checks = [&](const std::string& name, bool enabled = true) {
    std::vector<std::string> found;
    const auto check =
        check_request_record(store().request_records, store().catalogue, crm, rules, enabled, name, now);
    for (const auto& one : check->findings) found.push_back(one.check);
    return found;
  };
  const SenderAuthorization good = sender;
  sender = refused("The account is not active.");
  crm.insert("1", "Hello", false).set(F::gift_id, std::string("99"));
  crm.insert("2", "Hello", true);
  EXPECT_THAT(checks("R-1"), ElementsAre("approval", "gift", "active_account")) << "read by no step yet";
  EXPECT_THAT(checks("R-2", false), ElementsAre("requests_enabled", "active_account"));
  run_until_idle();
  EXPECT_THAT(error("2"), HasSubstr("The account is not active."));
  EXPECT_THAT(checks("2"), ElementsAre("active_account"));
  sender = good;
  EXPECT_THAT(checks("2"), ElementsAre("retry"));
  now = now + kHourMillis;
  EXPECT_THAT(checks("2"), IsEmpty());
  run_until_idle();
  EXPECT_THAT(checks("2"), IsEmpty());
  EXPECT_TRUE(
      check_request_record(store().request_records, store().catalogue, crm, rules, true, "2", now)->is_sent);
  EXPECT_EQ(check_request_record(store().request_records, store().catalogue, crm, rules, true, "R-9", now),
            std::nullopt);
  crm.remove("1");
  EXPECT_THAT(checks("R-1"), ElementsAre("deleted"));
}

// OPS-30
TEST_P(RequestRecordStep, AGiftRequestThatWasMadeIsReportedForTheLog) {
  crm.insert("1", "Hello", true);
  const RequestRecordStepStats stats = step();
  ASSERT_THAT(stats.made, SizeIs(1));
  EXPECT_EQ(stats.made.front().number, "R-1");
  EXPECT_EQ(stats.made.front().request, sent("1").front().gift_request);
  EXPECT_EQ(stats.made.front().gifts.front().id, gifts_of("1").front().id);
  EXPECT_THAT(step().made, IsEmpty());
}

// REQ-4, REQ-5, REQ-28, SYNC-7
TEST_P(RequestRecordStep, GiftHasCostsDescriptionLinksAndSendMode) {
  crm.contacts["003A"] = {"003A", "kim@example.com", "Kim", "Ray", "001K"};
  auto& row = crm.insert("1", "Hello", true);
  row.set(F::recipient_email, {});
  row.set(F::recipient_contact, std::string("003A"));
  row.set(F::account, std::string("001A"));
  row.set(F::opportunity, std::string("006A"));
  row.set(F::gift_item_description, std::string("Our own text"));
  row.set(F::include_shipping, true);
  row.set(F::send_type, std::string("Link"));
  run_until_idle();
  const auto origin = sent("1").front();
  const auto request = store().gifts.find_gift_request(origin.gift_request);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->mode, SendMode::urls);
  EXPECT_EQ(request->item_description, "Our own text");
  EXPECT_EQ(request->costs.total(), Money{740}) << "shipping counts, carbon does not";
  EXPECT_EQ(request->sender_email, "ana@example.com");
  EXPECT_EQ(gifts_of("1").front().email, "kim@example.com");
  EXPECT_EQ(gifts_of("1").front().first_name, "Kim");
  sync_step(store(), crm, {{}, false, "", [](const auto&) { return std::string(); }}, {"me"}, now);
  ASSERT_THAT(crm.gifts.records, SizeIs(1));
  using G = GiftField;
  const auto text = [&](G field) { return std::get<std::string>(crm.gifts.records.front().get(field)); };
  EXPECT_EQ(text(G::recipient_contact), "003A");
  EXPECT_EQ(text(G::account), "001A");
  EXPECT_EQ(text(G::opportunity), "006A");
  EXPECT_EQ(text(G::sender), "005A");
  EXPECT_EQ(text(G::description), "Our own text");
  EXPECT_EQ(std::get<Money>(crm.gifts.records.front().get(G::total_price)).minor_units, 740);
}

// REQ-5, MAIL-20
TEST_P(RequestRecordStep, LinkGiftIsNotMailedAndNamesItsRequest) {
  crm.insert("1", "Hello", true).set(F::send_type, std::string("link"));
  run_until_idle();
  ASSERT_THAT(gifts_of("1"), SizeIs(1));
  const TransactionId id = gifts_of("1").front().id;
  const ActionResult mailed = resend(store(), {id, {}, "root"}, now);
  EXPECT_EQ(mailed.kind, ActionResult::Kind::refused);
  EXPECT_THAT(mailed.reason, HasSubstr("request R-1 asked for its links, which its requester reads from it"));
  ASSERT_EQ(cancel(store().changes, store().lifecycle, id, "root", now).kind, ActionResult::Kind::done);
  EXPECT_THAT(resend(store(), {id, {}, "root"}, now).reason, HasSubstr("it was refunded"));
}

TEST_P(RequestRecordStep, DeletedRequestIsNotSentAndItsIdIsReset) {
  block_sending(sender);
  crm.insert("1", "Hello", false, "Approved");
  run_until_idle();
  crm.remove("1");
  const RequestRecordStepStats report = step();
  EXPECT_THAT(tests::messages_of(report.warnings),
              testing::Contains(HasSubstr("deleted in the CRM before it was sent")));
  sender.account = store::Account();
  crm.insert("1", "Hello", false);
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
}

// REQ-21
TEST_P(RequestRecordStep, ConcurrentEditStopsTheClaim) {
  for (const bool rejects : {true, false}) {
    const std::string id = rejects ? "1" : "2";
    crm.insert(id, "Hello", false, "Approved");
    bool done = false;
    crm.around_each_call = [&] {
      if (done || !known(id) || known(id)->state != store::RequestRecordState::claimed) return;
      done = true;  // claimed in the store, not yet in the CRM
      if (rejects)
        crm.edit(id, F::status, std::string("Rejected"));
      else
        crm.edit(id, F::message, std::string("Other"));
    };
    step();
    crm.around_each_call = [] {};
    ASSERT_TRUE(done);
    run_until_idle();
    EXPECT_EQ(status(id), rejects ? "Rejected" : "Pending");
    EXPECT_THAT(sent(id), IsEmpty());
  }
}

// REQ-23
TEST_P(RequestRecordStep, RejectionAfterClaimIsRevertedToSent) {
  crm.insert("1", "Hello", false, "Approved");
  bool done = false;
  crm.around_each_call = [&] {
    if (done || !crm.rows.at("1").claimed) return;
    done = true;
    crm.edit("1", F::status, std::string("Rejected"));
  };
  step();
  crm.around_each_call = [] {};
  ASSERT_TRUE(done);
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Sent to Rejected"));
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
}

TEST_P(RequestRecordStep, ApproversDecideByNumberIfTransitionIsAllowed) {
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", false);
  run_until_idle();
  const auto decide = [&](const char* number, RequestRecordAction act) {
    return decide_request_record(store().request_records, crm, number, {act, "kim", "as agreed"}, now);
  };
  EXPECT_EQ(decide("R-1", RequestRecordAction::approve).kind, ApprovalResult::Kind::done);
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(decide("R-2", RequestRecordAction::reject).kind, ApprovalResult::Kind::done);
  EXPECT_EQ(decide("R-9", RequestRecordAction::reject).kind, ApprovalResult::Kind::unknown);
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(status("2"), "Rejected");
  const ApprovalResult late = decide("R-1", RequestRecordAction::reject);
  EXPECT_EQ(late.kind, ApprovalResult::Kind::illegal);
  EXPECT_THAT(late.reason, HasSubstr("A sent request stays Sent"));
  const auto transitions = store().request_records.find_transitions("1");
  ASSERT_THAT(transitions, SizeIs(3));
  EXPECT_EQ(transitions[1].who, "kim");
  EXPECT_EQ(transitions[1].comment, "as agreed");
}

// REQ-54
TEST_P(RequestRecordStep, ADecisionAppliesToTheVersionsThatItNames) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  const std::string read = content_version(crm, *crm.find_one("R-1"));
  EXPECT_EQ(read.size(), 32u);
  const auto decide = [&](RequestRecordAction action, std::vector<std::string> versions) {
    return decide_request_record(store().request_records, crm, "R-1",
                                 {action, "kim", "", std::move(versions)}, now)
        .kind;
  };
  crm.edit("1", F::message, std::string("Other"));
  for (const auto action : {RequestRecordAction::approve, RequestRecordAction::reject}) {
    EXPECT_EQ(decide(action, {read}), ApprovalResult::Kind::other_content);
    EXPECT_EQ(decide(action, {""}), ApprovalResult::Kind::other_content);
  }
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  const std::string now_read = content_version(crm, *crm.find_one("R-1"));
  EXPECT_NE(now_read, read);
  EXPECT_EQ(decide(RequestRecordAction::approve, {read, now_read}), ApprovalResult::Kind::done);
  EXPECT_EQ(content_version(crm, *crm.find_one("R-1")), now_read) << "the status is not content";
}

TEST_P(RequestRecordStep, ApprovalBindsToTheContentRead) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  bool done = false;
  crm.around_each_call = [&] {
    if (done || known("1")->state != store::RequestRecordState::approved) return;
    done = true;
    crm.edit("1", F::message, std::string("Other"));
  };
  EXPECT_EQ(decide_request_record(store().request_records, crm, "R-1",
                                  {RequestRecordAction::approve, "kim", ""}, now)
                .kind,
            ApprovalResult::Kind::changed);
  crm.around_each_call = [] {};
  ASSERT_TRUE(done);
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestRecordStep,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::sync
