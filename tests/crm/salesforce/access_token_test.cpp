// One session for all threads and processes: who signs in, what is stored, and what stops.
#include "crm/salesforce/calls/access_token.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/dependency_error.h"

namespace giftsync::salesforce {
namespace {

constexpr const char* kOrg = "00Dx0000000BV7zEAG";
constexpr const char* kOtherOrg = "00Dy0000000CW8aEAG";

/// A store in memory that several caches share, as processes do.
class Facts {
 public:
  FactStorage storage() {
    return {[this](const std::string& name) { return load(name); },
            [this](const std::string& name, const std::string& value) { save(name, value); },
            [this](const std::string& name, const std::string& value) {
              const std::lock_guard lock(mutex_);
              return values_.try_emplace(name, value).first->second;
            }};
  }
  std::optional<std::string> load(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (is_broken) throw giftsync::DependencyError(true, "the store does not respond");
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  void save(const std::string& name, const std::string& value) {
    const std::lock_guard lock(mutex_);
    values_[name] = value;
  }
  std::atomic<bool> is_broken = false;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;  // guarded by mutex_
};

class AccessTokensTest : public testing::Test {
 protected:
  AccessTokens make_tokens(const std::string& fingerprint = "settings", const std::string& secret = "secret",
                           const std::string& former_secret = "") {
    return AccessTokens([this](UtcMillis) { return sign_in(); }, fingerprint, secret, facts_.storage(),
                        [this] { return UtcMillis{now_}; }, former_secret);
  }
  SignInOutcome sign_in() {
    const int number = ++sign_ins_;
    if (before_answer_) before_answer_();
    if (answer_) return *answer_;
    return Session{"token " + std::to_string(number), "https://acme.my.salesforce.com", org_,
                   "005x00000012Q9PAAU"};
  }
  static std::string text_of(const TokenOutcome& outcome) {
    if (const auto* token = std::get_if<AccessToken>(&outcome)) return token->session.access_token;
    if (const auto* refusal = std::get_if<SignInRefusal>(&outcome)) return "refused: " + refusal->reason;
    if (const auto* fault = std::get_if<SignInFault>(&outcome)) return "fault: " + fault->reason;
    return "other org: " + std::get<OtherOrganization>(outcome).found;
  }
  /// `count` threads that ask at the same time.
  template <class Ask>
  std::vector<std::string> ask_at_once(std::ptrdiff_t count, Ask ask) {
    std::vector<std::string> texts(static_cast<std::size_t>(count));
    std::latch ready(count);
    std::vector<std::thread> threads;
    for (std::string& text : texts) {
      threads.emplace_back([&] {
        ready.arrive_and_wait();
        text = text_of(ask());
      });
    }
    for (std::thread& thread : threads) thread.join();
    return texts;
  }

  Facts facts_;
  std::atomic<std::int64_t> now_ = 1'800'000'000'000;
  std::atomic<int> sign_ins_ = 0;
  std::function<void()> before_answer_;
  std::optional<SignInOutcome> answer_;
  std::string org_ = kOrg;
};

TEST_F(AccessTokensTest, ThreadsShareOneSignIn) {
  AccessTokens tokens = make_tokens();
  for (const std::string& text : ask_at_once(16, [&] { return tokens.current(); }))
    EXPECT_EQ(text, "token 1");
  EXPECT_EQ(sign_ins_, 1);
}

// OPS-37
TEST_F(AccessTokensTest, ATokenOfTheFormerServerSecretIsUsed) {
  AccessTokens daemon = make_tokens();
  ASSERT_EQ(text_of(daemon.current()), "token 1");
  AccessTokens command = make_tokens("settings", "new secret", "secret");
  EXPECT_EQ(text_of(command.current()), "token 1");
  EXPECT_EQ(sign_ins_, 1);
  AccessTokens without = make_tokens("settings", "new secret");
  EXPECT_EQ(text_of(without.current()), "token 2");
}

// ORG-6
TEST_F(AccessTokensTest, ACallThatIsAnsweredEndsTheRefusalOfAnotherProcess) {
  AccessTokens daemon = make_tokens();
  ASSERT_EQ(text_of(daemon.current()), "token 1");
  const FactStorage facts = facts_.storage();
  const auto refuse = [&] {
    facts.save(kSignInRefusalFact, R"({"reason":"invalid_client","next_step":"x","since":1})");
  };
  refuse();
  daemon.note_success();
  EXPECT_FALSE(stored_refusal(facts.load(kSignInRefusalFact).value_or("")));
  refuse();
  daemon.note_success();
  EXPECT_TRUE(stored_refusal(facts.load(kSignInRefusalFact).value_or(""))) << "the store is asked rarely";
  now_ += kMinuteMillis;
  daemon.note_success();
  EXPECT_FALSE(stored_refusal(facts.load(kSignInRefusalFact).value_or("")));
}

TEST_F(AccessTokensTest, OfManyThreadsWithTheSameEndedSessionOneSignsIn) {
  AccessTokens tokens = make_tokens();
  const AccessToken first = std::get<AccessToken>(tokens.current());
  now_ += kHourMillis;
  for (const std::string& text : ask_at_once(16, [&] { return tokens.after(first); }))
    EXPECT_EQ(text, "token 2");
  EXPECT_EQ(text_of(tokens.current()), "token 2");
  EXPECT_EQ(sign_ins_, 2);
}

TEST_F(AccessTokensTest, AFaultGoesToAllWhoAskAndTheNextOneTriesAgain) {
  answer_ = SignInFault{"no answer"};
  std::latch all_wait(1);
  before_answer_ = [&] { all_wait.wait(); };
  AccessTokens tokens = make_tokens();
  std::atomic<int> asking = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ++asking;
      EXPECT_EQ(text_of(tokens.current()), "fault: no answer");
    });
  }
  while (asking < 8) std::this_thread::yield();
  all_wait.count_down();
  for (std::thread& thread : threads) thread.join();
  const int before = sign_ins_;
  answer_.reset();
  EXPECT_EQ(text_of(tokens.current()), "token " + std::to_string(before + 1));
}

