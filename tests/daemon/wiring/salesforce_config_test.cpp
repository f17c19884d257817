// The settings of an org of Salesforce as the options of its adapter.
#include "daemon/wiring/salesforce_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "tests/support/temporary_store.h"

namespace giftsync::wiring {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

config::Settings with_org() {
  config::Settings settings;
  settings.file = "/etc/giftsync/giftsyncd.yaml";
  settings.store.connection = "/nowhere/giftsync.db";
  settings.crm.type = config::CrmType::salesforce;
  settings.crm.name_space = "";
  settings.crm.salesforce.domain = "https://acme.my.salesforce.com";
  settings.crm.salesforce.flow = config::SalesforceFlow::client_credentials;
  return settings;
}

// ORG-1
TEST(SalesforceConfig, NamesFollowTheSettings) {
  config::CrmSettings crm = with_org().crm;
  EXPECT_EQ(org_names(crm).object("gift_record"), "Gift_Record__c");
  EXPECT_EQ(org_names(crm).field(GiftField::message), "Message__c");
  EXPECT_THAT(org_names(crm).gift_fields(), Not(Contains(GiftField::created_by)));
  crm.name_space = "thx";
  crm.objects = {{"gift_record", "Gift__c"}};
  crm.columns = {{"gift_record.Message", "Words__c"},
                 {"gift_record.Record_Version", "Version__c"},
                 {"gift_record.CreatedById", "CreatedById"},
                 {"contact.Email", "Mail__c"}};
  const salesforce::ApiNames names = org_names(crm);
  EXPECT_EQ(names.object("gift_record"), "Gift__c");
  EXPECT_EQ(names.field(GiftField::message), "Words__c");
  EXPECT_EQ(names.field(GiftField::item_cost), "thx__Item_Cost__c");
  EXPECT_EQ(names.field(salesforce::OwnField::record_version), "Version__c");
  EXPECT_EQ(names.field("contact", "Email"), "Mail__c");
  EXPECT_THAT(names.gift_fields(), Contains(GiftField::created_by));
}

// SYNC-73
TEST(SalesforceConfig, AnotherOwnersPackageHasACampaignFieldOnlyWhereItIsNamed) {
  config::CrmSettings crm = with_org().crm;
  EXPECT_THAT(org_names(crm).gift_fields(), Contains(GiftField::utm_campaign_id));
  crm.salesforce.mode = config::SalesforceMode::bare;
  EXPECT_THAT(org_names(crm).gift_fields(), Not(Contains(GiftField::utm_campaign_id)));
  crm.columns = {{"gift_record.Utm_Campaign_Id", "Campaign__c"}};
  EXPECT_EQ(org_names(crm).field(GiftField::utm_campaign_id), "Campaign__c");
}

TEST(SalesforceConfig, TheShareOfCallsFollowsTheSettings) {
  config::SalesforceSettings salesforce;
  salesforce.share = 35;
  salesforce.keep_free = 5;
  salesforce.rows_a_call = 200;
  const salesforce::GovernorOptions options = governor_options(salesforce);
  EXPECT_EQ(options.share_percent, 35);
  EXPECT_EQ(options.keep_free_percent, 5);
  EXPECT_EQ(options.most_rows, 200u);
}

TEST(SalesforceConfig, NothingIsConnectedBeforeTheFirstUse) {
  const config::Settings settings = with_org();
  const auto crm = make_crm(settings);
  EXPECT_NE(crm->request_records(), nullptr) << "its store does not exist";
  EXPECT_THAT(check_crm(settings).faults, IsEmpty()) << "a start does not wait for the org";
}

TEST(SalesforceConfig, AStoreThatCannotBeOpenedFailsEveryUse) {
  const auto crm = make_crm(with_org());
  EXPECT_THROW(crm->gift_records().count(), DependencyError);
  EXPECT_THROW(crm->gift_records().count(), DependencyError);
}

TEST(SalesforceConfig, AKeyThatIsNoneFailsTheFirstUse) {
  const tests::TemporaryStore store;
  config::Settings settings = with_org();
  settings.store.connection = store.address().connection;
  settings.crm.salesforce.flow = config::SalesforceFlow::jwt;
  settings.crm.salesforce.private_key = config::Secret("no key");
  const auto crm = make_crm(settings);
  EXPECT_THAT([&] { crm->gift_records().count(); },
              ThrowsMessage<ConfigError>(HasSubstr("crm.salesforce.private_key: a key ")));
}

// MSG-7
TEST(SalesforceConfig, EventsOfTheStoreArePushedUntilTheyAreAcknowledged) {
  tests::TemporaryStore store;
  config::Settings settings = with_org();
  settings.store.connection = store.address().connection;
  OrgConnection connection(settings);
  const salesforce::PushedEvents pushed = connection.pushed_events();
  EXPECT_THAT(pushed.list(10), IsEmpty());
  store->crm_change_events.add(std::vector<std::string>{"a01", "a02"}, 1, system_now());
  const auto listed = pushed.list(10);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].record_id, "a01");
  EXPECT_GT(listed[0].id, 0);
  EXPECT_EQ(pushed.list(1).size(), 1U);
  pushed.acknowledge(std::vector{listed[0].id});
  pushed.add(std::vector<std::string>{"a03"});
  std::vector<std::string> waiting;
  for (const auto& event : store->crm_change_events.list(100)) waiting.push_back(event.record_id);
  EXPECT_THAT(waiting, UnorderedElementsAre("a02", "a03"));
}

// SYNC-50
TEST(SalesforceConfig, RequestRecordsNeedGiftsyncsRules) {
  config::Settings settings = with_org();
  settings.requests.enabled = false;
  EXPECT_NE(make_crm(settings)->request_records(), nullptr) << "they can still be listed";
  settings.crm.salesforce.mode = config::SalesforceMode::bare;
  EXPECT_EQ(make_crm(settings)->request_records(), nullptr);
  EXPECT_THAT(no_request_records_clause(settings), HasSubstr("mode is bare"));
}

TEST(SalesforceConfig, AnOrgHasNoTablesOfGiftsync) {
  const config::Settings settings = with_org();
  const CrmCapabilities capabilities = crm_capabilities(settings);
  EXPECT_TRUE(capabilities.is_remote);
  EXPECT_FALSE(capabilities.has_own_database || capabilities.has_package || capabilities.imports_rows);
  EXPECT_TRUE(crm_has_users(settings));
  EXPECT_EQ(crm_location(settings), "Salesforce (https://acme.my.salesforce.com)");
  EXPECT_EQ(crm_address_key(settings), "crm.salesforce.domain");
}

}  // namespace
}  // namespace giftsync::wiring
