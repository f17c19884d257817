// What an attempt means for its event and its endpoint (HOOK-4 to HOOK-8), which addresses may be reached
// (HOOK-11), and the signature (HOOK-2).
#include "sync/webhook_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "platform/digest.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'795'264'200'000};  // 2026-11-21 12:30 UTC
constexpr auto kAccepted = WebhookOutcome::accepted;
constexpr auto kFailed = WebhookOutcome::failed;

// HOOK-4
TEST(WebhookRules, OnlyTwoHundredsAreASuccessAndGoneEndsAll) {
  for (const int status : {200, 201, 202, 204, 299}) EXPECT_EQ(outcome_of({status}), kAccepted) << status;
  for (const int status : {0, 199, 300, 301, 302, 307, 400, 401, 404, 409, 411, 429, 500, 503})
    EXPECT_EQ(outcome_of({status}), kFailed) << status;
  EXPECT_EQ(outcome_of({410}), WebhookOutcome::gone);
}

// HOOK-4
TEST(WebhookRules, RetryAfterIsSecondsOrADate) {
  EXPECT_EQ(retry_after("120", kNow), 120'000);
  EXPECT_EQ(retry_after("0", kNow), 0);
  EXPECT_EQ(retry_after("Sat, 21 Nov 2026 12:31:00 GMT", kNow), 60'000);
  EXPECT_EQ(retry_after("Sat, 21 Nov 2026 12:29:00 GMT", kNow), 0);
  for (const char* bad : {"", "soon", "-5", "1.5", "99999999999"})
    EXPECT_EQ(retry_after(bad, kNow), std::nullopt) << bad;
}

// HOOK-6
TEST(WebhookRules, AnEventIsTriedNineTimesMoreInThreeDays) {
  std::int64_t whole = 0;
  std::int64_t attempts = 1;
  for (; const auto wait = retry_wait(attempts, {500}, 500); ++attempts) whole += *wait;
  EXPECT_EQ(attempts, 10);
  EXPECT_EQ(whole, 5 * kSecondMillis + 35 * kMinuteMillis + 75 * kHourMillis);
  EXPECT_EQ(retry_wait(1, {500}, 0), 4'000);
  EXPECT_EQ(retry_wait(1, {500}, 1'000), 6'000);
  EXPECT_EQ(retry_wait(2, {500}, 500), 5 * kMinuteMillis);
  EXPECT_EQ(retry_wait(9, {500}, 500), kDayMillis);
  EXPECT_EQ(retry_wait(10, {500}, 500), std::nullopt);
  EXPECT_EQ(retry_wait(10, {503, 1000}, 500), std::nullopt);
}

// HOOK-4
TEST(WebhookRules, RetryAfterProlongsAWaitAndShortensNone) {
  EXPECT_EQ(retry_wait(1, {429, 60'000}, 500), 60'000);
  EXPECT_EQ(retry_wait(2, {429, 1'000}, 500), 5 * kMinuteMillis);
  EXPECT_EQ(retry_wait(1, {429, 9 * kDayMillis}, 500), kDayMillis);
  EXPECT_EQ(failing_wait(5, {429, kHourMillis}), kHourMillis);
  EXPECT_EQ(failing_wait(5, {429, 9 * kDayMillis}), kDayMillis);
}

// HOOK-7
TEST(WebhookRules, TestsOfAFailingEndpointDoubleToTenMinutes) {
  std::vector<std::int64_t> seconds;
  for (std::int64_t failures = 5; failures < 15; ++failures)
    seconds.push_back(failing_wait(failures, {0}) / kSecondMillis);
  EXPECT_THAT(seconds, ElementsAre(5, 10, 20, 40, 80, 160, 320, 600, 600, 600));
  EXPECT_EQ(failing_wait(1'000'000'000, {0}), 10 * kMinuteMillis);
}

/// Tries the events in their order for as long as the batch lets it; `failing`: those that fail.
WebhookBatch tried(const WebhookStanding& before, const std::vector<std::int64_t>& events,
                   const std::set<std::int64_t>& failing, std::int64_t scanned) {
  WebhookBatch batch(before, 10, scanned, events);
  for (const std::int64_t seq : events)
    if (batch.may_begin()) batch.add(seq, failing.contains(seq) ? kFailed : kAccepted);
  return batch;
}

// HOOK-5
TEST(WebhookBatch, ThePositionPassesWhatWasTriedAndWhatIsNotForTheEndpoint) {
  const WebhookBatch batch = tried({}, {12, 15, 16}, {}, 40);
  EXPECT_EQ(batch.position(), 40);
  EXPECT_THAT(batch.failed(), IsEmpty());
  EXPECT_EQ(batch.standing(kNow).state, WebhookState::active);
  EXPECT_EQ(tried({}, {}, {}, 40).position(), 40);
}

// HOOK-5
TEST(WebhookBatch, ThePositionEndsBeforeTheFirstEventThatWasNotTried) {
  WebhookBatch batch({}, 10, 40, {12, 15, 16, 20});
  batch.add(12, kAccepted);
  batch.add(16, kFailed);  // another connection was faster
  batch.add(20, kAccepted);
  EXPECT_EQ(batch.position(), 14);
  EXPECT_THAT(batch.failed(),
              IsEmpty());  // 16 is behind the position, so it is tried as a first attempt again
}

// HOOK-6
TEST(WebhookBatch, AnEventThatFailsWhileOthersSucceedIsTriedByItself) {
  const WebhookBatch batch = tried({}, {11, 12, 13, 14}, {12, 14}, 14);
  EXPECT_EQ(batch.position(), 14);
  EXPECT_THAT(batch.failed(), ElementsAre(12, 14));
  EXPECT_EQ(batch.standing(kNow).failures, 1);
  EXPECT_EQ(batch.standing(kNow).state, WebhookState::active);
}

// HOOK-7
TEST(WebhookBatch, FiveFailuresInARowStopTheBatchBeforeThem) {
  const WebhookBatch batch = tried({}, {11, 12, 13, 14, 15, 16, 17, 18}, {11, 13, 14, 15, 16, 17, 18}, 18);
  EXPECT_EQ(batch.failures(), kFailuresOfEndpoint);
  EXPECT_FALSE(batch.may_begin());
  EXPECT_EQ(batch.position(), 12);
  EXPECT_THAT(batch.failed(), ElementsAre(11));  // the endpoint took 12, so 11 failed by itself
  EXPECT_EQ(batch.standing(kNow).state, WebhookState::failing);
  EXPECT_EQ(batch.standing(kNow).state_since, kNow);
}

// HOOK-7
TEST(WebhookBatch, AttemptsUnderWayCountNoFurther) {
  WebhookBatch batch({}, 10, 20, {11, 12, 13, 14, 15, 16, 17, 18});
  for (std::int64_t seq = 11; seq <= 18; ++seq) batch.add(seq, kFailed);
  EXPECT_EQ(batch.failures(), kFailuresOfEndpoint);
  EXPECT_EQ(batch.position(), 10);
  EXPECT_THAT(batch.failed(), IsEmpty());
}

// HOOK-7
TEST(WebhookBatch, AnOutageMakesFourEventsAtMostThatAreTriedByThemselves) {
  std::size_t alone = 0;
  WebhookStanding standing;
  std::int64_t position = 0;
  for (std::int64_t seq = 1; seq <= 100; ++seq) {  // one event a batch
    WebhookBatch batch(standing, position, seq, {position + 1});
    if (batch.may_begin()) batch.add(position + 1, kFailed);
    alone += batch.failed().size();
    position = batch.position();
    standing = batch.standing(kNow);
  }
  EXPECT_EQ(alone, 4U);
  EXPECT_EQ(position, 4);
  EXPECT_EQ(standing.state, WebhookState::failing);
}

// HOOK-7
TEST(WebhookBatch, AFailingEndpointIsTestedByOneEventAndEndsWithTheFirstSuccess) {
  const WebhookStanding failing{WebhookState::failing, kNow - kHourMillis, 9};
  const WebhookBatch bad = tried(failing, {11, 12}, {11}, 12);
  EXPECT_EQ(bad.position(), 10);
  EXPECT_THAT(bad.failed(), IsEmpty());
  EXPECT_EQ(bad.standing(kNow).failures, 10);
  EXPECT_EQ(bad.standing(kNow).state_since, failing.state_since);
  const WebhookBatch good = tried(failing, {11, 12}, {}, 12);
  EXPECT_EQ(good.position(), 12);
  EXPECT_EQ(good.standing(kNow).state, WebhookState::active);
  EXPECT_EQ(good.standing(kNow).failures, 0);
}

// HOOK-7
TEST(WebhookBatch, ARetrySaysNothingAgainstTheEndpointAndItsSuccessEverything) {
  WebhookBatch batch({WebhookState::active, {}, 4}, 10, 12, {11, 12});
  for (int i = 0; i < 9; ++i) batch.add_retry(kFailed);
  EXPECT_EQ(batch.failures(), 4);
  batch.add_retry(kAccepted);
  EXPECT_EQ(batch.failures(), 0);
  EXPECT_TRUE(batch.may_begin());
}

// HOOK-7
TEST(WebhookBatch, ARetryTestsAFailingEndpointThatNoEventWaitsFor) {
  const WebhookStanding failing{WebhookState::failing, kNow - 3 * kDayMillis, 9};
  WebhookBatch batch(failing, 10, 10, {});
  EXPECT_TRUE(batch.may_begin());
  batch.add_retry(kFailed);
  EXPECT_FALSE(batch.may_begin());
  EXPECT_EQ(batch.failures(), 10);
  EXPECT_EQ(batch.standing(kNow).state, WebhookState::disabled);
}

// HOOK-8
TEST(WebhookBatch, ThreeDaysWithoutASuccessDisable) {
  const auto after = [](std::int64_t millis, const std::set<std::int64_t>& failing) {
    return tried({WebhookState::failing, kNow - millis, 400}, {11}, failing, 11).standing(kNow).state;
  };
  EXPECT_EQ(after(3 * kDayMillis - 1, {11}), WebhookState::failing);
  EXPECT_EQ(after(3 * kDayMillis, {11}), WebhookState::disabled);
  EXPECT_EQ(after(3 * kDayMillis, {}), WebhookState::active);
  EXPECT_EQ(after(-kDayMillis, {11}), WebhookState::failing);  // the clock was set back
  const WebhookBatch untested({WebhookState::failing, kNow - 9 * kDayMillis, 400}, 10, 10, {});
  EXPECT_EQ(untested.standing(kNow).state, WebhookState::failing);
}

// HOOK-4
TEST(WebhookBatch, GoneDisablesAtOnceAndLosesNothing) {
  WebhookBatch batch({}, 10, 14, {11, 12, 13});
  batch.add(11, kAccepted);
  batch.add(12, WebhookOutcome::gone);
  EXPECT_FALSE(batch.may_begin());
  EXPECT_EQ(batch.position(), 11);
  EXPECT_THAT(batch.failed(), IsEmpty());
  EXPECT_EQ(batch.standing(kNow).state, WebhookState::disabled);
  EXPECT_FALSE(WebhookBatch({WebhookState::disabled, {}, 0}, 10, 14, {11}).may_begin());
}

// HOOK-5
TEST(WebhookBatch, OneGiftHasOneConnection) {
  std::set<std::size_t> used;
  for (std::int64_t gift = 1; gift <= 100; ++gift) {
    const std::size_t connection = connection_of(gift, 4);
    EXPECT_LT(connection, 4U);
    EXPECT_EQ(connection, connection_of(gift, 4));
    used.insert(connection);
  }
  EXPECT_EQ(used.size(), 4U);
}

struct Reach {
  const char* address;
  bool is_plain;
  const char* refusal;  ///< a part of it; empty: it may be reached
};

// HOOK-11
TEST(WebhookAddresses, OnlyPublicOrAllowedOnesAreReached) {
  const std::vector<IpNetwork> allowed = {parse_ip_network("10.1.0.0/16").value(),
                                          parse_ip_network("fd12::/16").value()};
  constexpr Reach kTable[] = {
      {"8.8.8.8", false, ""},
      {"8.8.8.8", true, "use https"},
      {"10.1.2.3", false, ""},
      {"10.1.2.3", true, ""},
      {"10.2.2.3", false, "10.2.2.3 is a private address"},
      {"::ffff:10.1.2.3", true, ""},
      {"64:ff9b::a01:203", false, ""},
      {"64:ff9b::a02:203", false, "private"},
      {"2002:7f00:1::", false, "loopback"},
      {"127.0.0.1", false, "loopback"},
      {"0.0.0.0", false, "an unspecified address"},
      {"169.254.169.254", false, "link-local"},
      {"fd12::1", true, ""},
      {"fd13::1", false, "private"},
      {"2606:4700::1111", false, ""},
  };
  for (const auto& [address, is_plain, refusal] : kTable) {
    const auto found = address_refusal(parse_ip_address(address).value(), allowed, is_plain);
    EXPECT_EQ(found.has_value(), *refusal != 0) << address;
    if (found) {
      EXPECT_THAT(*found, HasSubstr(refusal)) << address;
    }
  }
}

// HOOK-11
TEST(WebhookAddresses, AUrlHasNeitherUserNorFragment) {
  for (const std::string good : {"https://example.com/hook", "https://example.com:8443/a?b=c",
                                 "http://10.1.2.3/hook", "https://[2606:4700::1111]/"})
    EXPECT_EQ(webhook_url_error(good), std::nullopt) << good;
  for (const std::string bad :
       {"", "example.com/hook", "ftp://example.com/", "file:///etc/passwd", "https://", "https://a b/",
        "https://ana@example.com/", "https://ana:pw@example.com/", "https://example.com/#a",
        "https://example.com/\n", "https://ex\xC3\xA4mple.com/"})
    EXPECT_TRUE(webhook_url_error(bad).has_value()) << bad;
  const std::string longest = "https://example.com/" + std::string(kMaxWebhookUrlBytes - 20, 'a');
  EXPECT_EQ(webhook_url_error(longest), std::nullopt);
  EXPECT_TRUE(webhook_url_error(longest + "a").has_value());
}

// HOOK-11: what a parser makes of a host must be what a reader sees.
TEST(WebhookAddresses, AHostIsWrittenAsItIsRead) {
  for (const std::string good :
       {"https://EXAMPLE.com/", "https://example.com./", "https://example.com?a@b", "https://a_b.example.com",
        "https://xn--bcher-kva.example/", "https://8.8.8.8:443/", "https://[2606:4700::ABCD]:8443/",
        "https://example.com/a:80@b", "https://example.com//10.0.0.1/"})
    EXPECT_EQ(webhook_url_error(good), std::nullopt) << good;
  struct Spelling {
    const char* url;
    const char* error;
  };
  constexpr Spelling kTable[] = {
      // IPv4 with fewer parts, as one number, in base 8 and 16
      {"https://8.2056/", "begin it with https://8.0.8.8"},
      {"https://134744072/", "begin it with https://8.8.8.8"},
      {"https://010.010.010.010/", "begin it with https://8.8.8.8"},
      {"https://0x8.0x8.8.8/", "begin it with https://8.8.8.8"},
      {"https://0x7F000001:8443/", "begin it with https://127.0.0.1"},
      // IPv6 of another spelling, and with a zone
      {"https://[2606:4700:0:0:0:0:0:1]/", "begin it with https://[2606:4700::1]"},
      {"https://[fe80::1%25eth0]/", "begin it with https://[fe80::1]"},
      {"https://[::%31]/", "begin it with https://[::]"},
      // other numbers of slashes
      {"https:/example.com/", "begin it with https://example.com"},
      {"https:///example.com/", "begin it with https://example.com"},
      // escapes, of a character, of an address, of "%", of a control character and of another script
      {"https://ex%61mple.com/", "begin it with https://example.com"},
      {"https://%31%32%37.0.0.1/", "begin it with https://127.0.0.1"},
      {"https://%30x7f.1/", "begin it with https://"},
      {"https://a%2525b/", "other characters"},
      {"https://a%zzb/", "other characters"},
      {"https://a%7Fb/", "other characters"},
      {"https://%E2%98%83.example/", "other characters"},
      {"https://%C2%ADa.example/", "other characters"},
      // characters that other parsers take for the end of a host
      {"https://example.com\\@10.0.0.1/", ""},
      {"https://example.com;10.0.0.1/", ""},
      {"https://a|b/", "other characters"},
      {"https://a\"b/", ""},
      // several "@", "#" and ":"
      {"https://example.com@10.0.0.1/", "a user"},
      {"https://a:b@c@10.0.0.1/", ""},
      {"https://example.com#@10.0.0.1/", "a fragment"},
      {"https://example.com:80:443/", ""},
      {"https://example.com:99999/", ""},
      {"https://example.com:4 43/", ""},
      // no address
      {"https://[::1/", ""},
      {"https://::1/", ""},
      {"https://[1.2.3.4]/", ""},
      {"https://[::g]/", ""},
      {"https://:443/", ""},
      {"https://?a", ""},
      // other schemes, and none
      {"//example.com/", ""},
      {"https:example.com", ""},
      {"javascript:alert(1)", ""},
      {"data:text/html,a", ""},
      {"gopher://example.com/", ""},
      {" https://example.com/", ""},
      {"ht\ttps://example.com/", ""},
  };
  for (const auto& [url, error] : kTable) {
    const auto found = webhook_url_error(url);
    ASSERT_TRUE(found.has_value()) << url;
    EXPECT_THAT(*found, HasSubstr(error)) << url;
  }
}

// HOOK-2: the published example of the Standard Webhooks libraries.
TEST(WebhookSignature, IsThatOfStandardWebhooks) {
  const std::vector<std::string> secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  EXPECT_EQ(
      webhook_signatures(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1'614'265'330, R"({"test": 2432232314})"),
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

// HOOK-2, HOOK-10
TEST(WebhookSignature, HasOneForEachSecretInTheirOrder) {
  const std::string one = new_webhook_secret();
  const std::string other = new_webhook_secret();
  EXPECT_NE(one, other);
  EXPECT_TRUE(one.starts_with("whsec_"));
  EXPECT_EQ(standard_webhook_key(one).value().size(), 32U);
  const auto signed_by = [](const std::vector<std::string>& secrets) {
    return webhook_signatures(secrets, "evt_1_2", 3, "{}");
  };
  EXPECT_EQ(signed_by({one, other}), signed_by({one}) + " " + signed_by({other}));
}

}  // namespace
}  // namespace giftsync::sync
