// To whom giftsync sends: patterns as a table, and the list in a store.
#include "sync/access/sending_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_store.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// covers: GUARD-1
TEST(DoNotSendPattern, ComparesAsAddressesDo) {
  const std::pair<const char*, const char*> patterns[]{{"ana@example.com", "ana@example.com"},
                                                       {"  Ana@EXAMPLE.com ", "ana@example.com"},
                                                       {"ana+x@example.com", "ana+x@example.com"},
                                                       {"ana@b\xc3\xbc"
                                                        "cher.example",
                                                        "ana@xn--bcher-kva.example"},
                                                       {"example.com", "example.com"},
                                                       {"Example.COM.", "example.com"},
                                                       {"B\xc3\xbc"
                                                        "cher.example",
                                                        "xn--bcher-kva.example"},
                                                       {"*.gov", "*.gov"},
                                                       {"*.Example.com", "*.example.com"},
                                                       {"com", "com"}};
  for (const auto& [text, pattern] : patterns) {
    const auto read = do_not_send_pattern(text);
    ASSERT_TRUE(read.has_value()) << text << ": " << read.error();
    EXPECT_EQ(*read, pattern);
    EXPECT_EQ(do_not_send_pattern(*read), read) << "reading it again changes nothing";
  }
}

TEST(DoNotSendPattern, AnythingElseIsRefusedWithTheReason) {
  for (const char* text :
       {"", " ", "@", "*", "**", "a b", "a@", "ana@[192.0.2.1]", "*.", "*.*.com", "a..b", "-a.com", "a*.com",
        "ana@exa mple.com", "\"ana\"@example.com", "http://example.com", "."})
    EXPECT_FALSE(do_not_send_pattern(text).has_value()) << text;
  EXPECT_THAT(do_not_send_pattern("@example.com").error(),
              HasSubstr("write example.com for the whole domain"));
  EXPECT_THAT(do_not_send_pattern("*@example.com").error(),
              HasSubstr("write example.com for the whole domain"));
}

TEST(DoNotSendPattern, OneLabelIsATopLevelPattern) {
  for (const char* pattern : {"com", "*.gov", "localhost"})
    EXPECT_TRUE(is_top_level_pattern(pattern)) << pattern;
  for (const char* pattern : {"example.com", "*.example.com", "a@localhost"})
    EXPECT_FALSE(is_top_level_pattern(pattern)) << pattern;
}

TEST(DoNotSendPattern, AnAddressHasThoseOfItsDomainAndTheParents) {
  EXPECT_THAT(patterns_of("Ana@mail.example.com"),
              ElementsAre("ana@mail.example.com", "mail.example.com", "*.example.com", "example.com", "*.com",
                          "com"));
  EXPECT_THAT(patterns_of("a@gov"), ElementsAre("a@gov", "gov"));
}

class SendingPolicyTest : public testing::Test {
 protected:
  using Reason = DoNotSendReason;
  void list(const std::string& pattern, Reason reason = Reason::blocked,
            std::optional<UtcMillis> until = {}) {
    const store::DoNotSendEntry entry{pattern, reason, "", {}, {}, "root", until};
    store_->do_not_send.add(std::span(&entry, 1), {});
  }
  bool is_refused(const std::string& email) {
    return policy_.check(std::span(&email, 1)).front().has_value();
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'800'000'000'000};
  SendingPolicy policy_{store_->do_not_send, {}, [this] { return now_; }};
};

// covers: GUARD-1
TEST_F(SendingPolicyTest, AddressesDomainsAndSubdomainsAreRefused) {
  list("ana@example.com");
  list("competitor.example");
  list("*.gov");
  struct Row {
    const char* email;
    bool is_refused;
  };
  for (const Row& row :
       {Row{"ana@example.com", true}, Row{"ANA@Example.com", true}, Row{"bea@example.com", false},
        Row{"ana+1@example.com", false}, Row{"x@competitor.example", true},
        Row{"x@sales.competitor.example", true}, Row{"x@notcompetitor.example", false}, Row{"x@gov", false},
        Row{"x@state.gov", true}, Row{"x@a.b.gov", true}, Row{"x@gov.example", false}})
    EXPECT_EQ(is_refused(row.email), row.is_refused) << row.email;
}

