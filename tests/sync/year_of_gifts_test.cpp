// A year of gifts, lived day by day with the clock in hand: each gift ends as a model of a few lines says it
// must, every count adds up, and every record in the CRM equals the store. GIFTSYNC_YEAR_GIFTS sets how many;
// 10000 take less than a minute where a commit need not wait for a disk (TMPDIR=/dev/shm).
#include <cstdlib>
#include <map>
#include <random>

#include "sync/decided_outcome.h"
#include "tests/sync/life_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;

/// What happened to one gift, and from that alone how it has to end.
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

class AYear : public LifeGround {
 protected:
  std::size_t gifts_in_all() const {
    const char* given = std::getenv("GIFTSYNC_YEAR_GIFTS");
    const std::size_t count = given ? std::strtoul(given, nullptr, 10) : 365;
    return GetParam() == Dialect::sqlite ? count : std::min<std::size_t>(count, 365);
  }

  void send_some(std::size_t count) {
    for (const TransactionId id : send(count)) models_[id].sent = now_;
    for (const DeliveryClaim& claim : deliver_some()) {
      auto& undelivered = models_[claim.transaction].undelivered;
      undelivered = bounced_.contains(claim.transaction) ? std::optional(now_) : std::nullopt;
    }
  }
  /// One in eight does not arrive.
  std::vector<DeliveryClaim> deliver_some() {
    bounced_.clear();
    const auto claims = store_->deliveries.claim("mailer", 60'000, 100'000, now_);
    std::vector<DeliveryQueue::Sending> sendings;
    std::vector<DeliveryOutcome> outcomes;
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
  void live_a_day() {
    std::vector<StatusChange> opened;
    for (auto& [id, model] : models_) {
      if (model.decided) continue;
      const Status status = model.at(now_);
      if (status == Status::refunded) model.decided = status;
      if (status == Status::delivered && random_() % 40 == 0) {
        model.opened = now_;
        opened.push_back({{}, "page", id, Status::opened, now_, now_, {}});
      } else if (status == Status::opened && random_() % 60 == 0) {
        decide_it(id, model, random_() % 3 ? Status::redeemed : Status::donated);
      } else if (status == Status::undelivered && random_() % 10 == 0) {
        ASSERT_EQ(resend(*store_, {id, {}, "root"}, now_).kind, HandResult::Kind::done);
        model.undelivered.reset();
        ++resent_;
      } else if (random_() % 2000 == 0 && (status == Status::delivered || status == Status::undelivered)) {
        ASSERT_EQ(cancel(*store_, id, "root", now_).kind, HandResult::Kind::done);
        model.decided = Status::refunded;
      }
    }
    store_->changes.accept(opened);
  }
  void decide_it(TransactionId id, Model& model, Status status) {
    const StatusChange change{{}, "page", id, status, now_, now_, {}};
    ASSERT_EQ(decide_outcome(store_->changes, change).outcome, DecidedOutcome::accepted);
    model.decided = status;
  }
  void expect_all_true() {
    std::map<Status, int> expected;
    std::map<Status, int> found;
    std::map<TransactionId, GiftRecord> records;
    TransactionId after{0};
    for (auto some = crm_->gift_records(after, 500); !some.empty(); some = crm_->gift_records(after, 500)) {
      after = some.back().transaction();
      for (GiftRecord& one : some) records[one.transaction()] = std::move(one);
    }
    ASSERT_EQ(records.size(), models_.size());
    for (const auto& [id, model] : models_) {
      const Gift in_store = gift(id);
      ++expected[model.at(now_)];
      ++found[in_store.transaction.status];
      ASSERT_EQ(to_word(in_store.transaction.status), to_word(model.at(now_))) << "gift " << id.value;
      EXPECT_FALSE(in_store.transaction.contradictory) << id.value;
      expect_record(records.at(id), in_store.transaction);
    }
    EXPECT_EQ(found, expected);
  }
  static void expect_record(const GiftRecord& record, const RecipientTransaction& in_store) {
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

INSTANTIATE_TEST_SUITE_P(BackEnds, AYear, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(AYear, OfGiftsIsLivedAndEveryRecordIsTrue) {
  const std::size_t in_all = gifts_in_all();
  LifecycleReport report;
  // Few gifts are looked at twice a week only: a day costs its commits, however little happens.
  const std::size_t pace = in_all < 1000 ? 5 : 1;
  for (std::size_t day = 0, sent = 0; day < 365; day += pace) {
    const std::size_t by_then = in_all * (day + pace) / 365;
    send_some(by_then - sent);
    sent = by_then;
    ASSERT_NO_FATAL_FAILURE(live_a_day());
    sync();
    wait_days(static_cast<std::int64_t>(pace));
    if (day % 20 < 15) continue;  // the timers come late, and find what fell due meanwhile
    const LifecycleReport one = look();
    report.expired += one.expired;
    report.refunded += one.refunded;
  }
  send_some(0);  // what was sent again on the last day
  look();
  ASSERT_EQ(models_.size(), in_all);
  EXPECT_GT(resent_, 0);
  ASSERT_NO_FATAL_FAILURE(expect_all_true());
  wait_days(800);
  look();
  ASSERT_NO_FATAL_FAILURE(expect_all_true());
  EXPECT_THAT(ever_due(), testing::IsEmpty());
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

}  // namespace
}  // namespace giftsync::sync
