// A year of gifts, day by day with an injected clock: each gift ends as a small model says, every count adds
// up, and every record in the CRM equals the store. GIFTSYNC_YEAR_GIFTS sets their number; 10000 take less
// than a minute where a commit does not wait for a disk (TMPDIR=/dev/shm).
#include <cstdlib>
#include <map>
#include <random>

#include "sync/status/status_rules.h"
#include "tests/support/lifecycle_fixture.h"

namespace giftsync::sync {
namespace {

/// What happened to one gift, from which its end follows.
struct Model {
  UtcMillis sent;
  std::int64_t unopened_days = 30;
  std::optional<UtcMillis> undelivered;
  std::optional<UtcMillis> opened;
  std::optional<Status> decided;  ///< redeemed, donated; refunded: cancelled

  static UtcMillis tenth_of_next_month(UtcMillis time) {
    const std::string text = to_rfc3339(time);
    int year = std::stoi(text.substr(0, 4));
    int month = std::stoi(text.substr(5, 2)) + 1;
    if (month == 13) {
      month = 1;
      ++year;
    }
    char next[32];
    std::snprintf(next, sizeof next, "%04d-%02d-10T00:00:00Z", year, month);
    return *from_rfc3339(next);
  }
  Status at(UtcMillis now) const {
    if (decided) return *decided;
    const UtcMillis end = opened ? *opened + 365 * kDayMillis : sent + unopened_days * kDayMillis;
    if (undelivered && *undelivered + 7 * kDayMillis < end) {
      if (*undelivered + 7 * kDayMillis <= now) return Status::refunded;
    } else if (end <= now) {
      return tenth_of_next_month(end) <= now ? Status::refunded : Status::expired;
    }
    return opened ? Status::opened : undelivered ? Status::undelivered : Status::delivered;
  }
};

class LifecycleYear : public tests::LifecycleFixture {
 protected:
  std::size_t total_gifts() const {
    const char* given = std::getenv("GIFTSYNC_YEAR_GIFTS");
    const std::size_t count = given ? std::strtoul(given, nullptr, 10) : 365;
    return GetParam() == sql::Dialect::sqlite ? count : std::min<std::size_t>(count, 365);
  }

