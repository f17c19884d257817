// Which mails tell admins what has begun and ended (OPS-43 to OPS-45).
#include "sync/alert_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kStart{1'795'264'200'000};  // 2026-11-21 12:30 UTC
constexpr std::int64_t kDigest = 5 * kMinuteMillis;

AttentionItem item(const std::string& condition, const std::string& what = "x",
                   const std::string& object = "") {
  return {{what, "next", object}, condition, Part::mail};
}

std::vector<std::string> names_of(const std::vector<store::Alert>& alerts) {
  std::vector<std::string> names;
  for (const store::Alert& alert : alerts) names.push_back(alert.name);
  return names;
}

/// The stored alerts, one look after the other; a mail leaves whenever one is due.
struct Installation {
  AlertRules rules{kDigest, {}};
  std::vector<store::Alert> stored = {};
  std::optional<UtcMillis> mailed_at = {};

  AlertMail look(const std::vector<AttentionItem>& items, UtcMillis now) {
    stored = applied(stored, observe(stored, items, rules, now));
    AlertMail mail = due_mail(stored, rules, mailed_at, now);
    if (mail.empty()) return mail;
    stored = applied(stored, after_mail(mail, stored, now));
    mailed_at = now;
    return mail;
  }
};

struct Look {
  std::int64_t minute;
  std::vector<std::string> present;
  std::vector<std::string> begun;  ///< expected in the mail
  std::vector<std::string> ended;
};
struct Story {
  std::string about;
  std::vector<Look> looks;
  AlertRules rules{kDigest, {}};
};

// OPS-43, OPS-44
TEST(AlertRules, WhatLastsIsMailedOnceWhenItBeginsAndOnceWhenItEnds) {
  const std::vector<Story> stories{
      {"one that lasts",
       {{0, {"a"}, {}, {}},
        {4, {"a"}, {}, {}},
        {5, {"a"}, {"a"}, {}},
        {60, {"a"}, {}, {}},
        {61, {}, {}, {}},
        {65, {}, {}, {}},
        {66, {}, {}, {"a"}},
        {200, {}, {}, {}}}},
      {"a short one", {{0, {"a"}, {}, {}}, {4, {}, {}, {}}, {30, {}, {}, {}}}},
      {"one that flaps",
       {{0, {"a"}, {}, {}},
        {5, {"a"}, {"a"}, {}},
        {10, {}, {}, {}},
        {14, {"a"}, {}, {}},
        {20, {}, {}, {}},
        {24, {"a"}, {}, {}},
        {30, {}, {}, {}},
        {35, {}, {}, {"a"}}}},
      {"two at a time",
       {{0, {"a", "b"}, {}, {}},
        {5, {"a", "b"}, {"a", "b"}, {}},
        {6, {"b"}, {}, {}},
        {11, {"b"}, {}, {"a"}}}},
      {"one after the other: a mail has all that became due since the last",
       {{0, {"a"}, {}, {}},
        {5, {"a"}, {"a"}, {}},
        {6, {"b", "c"}, {}, {}},
        {10, {"b", "c"}, {}, {}},
        {11, {"b", "c"}, {"b", "c"}, {"a"}}}},
      {"no mail so soon after the last",
       {{0, {"a"}, {}, {}},
        {3, {"a", "b"}, {}, {}},
        {5, {"a", "b"}, {"a"}, {}},
        {8, {"a", "b"}, {}, {}},
        {10, {"a", "b"}, {"b"}, {}}}},
      {"at once", {{0, {"a"}, {"a"}, {}}, {1, {"a"}, {}, {}}, {2, {}, {}, {"a"}}, {3, {}, {}, {}}}, {0, {}}},
      {"12:00 to 13:00 is quiet: it waits, and what came and went then is mailed",
       {{0, {"a", "b", "c"}, {}, {}},
        {1, {"a", "b"}, {}, {}},
        {20, {"a", "b"}, {}, {}},
        {21, {"a"}, {}, {}},
        {29, {"a"}, {}, {}},
        {30, {"a"}, {"a"}, {"b"}}},
       {kDigest, {12 * 60, 13 * 60, "UTC"}}},
      {"the clock was set back: nothing waits for it",
       {{0, {"a"}, {}, {}}, {5, {"a"}, {"a"}, {}}, {-600, {"b"}, {}, {}}, {-590, {"b"}, {"b"}, {"a"}}}},
  };
  for (const Story& story : stories) {
    Installation installation{story.rules};
    for (const Look& look : story.looks) {
      std::vector<AttentionItem> items;
      for (const std::string& name : look.present) items.push_back(item(name));
      const AlertMail mail = installation.look(items, kStart + look.minute * kMinuteMillis);
      EXPECT_EQ(names_of(mail.begun), look.begun) << story.about << ", minute " << look.minute;
      EXPECT_EQ(names_of(mail.ended), look.ended) << story.about << ", minute " << look.minute;
    }
  }
}

TEST(AlertRules, AnObjectIsAnAlertOfItsOwnAndKeepsItsTimes) {
  Installation installation{{0, {}}};
  const std::vector<AttentionItem> items{item("sources.failing", "x", "vendor"),
                                         item("sending.budget_reached", "day", "rose"),
                                         item("sending.budget_reached", "month", "rose")};
  const AlertMail mail = installation.look(items, kStart);
  EXPECT_THAT(names_of(mail.begun), ElementsAre("sending.budget_reached rose", "sources.failing vendor"));
  EXPECT_EQ(mail.begun[0].what, "day\nmonth");
  EXPECT_EQ(mail.begun[0].next_step, "next\nnext");
  const std::vector<AttentionItem> later{item("sources.failing", "y", "vendor"),
                                         item("sources.failing", "z", "shop")};
  const AlertMail next = installation.look(later, kStart + kHourMillis);
  EXPECT_THAT(names_of(next.begun), ElementsAre("sources.failing shop"));
  ASSERT_THAT(names_of(next.ended), ElementsAre("sending.budget_reached rose"));
  EXPECT_EQ(next.ended[0].began_at, kStart);
  EXPECT_EQ(next.ended[0].ended_at, kStart + kHourMillis);
  ASSERT_THAT(names_of(installation.stored), ElementsAre("sources.failing shop", "sources.failing vendor"));
  EXPECT_EQ(installation.stored[1].what, "y");
}

