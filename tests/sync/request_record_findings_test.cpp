// What keeps a request record from being sent, as a table of everything that can.
#include "sync/request/request_record_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "platform/text.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using State = store::RequestRecordState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'795'264'267'000};

RequestRecord good_record() {
  RequestRecord record;
  record.set(F::number, std::string("R-000001"));
  record.set(F::gift_id, std::string("7"));
  record.set(F::recipient_email, std::string("kim@example.com"));
  record.set(F::message, std::string("Hello"));
  record.set(F::sender, std::string("005A"));
  return record;
}

store::GiftItem coffee() {
  store::GiftItem item;
  item.id = {7};
  item.active = true;
  return item;
}

SenderAuthorization good_sender() {
  SenderAuthorization sender;
  sender.account = store::Account();
  return sender;
}

RequestRecordProgress approved_progress() {
  RequestRecordProgress progress;
  progress.current.number = "R-000001";
  progress.current.state = State::approved;
  return progress;
}

std::vector<std::string> checks(const std::vector<RequestRecordFinding>& findings) {
  std::vector<std::string> all;
  for (const RequestRecordFinding& one : findings) all.push_back(one.check);
  return all;
}

// covers: GUARD-1
TEST(RequestRecordFindings, ARecipientWhoGetsNoGiftsIsNamedWithTheCommandAndTriedAgain) {
  const store::GiftItem item = coffee();
  SendingFacts facts{&item, true, good_sender(), {}};
  facts.refusal = "The recipient asked on 2026-11-03 to get no more gifts.";
  const auto findings = sending_findings(good_record(), facts);
  ASSERT_EQ(checks(findings), std::vector<std::string>{"sending_policy"});
  EXPECT_EQ(findings[0].message, *facts.refusal);
  EXPECT_EQ(findings[0].command, "giftsyncctl do-not-send check kim@example.com");
  EXPECT_TRUE(findings[0].is_retried) << "the list may change without an edit of the record";
}

// covers: TEST-4
TEST(RequestRecordFindings, AnAddressForTestsIsNoRecipient) {
  RequestRecord record = good_record();
  record.set(F::recipient_email, std::string("opened@giftsync.test"));
  const store::GiftItem item = coffee();
  const auto findings = sending_findings(record, {&item, true, good_sender(), {}});
  ASSERT_THAT(checks(findings), ElementsAre("recipient"));
  EXPECT_THAT(findings.front().message, HasSubstr("test key"));
}

TEST(RequestRecordFindings, ACompleteRecordHasNone) {
  const store::GiftItem item = coffee();
  EXPECT_THAT(sending_findings(good_record(), {&item, true, good_sender(), {}}), IsEmpty());
  EXPECT_THAT(progress_findings(approved_progress()), IsEmpty());
  EXPECT_EQ(waiting_finding(approved_progress(), kNow), std::nullopt);
}

// REQ-52
TEST(RequestRecordFindings, AllFaultsOfContentAndSenderAreFoundAtOnce) {
  RequestRecord record = good_record();
  record.set(F::recipient_email, std::string());
  record.set(F::recipient_first_name, std::string("a\nb"));
  record.set(F::recipient_last_name, std::string(300, 'x'));
  record.set(F::utm_campaign_id, std::string("autumn\n2026"));
  record.set(F::message, std::string(" "));
  record.set(F::send_type, std::string("SMS"));
  const SenderAuthorization sender{std::nullopt,
                                   {{Precondition::organization_token, "No token.", "token command"},
                                    {Precondition::permission_set, "No set.", "set command"}}};
  const auto findings = sending_findings(record, {nullptr, true, sender, {}});
  EXPECT_THAT(checks(findings),
              ElementsAre("gift", "recipient", "recipient_first_name", "recipient_last_name",
                          "utm_campaign_id", "message", "send_type", "organization_token", "permission_set"));
  EXPECT_EQ(findings.front().command, "giftsyncctl item list");
  EXPECT_FALSE(findings.front().is_retried) << "the record's own faults wait for an edit";
  EXPECT_EQ(findings.back().command, "set command");
  EXPECT_TRUE(findings.back().is_retried);
}