// covers: GUARD-2
TEST_F(SendingPolicyTest, ANewEntryCountsWithinASecondAndARemovedOneNoMore) {
  EXPECT_FALSE(is_refused("ana@example.com"));
  list("ana@example.com");
  now_ = now_ + 500;
  EXPECT_TRUE(is_refused("ana@example.com"));
  store_->do_not_send.remove("ana@example.com", Reason::blocked, {});
  EXPECT_FALSE(is_refused("ana@example.com")) << "a hit is looked up in the store";
  list("ana@example.com");
  EXPECT_TRUE(is_refused("ana@example.com"));
}

TEST_F(SendingPolicyTest, AClockThatIsSetBackDoesNotFreezeTheList) {
  EXPECT_FALSE(is_refused("ana@example.com"));
  list("ana@example.com");
  now_ = now_ + -kHourMillis;
  EXPECT_TRUE(is_refused("ana@example.com"));
}

TEST_F(SendingPolicyTest, AnEntryEnds) {
  list("ana@example.com", Reason::bounced, now_ + kDayMillis);
  EXPECT_TRUE(is_refused("ana@example.com"));
  now_ = now_ + kDayMillis;
  EXPECT_FALSE(is_refused("ana@example.com"));
}

TEST_F(SendingPolicyTest, TheStrongestReasonIsNamedAtTheRecipientsPlace) {
  list("ana@example.com", Reason::bounced);
  list("example.com", Reason::blocked);
  list("bea@example.org", Reason::opted_out);
  const std::vector<std::string> emails{"kim@example.net", "ana@example.com", "bea@example.org"};
  const auto findings = policy_.check(emails);
  EXPECT_FALSE(findings[0].has_value());
  EXPECT_EQ(findings[1]->code, "do_not_send");
  EXPECT_THAT(findings[1]->message, HasSubstr("No gifts are sent to example.com: an admin listed it on 20"));
  EXPECT_THAT(findings[2]->message,
              AllOf(HasSubstr("The recipient asked on 20"), HasSubstr(" to get no more gifts.")));
}

// covers: GUARD-3
TEST_F(SendingPolicyTest, AnAcceptedMailIsStoppedByAllReasonsButABounce) {
  list("b@example.com", Reason::bounced);
  EXPECT_FALSE(policy_.check_mail("b@example.com").has_value());
  for (const Reason reason : {Reason::complained, Reason::opted_out, Reason::blocked}) {
    list("b@example.com", reason);
    now_ = now_ + kMinuteMillis;
    EXPECT_TRUE(policy_.check_mail("b@example.com").has_value()) << to_word(reason);
  }
}

// covers: GUARD-6
TEST_F(SendingPolicyTest, OnlyAllowedDomainsGetGifts) {
  SendingPolicy narrow(store_->do_not_send, {"example.com", "*.test.example"}, [this] { return now_; });
  const std::vector<std::string> emails{"a@example.com", "a@mail.example.com", "a@test.example",
                                        "a@x.test.example", "a@example.org"};
  const auto findings = narrow.check(emails);
  EXPECT_FALSE(findings[0].has_value());
  EXPECT_FALSE(findings[1].has_value());
  ASSERT_TRUE(findings[2].has_value());
  EXPECT_EQ(findings[2]->code, "recipient_not_allowed");
  EXPECT_FALSE(findings[3].has_value());
  EXPECT_TRUE(findings[4].has_value());
  EXPECT_EQ(
      refused_recipients(store_->do_not_send, std::vector<std::string>{"example.com"}, emails, now_)[4]->code,
      "recipient_not_allowed");
}

}  // namespace
}  // namespace giftsync::sync