// OPS-45
TEST(AlertRules, AMailThatLeftLateChangesWhatHoldsThen) {
  const AlertRules rules{0, {}};
  const std::vector<AttentionItem> items{item("a"), item("b")};
  std::vector<store::Alert> stored = applied({}, observe({}, items, rules, kStart));
  const AlertMail mail = due_mail(stored, rules, {}, kStart);
  EXPECT_EQ(alert_mail_digest(mail, "x@example.com"), alert_mail_digest(mail, "x@example.com"));
  EXPECT_NE(alert_mail_digest(mail, "x@example.com"), alert_mail_digest(mail, "y@example.com"));
  stored = applied(stored, observe(stored, {}, rules, kStart + 1));  // both ended while the relay hung
  const AlertMail end = due_mail(stored, rules, {}, kStart + 1);
  EXPECT_NE(alert_mail_digest(mail, "x@example.com"), alert_mail_digest(end, "x@example.com"));
  stored = applied(stored, after_mail(mail, stored, kStart + 2));
  EXPECT_THAT(names_of(due_mail(stored, rules, {}, kStart + 2).ended), ElementsAre("a", "b"));
  const std::vector<AttentionItem> again{item("a")};
  stored = applied(stored, observe(stored, again, rules, kStart + 3));
  stored = applied(stored, after_mail(end, stored, kStart + 4));  // said that it had ended
  EXPECT_THAT(names_of(stored), ElementsAre("a"));
  EXPECT_THAT(names_of(due_mail(stored, rules, {}, kStart + 4).begun), ElementsAre("a"));
}

// OPS-44
TEST(AlertRules, QuietTimesAreOfTheTimeZoneAndMayPassMidnight) {
  struct Case {
    QuietTimes quiet;
    std::int64_t minute_of_day;  ///< UTC, 21 November 2026
    bool is_quiet;
  };
  const UtcMillis midnight = kStart - (12 * 60 + 30) * kMinuteMillis;
  const QuietTimes night{22 * 60, 7 * 60, "UTC"};
  const QuietTimes day{9 * 60, 10 * 60, "America/New_York"};  // 14:00 to 15:00 UTC
  const std::vector<Case> cases{{{}, 0, false},
                                {night, 22 * 60 - 1, false},
                                {night, 22 * 60, true},
                                {night, 0, true},
                                {night, 7 * 60 - 1, true},
                                {night, 7 * 60, false},
                                {day, 14 * 60 - 1, false},
                                {day, 14 * 60, true},
                                {day, 15 * 60, false}};
  for (const Case& one : cases)
    EXPECT_EQ(is_quiet(one.quiet, midnight + one.minute_of_day * kMinuteMillis), one.is_quiet)
        << one.quiet.from_minute << " " << one.minute_of_day;
}

// OPS-43, OPS-44: whatever comes and goes, the mails tell the truth, once, and not too often.
TEST(AlertRules, MailsTellTheTruthWhateverComesAndGoes) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    Installation installation{{(seed % 3) * 4 * kMinuteMillis, {}}};
    if (seed % 2 == 1) installation.rules.quiet = {13 * 60, 14 * 60, "UTC"};
    const std::int64_t digest = installation.rules.digest_millis;
    std::map<std::string, UtcMillis> changed;  // when a name came or went last
    std::set<std::string> present;
    std::set<std::string> known;  // what the reader of all mails takes for present
    std::optional<UtcMillis> last;
    UtcMillis now = kStart;
    const auto step = [&] {
      std::vector<AttentionItem> items;
      for (const std::string& name : present) items.push_back(item(name));
      const AlertMail mail = installation.look(items, now);
      if (mail.empty()) return;
      EXPECT_FALSE(is_quiet(installation.rules.quiet, now)) << seed;
      if (last) {
        EXPECT_GE(now, *last + digest) << seed;
      }
      last = now;
      for (const std::string& name : names_of(mail.begun)) {
        EXPECT_TRUE(known.insert(name).second) << seed << ": " << name << " begins twice";
        EXPECT_TRUE(present.contains(name)) << seed;
      }
      for (const store::Alert& alert : mail.ended) {
        known.erase(alert.name);
        EXPECT_FALSE(present.contains(alert.name)) << seed;
        EXPECT_GE(*alert.ended_at, alert.began_at + (alert.begin_mailed_at ? 0 : digest)) << seed;
      }
    };
    for (int i = 0; i < 400; ++i, now = now + 30 * kSecondMillis) {
      for (const std::string name : {"a", "b", "c"}) {
        if (random() % 12 != 0) continue;
        if (!present.insert(name).second) present.erase(name);
      }
      step();
    }
    for (int i = 0; i < 300; ++i, now = now + 30 * kSecondMillis) step();
    EXPECT_EQ(known, present) << seed << ": after the last change";
    EXPECT_EQ(installation.stored.size(), present.size()) << seed << ": nothing else is kept";
  }
}

}  // namespace
}  // namespace giftsync::sync