TEST(RequestRecordFindings, WithoutASenderNothingOfTheSenderIsFound) {
  RequestRecord record = good_record();
  record.set(F::sender, {});
  const store::GiftItem item = coffee();
  EXPECT_THAT(checks(sending_findings(record, {&item, true, {}, {}})), ElementsAre("sender"));
}

struct ProgressCase {
  const char* name;
  std::function<void(RequestRecordProgress&)> change;
  std::vector<std::string> checks;
  const char* command;
};

// REQ-52
TEST(RequestRecordFindings, SettingsStatusAndApprovalKeepARecord) {
  const ProgressCase cases[] = {
      {"pending",
       [](auto& p) { p.current.state = State::pending; },
       {"approval"},
       "giftsyncctl request approve R-000001"},
      {"rejected",
       [](auto& p) { p.current.state = State::rejected; },
       {"status"},
       "giftsyncctl request create"},
      {"first seen as sent",
       [](auto& p) {
         p.current.state = State::sent;
         p.current.error = "giftsync sent no gift";
       },
       {"status"},
       "giftsyncctl request create"},
      {"deleted", [](auto& p) { p.current.deleted = true; }, {"deleted"}, "giftsyncctl request create"},
      {"not in use",
       [](auto& p) { p.requests_enabled = false; },
       {"requests_enabled"},
       "systemctl reload giftsyncd"},
      {"not UTF-8", [](auto& p) { p.unreadable = "Message"; }, {"text"}, ""},
      {"both",
       [](auto& p) {
         p.requests_enabled = false;
         p.current.state = State::pending;
       },
       {"requests_enabled", "approval"},
       "systemctl reload giftsyncd"},
      {"sent",
       [](auto& p) {
         p.has_gift = true;
         p.requests_enabled = false;
         p.current.state = State::sent;
       },
       {},
       ""}};
  for (const ProgressCase& one : cases) {
    SCOPED_TRACE(one.name);
    RequestRecordProgress progress = approved_progress();
    one.change(progress);
    const auto findings = progress_findings(progress);
    EXPECT_EQ(checks(findings), one.checks);
    EXPECT_EQ(findings.empty() ? "" : findings.front().command, one.command);
  }
  RequestRecordProgress changed = approved_progress();
  changed.current.state = State::pending;
  changed.current.error = "Changed after approval: approve it again.";
  EXPECT_EQ(progress_findings(changed).front().message, changed.current.error);
}

// REQ-52
TEST(RequestRecordFindings, AFailedRecordWaitsForItsNextAttemptOrAnEdit) {
  RequestRecordProgress progress = approved_progress();
  progress.current.failures = 3;
  const auto for_edit = waiting_finding(progress, kNow);
  ASSERT_TRUE(for_edit);
  EXPECT_THAT(for_edit->message, HasSubstr("waits for an edit"));
  EXPECT_EQ(for_edit->command, "giftsyncctl request retry R-000001");
  progress.next_attempt_at = kNow + 60'000;
  EXPECT_THAT(waiting_finding(progress, kNow)->message, HasSubstr("the next one is at 2026-11-21T12:32:07"));
  progress.next_attempt_at = kNow;
  EXPECT_EQ(waiting_finding(progress, kNow), std::nullopt) << "it is tried now";
}

// REQ-37
TEST(RequestRecordFindings, ErrorLogHasTheFirstAndTheCountOfTheOthersWhereItFits) {
  const RequestRecordFinding finding{"gift", "There is no gift.", ""};
  EXPECT_EQ(error_log_of({finding}, "R-000001"), "There is no gift.");
  EXPECT_EQ(error_log_of({finding, finding, finding}, "R-000001"),
            "There is no gift. 2 more: ask your giftsync administrator to check R-000001.");
  const RequestRecordFinding long_finding{"gift", std::string(kMaxMessageCodePoints, 'x'), ""};
  EXPECT_EQ(error_log_of({long_finding, finding}, "R-000001"), long_finding.message);
}

}  // namespace
}  // namespace giftsync::sync
