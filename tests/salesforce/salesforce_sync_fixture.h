// The sync step over a real store and the adapter, with people of an org and a clock that a test moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "sync/crm/sync_step.h"
#include "tests/salesforce/salesforce_crm_fixture.h"
#include "tests/support/temporary_store.h"

namespace giftsync::salesforce {

inline constexpr UtcMillis kSentAt{1'700'000'000'000};

class SalesforceSyncTest : public SalesforceCrmTest {
 protected:
  SalesforceSyncTest() {
    rules_.match_fields = match_fields();
    rules_.link_of = [](const store::RecipientTransaction&) { return "https://gifts.test/g/x"; };
    rules_.tasks = {true, "Other", "Not Started", "Completed"};
    sql("UPDATE crm_user SET email = 'sam@example.com', isactive = 1 WHERE id = '" + user_ + "'");
  }

  /// Contacts p0@example.com and so on, each with an account and an open opportunity.
  void add_contacts(std::size_t count) {
    const std::string numbers =
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
        std::to_string(count) + ") ";
    sql(numbers + "INSERT INTO crm_account (name) SELECT 'Acme ' || i FROM n");
    sql(numbers +
        "INSERT INTO crm_contact (lastname, name, email, accountid) SELECT 'P', 'P ' || i, 'p' || i || "
        "'@example.com', (SELECT id FROM crm_account WHERE name = 'Acme ' || i) FROM n");
    sql(numbers +
        "INSERT INTO crm_opportunity (name, stagename, closedate, isclosed, accountid) SELECT 'Deal ' || i, "
        "'Prospecting', '2027-01-01', 0, (SELECT id FROM crm_account WHERE name = 'Acme ' || i) FROM n");
    sql(numbers +
        "INSERT INTO crm_opportunity_contact_role (opportunityid, contactid) SELECT (SELECT id FROM "
        "crm_opportunity WHERE name = 'Deal ' || i), (SELECT id FROM crm_contact WHERE name = 'P ' || i) "
        "FROM "
        "n");
  }
  sync::SyncStepStats step(std::int64_t after_millis) {
    return sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, kSentAt + after_millis);
  }
  void report(const std::vector<TransactionId>& gifts, Status status, std::int64_t after_millis) {
    const UtcMillis time = kSentAt + after_millis;
    std::vector<store::StatusChange> changes;
    for (const TransactionId gift : gifts) changes.push_back({{}, "test", gift, status, time, time, {}});
    store_->changes.accept(changes);
  }

  /// The time of the adapter, the org and the sign-ins.
  UtcMillis clock() const { return {system_now().value + crm_offset_}; }
  void pass(std::int64_t millis) {
    server_.with_org([&](Org& org) { org.advance(millis); });
    crm_offset_ += millis;
    clock_offset_ += millis;
  }
  /// A step as the daemon's worker makes it: after a fault the batch is left for later. The fault's words;
  /// empty: none.
  std::string work() {
    try {
      last_ = sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, clock());
    } catch (const giftsync::DependencyError& fault) {
      store_->sync.release_with_error("one", fault.what());
      last_ = {};
      return fault.what();
    }
    return "";
  }
  /// The steps of that time, one after each `step_millis`.
  void work_for(std::int64_t millis, std::int64_t step_millis) {
    for (std::int64_t done = 0; done < millis; done += step_millis) {
      work();
      pass(step_millis);
    }
  }

  tests::TemporaryStore store_;
  sync::SyncRules rules_;
  sync::SyncStepStats last_;  ///< of work()
};

}  // namespace giftsync::salesforce