  void send_gifts(std::size_t count) {
    for (const TransactionId id : send(count)) models_[id].sent = now_;
    for (const store::DeliveryClaim& claim : deliver_with_bounces()) {
      auto& undelivered = models_[claim.transaction].undelivered;
      undelivered = bounced_.contains(claim.transaction) ? std::optional(now_) : std::nullopt;
    }
  }
  /// One in eight is not delivered.
  std::vector<store::DeliveryClaim> deliver_with_bounces() {
    bounced_.clear();
    const auto claims = store_->deliveries.claim("mailer", 60'000, 100'000, now_);
    std::vector<store::DeliveryQueue::Sending> sendings;
    std::vector<store::DeliveryOutcome> outcomes;
    for (const auto& claim : claims) {
      sendings.push_back({claim, "mail"});
      const bool fails = random_() % 8 == 0;
      if (fails) bounced_.insert(claim.transaction);
      outcomes.push_back(outcome_of(claim, fails ? DeliveryState::undelivered : DeliveryState::accepted));
    }
    store_->deliveries.begin_sending("mailer", sendings, 60'000, now_);
    store_->deliveries.finish(outcomes, now_);
    return claims;
  }
  void simulate_day() {
    std::vector<store::StatusChange> opened;
    for (auto& [id, model] : models_) {
      if (model.decided) continue;
      const Status status = model.at(now_);
      if (status == Status::refunded) model.decided = status;
      if (status == Status::delivered && random_() % 40 == 0) {
        model.opened = now_;
        opened.push_back({{}, "page", id, Status::opened, now_, now_, {}});
      } else if (status == Status::opened && random_() % 60 == 0) {
        decide_gift(id, model, random_() % 3 ? Status::redeemed : Status::donated);
      } else if (status == Status::undelivered && random_() % 10 == 0) {
        ASSERT_EQ(resend(*store_, {id, {}, "root"}, now_).kind, ActionResult::Kind::done);
        model.undelivered.reset();
        ++resent_;
      } else if (random_() % 2000 == 0 && (status == Status::delivered || status == Status::undelivered)) {
        ASSERT_EQ(cancel(store_->changes, store_->lifecycle, id, "root", now_).kind,
                  ActionResult::Kind::done);
        model.decided = Status::refunded;
      }
    }
    store_->changes.accept(opened);
  }
  void decide_gift(TransactionId id, Model& model, Status status) {
    const store::StatusChange change{{}, "page", id, status, now_, now_, {}};
    ASSERT_EQ(apply_conditional_outcome(store_->changes, change).outcome,
              store::ConditionalOutcome::accepted);
    model.decided = status;
  }
  void expect_all_consistent() {
    std::map<Status, int> expected;
    std::map<Status, int> found;
    std::map<TransactionId, GiftRecord> records;
    TransactionId after{0};
    for (auto some = crm_->gift_records().page(after, 500); !some.empty();
         some = crm_->gift_records().page(after, 500)) {
      after = some.back().transaction();
      for (GiftRecord& one : some) records[one.transaction()] = std::move(one);
    }
    ASSERT_EQ(records.size(), models_.size());
    for (const auto& [id, model] : models_) {
      const store::Gift in_store = gift(id);
      ++expected[model.at(now_)];
      ++found[in_store.transaction.status];
      ASSERT_EQ(to_word(in_store.transaction.status), to_word(model.at(now_))) << "gift " << id.value;
      EXPECT_FALSE(in_store.transaction.has_conflict) << id.value;
      expect_record(records.at(id), in_store.transaction);
    }
    EXPECT_EQ(found, expected);
  }
  static void expect_record(const GiftRecord& record, const store::RecipientTransaction& in_store) {
    EXPECT_EQ(record.get(GiftField::status), FieldValue(std::string(to_word(in_store.status))));
    for (const Status status : kAllStatuses) {
      const auto& time = in_store.times[status];
      EXPECT_EQ(record.get(time_field_of(status)), time ? FieldValue(*time) : FieldValue())
          << in_store.id.value << " " << to_word(status);
    }
  }

  std::map<TransactionId, Model> models_;
  std::set<TransactionId> bounced_;
  std::mt19937 random_{365};
  int resent_ = 0;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, LifecycleYear,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// LIFE-16
TEST_P(LifecycleYear, AllRecordsMatchTheModel) {
  const std::size_t total = total_gifts();
  LifecycleStepStats report;
  // With few gifts the steps run twice a week only, because a day costs its commits.
  const std::size_t pace = total < 1000 ? 5 : 1;
  for (std::size_t day = 0, sent = 0; day < 365; day += pace) {
    const std::size_t by_then = total * (day + pace) / 365;
    send_gifts(by_then - sent);
    sent = by_then;
    ASSERT_NO_FATAL_FAILURE(simulate_day());
    sync();
    advance_days(static_cast<std::int64_t>(pace));
    if (day % 20 < 15) continue;  // the timers run late, and process what fell due meanwhile
    const LifecycleStepStats one = run_timers();
    report.expired += one.expired;
    report.refunded += one.refunded;
  }
  send_gifts(0);  // sent again on the last day
  run_timers();
  ASSERT_EQ(models_.size(), total);
  EXPECT_GT(resent_, 0);
  ASSERT_NO_FATAL_FAILURE(expect_all_consistent());
  advance_days(800);
  run_timers();
  ASSERT_NO_FATAL_FAILURE(expect_all_consistent());
  EXPECT_THAT(scheduled_gifts(), testing::IsEmpty());
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

}  // namespace
}  // namespace giftsync::sync
