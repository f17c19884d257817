// A database of PostgreSQL with Turkish rules, where lower('I') is not 'i': addresses are found all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "schema/store/store.h"
#include "tests/crm/external_crm_tables.h"
#include "tests/support/temporary_database.h"

namespace giftsync::store {
namespace {

class TurkishDatabase : public testing::Test {
 protected:
  void SetUp() override {
    const char* server = std::getenv("GIFTSYNC_TEST_PG");
    if (server == nullptr) GTEST_SKIP() << "GIFTSYNC_TEST_PG is not set: run scripts/with-postgresql";
    server_ = server;
    administer("CREATE DATABASE " + name_ +
               " TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'");
    address_ = {sql::Dialect::postgresql,
                std::regex_replace(server_, std::regex("dbname=\\S+"), "dbname=" + name_)};
  }
  void TearDown() override {
    if (!server_.empty()) administer("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  }
  /// PostgreSQL makes and drops databases outside of transactions only.
  void administer(const std::string& statement) const {
    sql::Database server({sql::Dialect::postgresql, server_});
    server.read([&](soci::session& session) {
      session << "COMMIT";
      session << statement;
      session << "BEGIN";
    });
  }

  const std::string name_ = "giftsync_turkish_" + std::to_string(::getpid());
  std::string server_;
  sql::Dsn address_;
};

// MATCH-1
TEST_F(TurkishDatabase, GiftsAreFoundByAddressesWithCapitalLetters) {
  migrate_store(address_);
  Store store(address_);
  sql::Database database(address_);
  ASSERT_EQ(tests::scalar(database, "SELECT lower('I')"), "\u0131") << "these are no Turkish rules";
  NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.sender_email = "ISIK@I.EXAMPLE";
  request.recipients.assign(1, {"INFO@INFO.EXAMPLE", "", "", "Thanks"});
  const TransactionId gift = store.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  GiftFilter by_sender;
  by_sender.sender = "isik@i.example";
  EXPECT_EQ(store.gifts.list(by_sender, {0}, 10).gifts.size(), 1U);
  ConsoleGiftFilter filter;
  filter.recipient = "info@INFO.example";
  filter.sender = "Isik@i.example";
  const auto page = store.console_gifts.list(Viewer::of_command_line(), filter, {}, 10, 100);
  ASSERT_EQ(page.gifts.size(), 1U);
  EXPECT_EQ(page.gifts.front().gift.transaction.id, gift);
}

// MATCH-1
TEST_F(TurkishDatabase, PeopleOfAnExternalCrmAreFound) {
  crm::create_external_crm(address_);
  tests::run_sql(address_, "INSERT INTO crm_contact (id, email) VALUES ('c1', 'INFO@INFO.EXAMPLE')");
  tests::run_sql(address_, "INSERT INTO crm_user (id, email) VALUES ('u1', 'ISIK@I.EXAMPLE')");
  tests::run_sql(
      address_,
      "INSERT INTO crm_gift_record (recipienttransactionid, recipient_email) VALUES (7, 'INFO@I.EXAMPLE')");
  const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
  const crm::external::ExternalCrmOptions options{
      address_, crm::external_crm_names(), {person, person, "US"}, true, {}};
  for (const std::string& warning : crm::external::check_external_crm(options).slow_lookups)
    tests::run_sql(address_, warning.substr(warning.find("CREATE INDEX")));
  EXPECT_TRUE(crm::external::check_external_crm(options).slow_lookups.empty());
  const auto port = crm::external::make_external_crm(options);
  const crm::RecipientMatchKeys info{"info@info.example", ""};
  EXPECT_EQ(port->directory()
                .find_candidates(crm::PersonObject::contact, std::span(&info, 1))
                .front()
                .by_email.size(),
            1);
  const std::string sender = "isik@i.example";
  EXPECT_EQ(port->directory().find_users_by_email(std::span(&sender, 1)).front().size(), 1U);
  EXPECT_EQ(port->gift_records().transaction_ids_by_email("info@i.example").size(), 1U);
}

}  // namespace
}  // namespace giftsync::store
