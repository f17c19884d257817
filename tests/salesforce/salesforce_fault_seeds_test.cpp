// Seeded runs of gifts, status changes, tasks and request records while the org, the way to it and the
// writers fail. When the faults have ended, everything is in the org once and in its newest state.
// GIFTSYNC_FAULTS sets how many faults happen at least; GIFTSYNC_FAULT_SEED repeats one run.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "sync/crm/gift_record_draft.h"
#include "tests/salesforce/fault_run_fixture.h"

namespace giftsync::salesforce {
namespace {

using store::CrmSyncStatus;
using store::TaskState;

constexpr const char* kData = "/services/data/v62.0/sobjects/";

int number_in(const char* variable, int otherwise) {
  const char* given = std::getenv(variable);
  return given ? std::atoi(given) : otherwise;
}

class SalesforceFaultSeeds : public FaultRun {
 protected:
  struct Draw {
    const char* name;
    void (SalesforceFaultSeeds::*apply)();
  };
  static std::vector<Draw> draws() {
    using S = SalesforceFaultSeeds;
    return {{"answer lost", &S::lose_answer},
            {"answer lost", &S::lose_answer},
            {"lock", &S::lock},
            {"page of maintenance", &S::show_page},
            {"call refused", &S::refuse_call},
            {"part refused", &S::refuse_part},
            {"session ended", &S::end_session},
            {"rule of the org", &S::add_rule},
            {"row refused", &S::refuse_row},
            {"row refused", &S::refuse_row},
            {"quota", &S::use_up_quota},
            {"kill", &S::kill},
            {"kill", &S::kill},
            {"takeover", &S::plan_takeover},
            {"takeover", &S::plan_takeover},
            {"contact merged", &S::merge_contact},
            {"lead converted", &S::convert_lead},
            {"deleted meanwhile", &S::delete_meanwhile},
            {"record deleted", &S::delete_record},
            {"permission", &S::take_permission},
            {"picklist", &S::restrict_picklist}};
  }

