// Two processes of one store, each with an adapter of its own: they count their calls and rest together.
#include "crm/salesforce/calls/call_governor.h"
#include "platform/dependency_error.h"
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {
namespace {

class SharedGovernorTest : public SalesforceCrmTest {
 protected:
  std::unique_ptr<crm::Crm> make_process() {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.governor_storage = [this](const GovernorChange& change) { state_ = change(state_); };
    return make_salesforce_crm(client_, std::move(options));
  }
  CallGovernor stored() const {
    CallGovernor governor({});
    EXPECT_TRUE(governor.read_text(state_.value_or("")));
    return governor;
  }
  static void write_one(crm::Crm& process, std::int64_t transaction) {
    process.gift_records().upsert(std::vector{upsert(transaction, 1)});
  }

  std::optional<std::string> state_;
};

// ORG-5
TEST_F(SharedGovernorTest, CallsOfAllProcessesAreCountedTogether) {
  const auto daemon = make_process();
  const auto command = make_process();
  write_one(*daemon, 1);
  write_one(*command, 2);
  write_one(*daemon, 3);
  EXPECT_EQ(stored().own_calls(system_now()), calls());
  EXPECT_EQ(stored().limits()->org.used, calls());
}

// ORG-5
TEST_F(SharedGovernorTest, AQuotaThatOneProcessMeetsIsARestForAll) {
  const auto daemon = make_process();
  const auto command = make_process();
  write_one(*command, 1);
  fault({{"kind", "answer"},
         {"status", 403},
         {"content_type", "application/json"},
         {"body", R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}])"},
         {"path", "/composite"}});
  EXPECT_THROW(write_one(*daemon, 2), giftsync::DependencyError);
  const int before = calls();
  EXPECT_THROW(write_one(*command, 3), giftsync::DependencyError);
  EXPECT_EQ(calls(), before);
  EXPECT_FALSE(stored().permit(CallPurpose::gifts, system_now()).is_allowed);
}

TEST_F(SharedGovernorTest, AnUnreadableStateCountsFromTheBeginning) {
  state_ = "{";
  const auto daemon = make_process();
  write_one(*daemon, 1);
  EXPECT_EQ(stored().own_calls(system_now()), calls());
}

}  // namespace
}  // namespace giftsync::salesforce
