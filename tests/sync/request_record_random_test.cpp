// Request records, random and concurrent: people edit, approve, reject and delete; steps are killed before or
// after any call; a second daemon and editors interrupt a step. GIFTSYNC_REQUEST_RUNS sets how many runs
// there are.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tests/support/request_record_fixture.h"

namespace giftsync::sync {
namespace {

class RequestRecordRandomOrder : public tests::RequestRecordFixture {
 protected:
  static constexpr int kRequests = 3;

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::string any_id() { return std::to_string(pick(kRequests)); }

  /// The content that the CRM has now counts as approved when automation or a person has approved it.
  void remember_approved(const std::string& id) {
    const auto row = crm.rows.find(id);
    if (row != crm.rows.end()) approved_[id].insert(row->second.text(F::message));
  }
  void random_user_action() {
    const std::string id = any_id();
    switch (pick(9)) {
      case 0:
        if (!crm.rows.contains(id)) insert(id);
        break;
      case 1:
      case 2:
        crm.edit(id, F::message, "message " + std::to_string(pick(4)));
        if (const auto row = crm.rows.find(id);
            row != crm.rows.end() && row->second.checkbox(F::auto_approved) == true)
          remember_approved(id);
        break;
      case 3:
        crm.edit(id, F::auto_approved, pick(2) == 0);
        if (const auto row = crm.rows.find(id);
            row != crm.rows.end() && row->second.checkbox(F::auto_approved) == true)
          remember_approved(id);
        break;
      case 4:
        crm.edit(id, F::status, std::string("Approved"));
        remember_approved(id);
        break;
      case 5:
        crm.edit(id, F::status, std::string(pick(3) == 0 ? "Rejected" : pick(2) == 0 ? "Pending" : "Sent"));
        break;
      case 6:
        remember_approved(id);  // the decision binds to the content that it reads
        decide_request_record(store().request_records, crm, id, {RequestRecordAction::approve, "kim", ""},
                              now);
        break;
      case 7:
        decide_request_record(store().request_records, crm, id, {RequestRecordAction::reject, "kim", ""},
                              now);
        break;
      default:
        if (pick(6) == 0) crm.remove(id);
    }
  }
  void insert(const std::string& id) {
    const bool automatic = pick(3) == 0;
    crm.insert(id, "message " + std::to_string(pick(4)), automatic)
        .set(F::number, "R-" + std::to_string(++inserted_));
    if (automatic) remember_approved(id);
  }

  /// Runs a step during which anything may happen, and which may be killed.
  void run_random_round() {
    int calls_left = pick(3) == 0 ? 1 + pick(20) : -1;
    bool busy = false;
    crm.around_each_call = [&, this] {
      if (busy) return;
      if (calls_left > 0 && --calls_left == 0) throw tests::Killed{};
      busy = true;
      if (pick(6) == 0) random_user_action();
      if (pick(8) == 0) step();
      busy = false;
    };
    try {
      step();
    } catch (const tests::Killed&) {
    }
    crm.around_each_call = [] {};
  }

  bool was_met_as_sent(const std::string& id) {
    const auto transitions = store().request_records.find_transitions(id);
    return std::any_of(transitions.begin(), transitions.end(),
                       [](const store::RequestRecordTransition& transition) {
                         return transition.comment.starts_with("first seen as Sent");
                       });
  }
  void check() {
    for (int i = 0; i < kRequests; ++i) {
      const std::string id = std::to_string(i);
      for (const auto& gift : gifts_of(id)) {
        EXPECT_TRUE(approved_[id].contains(gift.message)) << "not approved: " << gift.message;
      }
      if (!crm.rows.contains(id)) continue;
      const bool has_gift = !sent(id).empty();
      if (was_met_as_sent(id)) {
        EXPECT_FALSE(has_gift) << "first seen as Sent is never sent";
        continue;
      }
      EXPECT_EQ(status(id) == "Sent", has_gift) << id;
      EXPECT_NE(status(id), "Approved") << "nothing approved is forgotten";
      EXPECT_FALSE(crm.rows.at(id).claimed);
    }
  }

  std::mt19937 random_{1};
  int inserted_ = 0;
  std::map<std::string, std::set<std::string>> approved_;
};

// REQ-25, REQ-29
TEST_P(RequestRecordRandomOrder, SendsEveryApprovedRequestExactlyOnce) {
  const char* given = std::getenv("GIFTSYNC_REQUEST_RUNS");
  const int runs = given ? std::atoi(given) : GetParam() == sql::Dialect::sqlite ? 20 : 5;
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    TearDown();
    SetUp();
    crm = tests::InMemoryRequestCrm();
    approved_.clear();
    random_.seed(static_cast<unsigned>(run + 1));
    for (int i = 0; i < kRequests; ++i) insert(std::to_string(i));
    for (int i = 0; i < 25; ++i) {
      if (pick(2) == 0) random_user_action();
      run_random_round();
      now = now + (pick(3) == 0 ? 20'000 : 500);
    }
    for (int i = 0; i < 5; ++i) {
      now = now + kMinuteMillis;
      run_until_idle();
    }
    check();
  }
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestRecordRandomOrder,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::sync