  void lose_answer() {
    fault({{"kind", "cut"},
           {"when", pick(2) ? "before_commit" : "after_commit"},
           {"path", "/composite"},
           {"skip", pick(4)},
           {"times", pick(3) + 1}});
  }
  void lock() { fault({{"kind", "lock"}, {"ids", {lockable()}}, {"times", pick(4) + 1}}); }
  std::string lockable() {
    const std::string record = some_record();
    return record.empty() || pick(2) ? pick_of(contacts_) : record;
  }
  void show_page() {
    fault({{"kind", "answer"},
           {"status", 503},
           {"content_type", "text/html"},
           {"body", "<html>maintenance</html>"},
           {"path", "/composite"},
           {"skip", pick(3)},
           {"times", pick(6) + 1}});
  }
  void refuse(const std::string& path) {
    struct Refusal {
      int status;
      const char* code;
    };
    constexpr std::array<Refusal, 7> kRefusals{{{503, "SERVER_UNAVAILABLE"},
                                                {500, "UNKNOWN_EXCEPTION"},
                                                {400, "REQUEST_RUNNING_TOO_LONG"},
                                                {400, "QUERY_TIMEOUT"},
                                                {403, "REQUEST_LIMIT_EXCEEDED"},
                                                {400, "INVALID_FIELD"},
                                                {403, "TXN_SECURITY_METERING_ERROR"}}};
    const Refusal& one = kRefusals[random_() % kRefusals.size()];
    fault({{"kind", "refusal"},
           {"status", one.status},
           {"code", one.code},
           {"message", "not now"},
           {"path", path},
           {"skip", pick(3)},
           {"times", pick(2) + 1}});
  }
  void refuse_call() { refuse("/composite"); }
  void refuse_part() { refuse(pick(2) ? "/composite/sobjects" : "/query"); }
  void end_session() {
    sql("DELETE FROM org_session");
    ++happened_;
  }
  void add_rule() {
    if (gifts_.empty()) return;
    fault({{"kind", "rule"},
           {"object", "Gift_Record__c"},
           {"formula", "RecipientTransactionId__c = " + std::to_string(pick_of(gifts_).value)},
           {"message", "No gifts on Tuesdays."},
           {"times", 0}});
  }
  void refuse_row() {
    constexpr std::array kCodes{"UNKNOWN_EXCEPTION",
                                "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
                                "FIELD_CUSTOM_VALIDATION_EXCEPTION",
                                "REQUEST_RUNNING_TOO_LONG",
                                "STORAGE_LIMIT_EXCEEDED",
                                "LIMIT_EXCEEDED",
                                "INSUFFICIENT_ACCESS_OR_READONLY",
                                "DUPLICATES_DETECTED",
                                "ENTITY_IS_LOCKED",
                                "INVALID_CROSS_REFERENCE_KEY",
                                "ENTITY_IS_DELETED",
                                "INACTIVE_OWNER_OR_USER"};
    fault({{"kind", "row_error"},
           {"object", pick(3) ? "Gift_Record__c" : "Task"},
           {"status_code", kCodes[random_() % kCodes.size()]},
           {"message", "refused"},
           {"skip", pick(3)},
           {"times", pick(3) + 1}});
  }
  void use_up_quota() {
    server_.with_org([](Org& org) { org.set("api_limit", "0"); });
    ++happened_;
  }
  void kill() { pick_of(writers_).moments_until_kill = pick(14) + 1; }
  void plan_takeover() { pick_of(writers_).moments_until_takeover = pick(14) + 1; }
  void merge_contact() {
    const std::string lost = pick_of(contacts_);
    const std::string master = pick_of(contacts_);
    if (lost == master) return;
    sql("UPDATE crm_contact SET isdeleted = 1, masterrecordid = '" + master + "' WHERE id = '" + lost +
        "'; UPDATE crm_gift_record SET recipientcontactid = '" + master + "' WHERE recipientcontactid = '" +
        lost + "'");
    ++happened_;
  }
  void convert_lead() {
    sql("UPDATE crm_lead SET isconverted = 1, convertedcontactid = '" + pick_of(contacts_) +
        "' WHERE id = '" + pick_of(leads_) + "'");
    ++happened_;
  }
  /// Between the parts of a call, or of two calls: after the query and before the write.
  void delete_meanwhile() {
    const std::string record = some_record();
    const std::string url =
        record.empty() || pick(3) ? "Contact/" + pick_of(contacts_) : "Gift_Record__c/" + record;
    fault({{"kind", "interleave"},
           {"part", 0},
           {"skip", pick(4)},
           {"user", "person@example.com"},
           {"method", "DELETE"},
           {"url", kData + url}});
  }
  void delete_record() {
    const std::string record = some_record();
    if (record.empty() || pick(3)) return;
    server_.with_org([&](Org& org) { tests::fake_org::SaveBlock(org, person_).remove(record); });
    ++happened_;
  }
  void take_permission() { set_permission(false); }
  void set_permission(bool is_granted) {
    if (has_permission_ == is_granted) return;
    has_permission_ = is_granted;
    server_.with_org([&](Org& org) {
      org.change({{"permission_set", "giftsync_Integration"},
                  {"field", "Gift_Record__c.Message__c"},
                  {"readable", is_granted},
                  {"editable", is_granted}});
    });
    if (!is_granted) ++happened_;
  }
  void restrict_picklist() { set_restricted(true); }
  /// The field's words are none, so each value is refused.
  void set_restricted(bool is_restricted) {
    if (is_restricted_ == is_restricted) return;
    is_restricted_ = is_restricted;
    server_.with_org([&](Org& org) {
      org.change({{"object", "Gift_Record__c"},
                  {"field", "RecipientTransactionStatus__c"},
                  {"restricted", is_restricted},
                  {"without_value", "opened"}});
    });
    if (is_restricted) ++happened_;
  }
  std::string some_record() {
    if (gifts_.empty()) return "";
    const std::string id =
        scalar("SELECT id FROM crm_gift_record WHERE isdeleted = 0 AND recipienttransactionid = " +
               std::to_string(pick_of(gifts_).value));
    return id == "null" ? "" : id;
  }

