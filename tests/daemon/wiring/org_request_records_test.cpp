// Request records of an org as callers get them before the org is connected.
#include "daemon/wiring/org_request_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/clock.h"
#include "tests/support/in_memory_request_crm.h"
#include "tests/support/temporary_store.h"

namespace giftsync::wiring {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// One record for each key.
class CreatingCrm : public tests::InMemoryRequestCrm {
 public:
  std::vector<Record> create(std::span<const crm::NewRequestRecord> new_rows) override {
    std::vector<Record> created;
    for (const crm::NewRequestRecord& row : new_rows) {
      Record record = row.record;
      record.id = "Id of " + row.creation_key;
      created.push_back(rows.insert_or_assign(record.id, record).first->second);
    }
    return created;
  }
};

class OrgRequestRecordsTest : public ::testing::Test {
 protected:
  std::vector<std::string> waiting() {
    std::vector<std::string> ids;
    for (const auto& event : store_->crm_change_events.list(100)) ids.push_back(event.record_id);
    return ids;
  }

  tests::TemporaryStore store_;
  CreatingCrm crm_;
  int connected_ = 0;
  OrgRequestRecords records_{[this] {
    ++connected_;
    return OrgRequestRecords::Connected{*crm_.request_records(), store_->crm_change_events};
  }};
};

// REQ-55
TEST_F(OrgRequestRecordsTest, ACreatedRecordIsAnEventForAllDaemons) {
  EXPECT_EQ(connected_, 0);
  RequestRecord record;
  record.set(RequestRecordField::message, std::string("Hello"));
  const std::vector<crm::NewRequestRecord> rows{{"b", record}, {"a", record}};
  const auto created = records_.create(rows);
  ASSERT_EQ(created.size(), 2U);
  EXPECT_THAT(waiting(), UnorderedElementsAre(created[0].id, created[1].id));
  records_.create(rows);
  EXPECT_EQ(waiting().size(), 2U) << "a repeated call makes no second record";
  EXPECT_GT(connected_, 0);
}

// MSG-7
TEST_F(OrgRequestRecordsTest, EventsOfTheStoreArePushedUntilTheyAreAcknowledged) {
  const salesforce::PushedEvents pushed = pushed_events(store_->crm_change_events);
  EXPECT_THAT(pushed.list(10), IsEmpty());
  store_->crm_change_events.add(std::vector<std::string>{"a01", "a02"}, 1, system_now());
  const auto listed = pushed.list(10);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].record_id, "a01");
  EXPECT_GT(listed[0].id, 0);
  EXPECT_EQ(pushed.list(1).size(), 1U);
  pushed.acknowledge(std::vector{listed[0].id});
  EXPECT_THAT(waiting(), ElementsAre("a02"));
}

}  // namespace
}  // namespace giftsync::wiring