TEST_F(AccessTokensTest, ARefusalIsFinal) {
  answer_ = SignInRefusal{"invalid_grant", "act"};
  AccessTokens tokens = make_tokens();
  for (const std::string& text : ask_at_once(8, [&] { return tokens.current(); }))
    EXPECT_EQ(text, "refused: invalid_grant");
  now_ += kDayMillis;
  answer_.reset();
  EXPECT_EQ(text_of(tokens.current()), "refused: invalid_grant");
  EXPECT_EQ(sign_ins_, 1);
}

TEST_F(AccessTokensTest, AnotherProcessUsesTheStoredSession) {
  AccessTokens daemon = make_tokens();
  EXPECT_EQ(text_of(daemon.current()), "token 1");
  AccessTokens command = make_tokens();
  EXPECT_EQ(text_of(command.current()), "token 1");
  EXPECT_EQ(sign_ins_, 1);
  const std::string stored = facts_.load(kTokenFact).value();
  EXPECT_EQ(stored.find("token 1"), std::string::npos);
  EXPECT_EQ(facts_.load(kOrganizationFact), kOrg);
}

TEST_F(AccessTokensTest, ASessionThatAnotherProcessHasRenewedIsUsed) {
  AccessTokens daemon = make_tokens();
  AccessTokens command = make_tokens();
  const AccessToken first = std::get<AccessToken>(daemon.current());
  EXPECT_EQ(text_of(command.current()), "token 1");
  now_ += kHourMillis;
  EXPECT_EQ(text_of(command.after(first)), "token 2");
  EXPECT_EQ(text_of(daemon.after(first)), "token 2");
  EXPECT_EQ(sign_ins_, 2);
}

TEST_F(AccessTokensTest, AStoredSessionOfOtherSettingsOrAnotherSecretIsNotUsed) {
  EXPECT_EQ(text_of(make_tokens().current()), "token 1");
  EXPECT_EQ(text_of(make_tokens("other settings").current()), "token 2");
  EXPECT_EQ(text_of(make_tokens("other settings", "other secret").current()), "token 3");
  facts_.save(kTokenFact, "not sealed");
  EXPECT_EQ(text_of(make_tokens().current()), "token 4");
}

TEST_F(AccessTokensTest, ASessionThatEndsAtOnceDoesNotCauseASignInForEachCall) {
  AccessTokens tokens = make_tokens();
  const AccessToken first = std::get<AccessToken>(tokens.current());
  now_ += 59'000;
  const TokenOutcome outcome = tokens.after(first);
  ASSERT_TRUE(std::holds_alternative<SignInFault>(outcome));
  EXPECT_EQ(std::get<SignInFault>(outcome).retry_after_seconds, 2);
  EXPECT_EQ(sign_ins_, 1);
  now_ += 1'000;
  EXPECT_EQ(text_of(tokens.after(first)), "token 2");
}

TEST_F(AccessTokensTest, AClockThatWasSetBackStillTellsTokensApart) {
  AccessTokens tokens = make_tokens();
  const AccessToken first = std::get<AccessToken>(tokens.current());
  now_ -= kHourMillis;
  const AccessToken second = std::get<AccessToken>(tokens.after(first));
  EXPECT_GT(second.born_at, first.born_at);
  EXPECT_EQ(text_of(tokens.after(first)), "token 2");
}