  void run(unsigned seed) {
    begin(seed);
    drawn_.clear();
    const bool has_requests = pick(3) == 0;
    const std::vector<Draw> all = draws();
    for (int round = 0; round < 10; ++round) {
      if (round < 4) send_gifts(pick(3) + 1);
      if (has_requests && round < 2) requests_.push_back(add());
      report_some();
      for (int i = pick(2) + 1; i > 0; --i) {
        const Draw& draw = all[random_() % all.size()];
        drawn_ += (drawn_.empty() ? "" : ", ") + std::to_string(round) + " " + draw.name;
        (this->*draw.apply)();
      }
      step(writers_[static_cast<std::size_t>(round % 2)]);
      if (pick(2)) step(writers_[static_cast<std::size_t>(pick(2))]);
      for (Writer& writer : writers_)
        if (writer.is_down && pick(2)) start(writer);
      if (pick(3) == 0) server_.with_org([](Org& org) { org.set("api_limit", "1000000"); });
      if (pick(3) == 0) set_permission(true);
      if (pick(3) == 0) set_restricted(false);
      constexpr std::array<std::int64_t, 5> kWaits{1, 3, 60, 1200, 86'400};
      wait(kWaits[random_() % kWaits.size()] * kSecondMillis);
    }
    const testing::ScopedTrace trace(__FILE__, __LINE__, how_to_repeat(seed));
    expect_refusals_in_salesforces_words();
    end_faults();
    drain();
    audit();
  }
  std::string how_to_repeat(unsigned seed) const {
    const std::string number = std::to_string(seed);
    return "seed " + number + ": " + drawn_ + "; repeat it with GIFTSYNC_FAULT_SEED=" + number +
           " salesforce_tests --gtest_filter='*FaultSeeds*'";
  }

  void expect_refusals_in_salesforces_words() {
    for (const auto& state : store_->sync.find_states(gifts_)) {
      if (state.state != CrmSyncStatus::rejected) continue;
      EXPECT_THAT(state.error, testing::HasSubstr("Salesforce")) << state.transaction.value;
    }
  }
  void end_faults() {
    server_.with_org([](Org& org) {
      happened_in_org_ = org.faults().happened();
      org.faults().clear();
      org.set("api_limit", "1000000");
    });
    set_permission(true);
    set_restricted(false);
    for (Writer& writer : writers_) {
      writer.moments_until_kill = writer.moments_until_takeover = 0;
      if (writer.is_down) start(writer);
    }
  }
  void drain() {
    for (int i = 0; i < 40; ++i) {
      const bool is_done =
          store_->sync.counts().waiting == 0 && std::ranges::all_of(requests_, [&](const auto& id) {
            return cell(id, "request_status") == "Sent";
          });
      if (is_done && i >= 2) return;
      wait(i < 4 ? 10 * kSecondMillis : i < 12 ? 20 * kMinuteMillis : 25 * kHourMillis);
      for (Writer& writer : writers_) step(writer);
    }
    EXPECT_EQ(store_->sync.counts().waiting, 0) << store_->sync.counts().last_error;
  }

  /// Rows of a transaction, with those in the recycle bin.
  struct Rows {
    int live = 0;
    int deleted = 0;
    std::string status;
    std::string version;
  };
  std::map<std::int64_t, Rows> rows_of(const std::string& table, const std::string& status,
                                       const std::string& version) {
    std::map<std::int64_t, Rows> found;
    server_.with_org([&](Org& org) {
      for (const auto& row : org.database().run("SELECT recipienttransactionid, isdeleted, " + status + ", " +
                                                version + " FROM " + table)) {
        Rows& rows = found[std::stoll(row[0].value_or("0"))];
        if (row[1] == "1") {
          ++rows.deleted;
          continue;
        }
        ++rows.live;
        rows.status = row[2].value_or("");
        rows.version = row[3].value_or("");
      }
    });
    return found;
  }

  void audit() {
    EXPECT_EQ(scalar("SELECT count(*) FROM seen_older"), "0")
        << "an older state was written over a newer one";
    EXPECT_EQ(scalar("SELECT count(*) FROM (SELECT 1 FROM seen_state GROUP BY gift, version HAVING "
                     "count(*) > 1)"),
              "0")
        << "one version had two states";
    for (const std::string& id : requests_) {
      EXPECT_EQ(cell(id, "request_status || claimed"), "Sent0") << cell(id, "error_log");
      EXPECT_EQ(store_->request_records.find_gifts_by_record(std::span(&id, 1)).size(), 1U);
    }
    auto records = rows_of("crm_gift_record", "recipienttransactionstatus", "record_version");
    auto tasks = rows_of("crm_task", "status", "status");
    std::vector<TransactionId> gifts = gifts_;  // and those of the requests
    for (const auto& [id, rows] : records) {
      if (std::ranges::count(gifts_, TransactionId{id}) == 0) gifts.push_back({id});
    }
    EXPECT_EQ(gifts.size(), gifts_.size() + requests_.size());
    const auto states = store_->sync.find_states(gifts);
    EXPECT_EQ(states.size(), gifts.size());
    for (const auto& state : states) {
      const TransactionId id = state.transaction;
      const auto gift = store_->gifts.find(std::span(&id, 1));
      ASSERT_EQ(gift.size(), 1U);
      audit_gift(gift.front(), state, records[id.value], tasks[id.value]);
    }
  }
  void audit_gift(const store::Gift& gift, const store::CrmSyncState& state, const Rows& record,
                  const Rows& task) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, "gift " + std::to_string(state.transaction.value));
    EXPECT_LE(record.live, 1) << "doubled";
    EXPECT_LE(task.live + task.deleted, 1) << "a second task";
    if (record.deleted == 0) {
      EXPECT_EQ(record.live, 1) << "lost; " << state.error;
      EXPECT_EQ(task.live, 1) << "its task is lost; " << state.error;
    }
    if (record.live == 1) {
      EXPECT_EQ(state.state, CrmSyncStatus::written) << state.error;
      EXPECT_NE(state.task, TaskState::wanted);
      EXPECT_EQ(record.status, giftsync::to_word(gift.transaction.status));
      EXPECT_EQ(record.version, std::to_string(gift.transaction.version));
    } else {
      EXPECT_TRUE(state.state == CrmSyncStatus::deleted || state.state == CrmSyncStatus::written);
    }
    if (task.live == 1) {
      EXPECT_EQ(task.status == "Completed", sync::is_complete(gift.transaction.status));
    }
  }

  std::string drawn_;
  bool has_permission_ = true;
  bool is_restricted_ = false;
  static inline int happened_in_org_ = 0;
};

// ORG-1, SYNC-24
TEST_F(SalesforceFaultSeeds, NothingIsDoubledLostOrOlderAndTasksAreMadeOnce) {
  if (const int seed = number_in("GIFTSYNC_FAULT_SEED", -1); seed >= 0)
    return run(static_cast<unsigned>(seed));
  const int wanted = number_in("GIFTSYNC_FAULTS", 300);
  unsigned seed = 0;
  while (happened_ + happened_in_org_ < wanted && !HasFailure()) run(seed++);
  std::printf("%d faults in %u runs, %d calls in the last one\n", happened_ + happened_in_org_, seed,
              calls());
}

}  // namespace
}  // namespace giftsync::salesforce
