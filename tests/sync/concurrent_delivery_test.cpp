// Several connections deliver one outbox at once: each mail is sent once, and a slow connection holds up no
// other (MAIL-30, MAIL-31).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "sync/mail/delivery_step.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::Each;
using testing::Pair;
using testing::SizeIs;

/// What all connections sent.
class Arrivals {
 public:
  void add(const std::string& message_id) {
    const std::lock_guard lock(mutex_);
    ++counts_[message_id];
    changed_.notify_all();
  }
  bool wait_for(std::size_t mails) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return counts_.size() >= mails; });
  }
  std::map<std::string, int> counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> counts_;  // guarded by mutex_
};

class CountingTransport : public MailTransport {
 public:
  explicit CountingTransport(Arrivals& arrivals) : arrivals_(arrivals) {}
  std::optional<SendResult> prepare(const OutgoingMail&) override { return std::nullopt; }
  SendResult send(const OutgoingMail& mail, std::int64_t) override {
    std::unique_lock lock(mutex_);
    has_started_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_stuck_; });
    arrivals_.add(mail.message_id);
    return {SendOutcome::accepted, "250 ok"};
  }
  std::optional<SendResult> recover_outcome(const std::string&) override { return std::nullopt; }

  void set_stuck(bool is_stuck) {
    const std::lock_guard lock(mutex_);
    is_stuck_ = is_stuck;
    changed_.notify_all();
  }
  void wait_until_started() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return has_started_; });
  }

 private:
  Arrivals& arrivals_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stuck_ = false;     // guarded by mutex_
  bool has_started_ = false;  // guarded by mutex_
};

class ConcurrentDelivery : public tests::StoreFixture {
 protected:
  static constexpr std::size_t kConnections = 4;

  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    rules_.owner = "one";
    rules_.from_address = "gifts@example.com";
    rules_.installation_id = "abc";
    rules_.compose = [](const store::Gift& gift, const MailIdentity& identity) {
      return OutgoingMail{identity.message_id, "gifts@example.com", gift.transaction.email, "text"};
    };
    for (std::size_t i = 0; i < kConnections; ++i)
      transports_.push_back(std::make_unique<CountingTransport>(arrivals_));
    delivery_ = std::make_unique<MailDelivery>(*store_, rules_, kConnections, 1, [] { return kSentAt; });
  }
  void TearDown() override {
    delivery_.reset();
    StoreFixture::TearDown();
  }

  /// Runs steps until `is_done`.
  std::thread sender(std::size_t connection) {
    return std::thread([this, connection] {
      while (!is_done_) {
        delivery_->step({.number = connection,
                         .transport = *transports_[connection],
                         .should_continue = [this] { return !is_done_; }});
        std::this_thread::yield();
      }
    });
  }
  void send_gifts(std::size_t count) {
    const store::NewGiftRequest request = request_for(count);
    store_->gifts.create(std::span(&request, 1));
  }

  Arrivals arrivals_;
  std::vector<std::unique_ptr<CountingTransport>> transports_;
  DeliveryRules rules_;
  std::unique_ptr<MailDelivery> delivery_;
  std::atomic<bool> is_done_ = false;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ConcurrentDelivery,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// MAIL-31
TEST_P(ConcurrentDelivery, EachMailIsSentOnce) {
  constexpr std::size_t kMails = 300;
  send_gifts(kMails);
  std::vector<std::thread> senders;
  for (std::size_t i = 0; i < kConnections; ++i) senders.push_back(sender(i));
  EXPECT_TRUE(arrivals_.wait_for(kMails));
  is_done_ = true;
  for (std::thread& one : senders) one.join();
  EXPECT_THAT(arrivals_.counts(), Each(Pair(testing::_, 1)));
  EXPECT_THAT(store_->deliveries.list({DeliveryState::accepted}, kMails + 1), SizeIs(kMails));
}

// MAIL-30
TEST_P(ConcurrentDelivery, ASlowConnectionHoldsUpItsMailOnly) {
  transports_[0]->set_stuck(true);
  send_gifts(1);
  std::vector<std::thread> senders;
  senders.push_back(sender(0));
  transports_[0]->wait_until_started();
  send_gifts(20);
  for (std::size_t i = 1; i < kConnections; ++i) senders.push_back(sender(i));
  EXPECT_TRUE(arrivals_.wait_for(20));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto being_sent = [this] { return store_->deliveries.list({DeliveryState::sending}, 10); };
  while (being_sent().size() > 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_THAT(being_sent(), SizeIs(1));
  transports_[0]->set_stuck(false);
  EXPECT_TRUE(arrivals_.wait_for(21));
  is_done_ = true;
  for (std::thread& one : senders) one.join();
  EXPECT_THAT(arrivals_.counts(), Each(Pair(testing::_, 1)));
}

}  // namespace
}  // namespace giftsync::sync