TEST_F(AccessTokensTest, AnotherOrgStopsUntilItIsAccepted) {
  EXPECT_EQ(text_of(make_tokens("production").current()), "token 1");
  org_ = kOtherOrg;
  AccessTokens daemon = make_tokens("sandbox");
  const std::string stored = facts_.load(kTokenFact).value();
  for (int i = 0; i < 3; ++i) {
    const TokenOutcome outcome = daemon.current();
    ASSERT_TRUE(std::holds_alternative<OtherOrganization>(outcome));
    EXPECT_EQ(std::get<OtherOrganization>(outcome).accepted, kOrg);
    EXPECT_EQ(std::get<OtherOrganization>(outcome).found, kOtherOrg);
  }
  EXPECT_EQ(sign_ins_, 2);
  EXPECT_EQ(facts_.load(kTokenFact), stored);
  EXPECT_EQ(facts_.load(kOrganizationFact), kOrg);
  EXPECT_EQ(facts_.load(kOtherOrganizationFact), kOtherOrg) << "for those who only read the store";

  daemon.accept_organization(kOtherOrg);
  EXPECT_EQ(text_of(daemon.current()), "token 2");
  EXPECT_EQ(facts_.load(kOrganizationFact), kOtherOrg);
  EXPECT_EQ(facts_.load(kOtherOrganizationFact), "");
  EXPECT_EQ(text_of(make_tokens("sandbox").current()), "token 2");
  EXPECT_EQ(sign_ins_, 2);
}

TEST_F(AccessTokensTest, ARunningDaemonNoticesThatAnotherProcessAcceptedTheOrg) {
  EXPECT_EQ(text_of(make_tokens("production").current()), "token 1");
  org_ = kOtherOrg;
  AccessTokens daemon = make_tokens("sandbox");
  EXPECT_EQ(text_of(daemon.current()), std::string("other org: ") + kOtherOrg);
  make_tokens("sandbox").accept_organization(kOtherOrg);
  EXPECT_EQ(text_of(daemon.current()), "token 2");
}

TEST_F(AccessTokensTest, AnOrgThatIsTheRightOneAgainIsNoticed) {
  EXPECT_EQ(text_of(make_tokens("production").current()), "token 1");
  org_ = kOtherOrg;
  AccessTokens daemon = make_tokens("domain");
  EXPECT_EQ(text_of(daemon.current()), std::string("other org: ") + kOtherOrg);
  org_ = kOrg;
  now_ += 15 * kMinuteMillis;
  EXPECT_EQ(text_of(daemon.current()), "token 3");
  EXPECT_EQ(facts_.load(kOtherOrganizationFact), "");
}

TEST_F(AccessTokensTest, IdsOf15And18CharactersNameTheSameOrg) {
  EXPECT_EQ(text_of(make_tokens("one").current()), "token 1");
  org_ = std::string(kOrg).substr(0, 15);
  EXPECT_EQ(text_of(make_tokens("other").current()), "token 2");
}

// ORG-6
TEST_F(AccessTokensTest, ARefusalIsStoredForThoseWhoOnlyRead) {
  answer_ = SignInRefusal{"invalid_grant: user hasn't approved this consumer", "pre-authorize the user"};
  AccessTokens daemon = make_tokens();
  EXPECT_FALSE(stored_refusal(facts_.load(kSignInRefusalFact).value_or("")).has_value());
  daemon.current();
  const auto refused = stored_refusal(facts_.load(kSignInRefusalFact).value());
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->refusal.reason, "invalid_grant: user hasn't approved this consumer");
  EXPECT_EQ(refused->refusal.next_step, "pre-authorize the user");
  EXPECT_EQ(refused->since.value, now_);
  answer_.reset();
  EXPECT_EQ(text_of(make_tokens("corrected").current()), "token 2");
  EXPECT_EQ(facts_.load(kSignInRefusalFact), "");
  now_ += 5;
  EXPECT_EQ(text_of(daemon.current()).substr(0, 8), "refused:");
  EXPECT_EQ(stored_refusal(facts_.load(kSignInRefusalFact).value())->since.value, refused->since.value)
      << "this process makes no call until it is restarted";
  facts_.is_broken = true;
  EXPECT_EQ(text_of(daemon.current()).substr(0, 8), "refused:");
}

TEST_F(AccessTokensTest, ABrokenStoreIsThrownToAllAndMayRecover) {
  AccessTokens tokens = make_tokens();
  facts_.is_broken = true;
  EXPECT_THROW(tokens.current(), giftsync::DependencyError);
  EXPECT_THROW(tokens.current(), giftsync::DependencyError);
  facts_.is_broken = false;
  EXPECT_EQ(text_of(tokens.current()), "token 1");
}

}  // namespace
}  // namespace giftsync::salesforce
