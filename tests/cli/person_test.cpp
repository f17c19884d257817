// person export and erase on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/cli_context.h"
#include "daemon/wiring/erased_addresses.h"
#include "daemon/wiring/server_secret.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliPerson : public testing::Test {
 protected:
  CliFixture::Result run(std::vector<std::string> args) const {
    args.insert(args.begin(), "person");
    return cli_.run(args);
  }
  /// As a daemon's first start does it.
  void make_secret() const {
    store::Store store(cli_.address());
    wiring::load_server_secret(read_cli_settings(cli_.path("giftsyncd.yaml")).value(), store);
  }
  std::string send(const std::string& email) const {
    return std::to_string(cli_.send_gifts({email}).front().value);
  }
  void redeem(const std::string& gift) const {
    const auto result =
        cli_.run({"change", "import", "-"}, "{\"recipient_transaction_id\":" + gift +
                                                ",\"status\":\"redeemed\",\"occurred_at\":\"" +
                                                to_rfc3339(cli_.now) + "\"}\n");
    ASSERT_EQ(result.code, 0) << result.err;
  }
  void import_contact() const {
    const auto result = cli_.run({"crm", "import", "--object", "contact", "-"},
                                 "Id,Email,LastName\n003A,ana@example.com,Smith\n");
    ASSERT_EQ(result.code, 0) << result.err;
  }
  /// "action object: detail", the oldest first.
  std::vector<std::string> person_events() const {
    store::Store store(cli_.address());
    store::AuditFilter filter;
    filter.action = "person.";
    std::vector<std::string> texts;
    for (const store::AuditEvent& event : store.audit.list(store::Viewer::of_command_line(), filter, 100))
      texts.insert(texts.begin(), event.action + " " + event.object_id + ": " + event.detail);
    return texts;
  }
  CliFixture cli_;
};

// covers: GUARD-16
TEST_F(CliPerson, ExportHasWhatStoreAndCrmKeep) {
  const std::string gift = send("Ana@example.com");
  redeem(gift);
  import_contact();
  ASSERT_EQ(cli_.run({"do-not-send", "add", "ana@example.com"}).code, 0);
  const auto result = run({"export", "ANA@example.com", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = tests::parse_ordered_json(result.out);
  EXPECT_EQ(json["address"], "ana@example.com");
  ASSERT_THAT(json["gifts"], SizeIs(1));
  EXPECT_THAT(json["gifts"][0].dump(),
              AllOf(HasSubstr("Ana@example.com"), HasSubstr("Thank you!"), HasSubstr("redeemed")));
  ASSERT_THAT(json["do_not_send"], SizeIs(1));
  EXPECT_EQ(json["do_not_send"][0]["reason"], "blocked");
  ASSERT_THAT(json["crm"]["contacts"], SizeIs(1));
  EXPECT_EQ(json["crm"]["contacts"][0]["LastName"], "Smith");
  EXPECT_THAT(run({"export", "ana@example.com"}).out,
              AllOf(HasSubstr("Ana@example.com"), HasSubstr("Do not send: "), HasSubstr("Smith")));
  ASSERT_THAT(person_events(), SizeIs(2));
  EXPECT_THAT(person_events()[0],
              AllOf(HasSubstr("person.export ***@example.com: 1 gifts"), Not(HasSubstr("ana"))));
  EXPECT_EQ(run({"export", "ana"}).code, 64);
  const auto reported =
      cli_.run({"change", "import", "-"},
               "{\"recipient_transaction_id\":" + gift + ",\"status\":\"opened\",\"occurred_at\":\"" +
                   to_rfc3339(cli_.now) + "\",\"event_id\":\"by ana@example.com\"}\n");
  ASSERT_EQ(reported.code, 0) << reported.err;
  const Json texts = Json::parse(run({"export", "ana@example.com", "--json"}).out)["texts"];
  EXPECT_THAT(texts.dump(), AllOf(HasSubstr("change_event"), HasSubstr("by ana@example.com")));
  const auto unknown = run({"export", "bea@example.com", "--json"});
  EXPECT_EQ(unknown.code, 0);
  EXPECT_THAT(tests::parse_ordered_json(unknown.out)["gifts"], IsEmpty());
}

// covers: GUARD-16
TEST_F(CliPerson, ExportHasKeptEventsOfTheGiftsThatDoNotNameTheAddress) {
  const std::string gift = send("ana@example.com");
  tests::run_sql(cli_.address(),
                 "INSERT INTO inbound_event (id, source, digest, state, status_word, detail, transaction_id, "
                 "payload, received_at) VALUES (901, 'vendor', 'd1', 'ignored', 'seen', '', '" +
                     gift + "', '{\"name\": \"Ana Smith\"}', 1)");
  const Json texts = tests::parse_ordered_json(run({"export", "ana@example.com", "--json"}).out)["texts"];
  EXPECT_THAT(texts.dump(), AllOf(HasSubstr("inbound_event"), HasSubstr("Ana Smith")));
  EXPECT_THAT(run({"export", "ana@example.com"}).out, HasSubstr("Ana Smith"));
}

// covers: GUARD-17
TEST_F(CliPerson, EraseAsksThenErasesThenSaysThatItIsDone) {
  make_secret();
  const std::string gift = send("ana@example.com");
  redeem(gift);
  import_contact();
  ASSERT_EQ(cli_.run({"do-not-send", "add", "ana@example.com"}).code, 0);
  const std::string before = run({"export", "ana@example.com", "--json"}).out;
  const auto preview = run({"erase", "ana@example.com"});
  EXPECT_EQ(preview.code, 64) << "nothing can be asked in a pipe";
  EXPECT_THAT(preview.err,
              AllOf(HasSubstr("To erase of ana@example.com: 1 gift,"), HasSubstr("1 do-not-send entry"),
                    HasSubstr("1 contact"), HasSubstr("Gifts: " + gift + "."), HasSubstr("--yes")));
  const auto dry = run({"erase", "ana@example.com", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.err, HasSubstr("To erase of ana@example.com: 1 gift,"));
  EXPECT_EQ(run({"export", "ana@example.com", "--json"}).out, before);

  const auto done = run({"erase", "Ana@example.com", "--yes"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("Erased: 1 gifts"));
  EXPECT_THAT(cli_.run({"gift", "show", gift}).out, Not(HasSubstr("ana@example.com")));
  const auto check = cli_.run({"do-not-send", "check", "ana@example.com"});
  EXPECT_THAT(check.out,
              AllOf(HasSubstr("no gifts. No gifts are sent to this address"), HasSubstr("erased:")));
  EXPECT_THAT(cli_.run({"do-not-send", "list"}).out,
              AllOf(HasSubstr("erased:"), Not(HasSubstr("ana@example.com"))));
  const auto again = run({"erase", "ana@example.com", "--yes"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("ana@example.com is already erased: 1 gifts, 1 entries"));
  const Json exported = tests::parse_ordered_json(run({"export", "ana@example.com", "--json"}).out);
  EXPECT_THAT(exported["gifts"], IsEmpty());
  EXPECT_THAT(exported["erased_gifts"], SizeIs(1));
  const auto events = person_events();
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const std::string& event) {
                            return event.starts_with("person.erase ***@example.com: 1 gift,");
                          }),
            1);
  EXPECT_EQ(cli_.run({"do-not-send", "remove", "ana@example.com"}).code, 0);
  EXPECT_THAT(cli_.run({"do-not-send", "check", "ana@example.com"}).out, HasSubstr("gifts may be sent"));
}

// covers: GUARD-18
TEST_F(CliPerson, AnOpenGiftIsNamedAndStays) {
  make_secret();
  const std::string open = send("ana@example.com");
  const auto refused = run({"erase", "ana@example.com", "--yes"});
  EXPECT_EQ(refused.code, 75);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("Gift " + open + " is sent and stays"), HasSubstr("gift cancel " + open)));
  EXPECT_THAT(person_events(), IsEmpty()) << "there was nothing to erase";
  const std::string closed = send("ana@example.com");
  redeem(closed);
  const auto result = run({"erase", "ana@example.com", "--yes"});
  EXPECT_EQ(result.code, 75);
  EXPECT_THAT(result.err, HasSubstr("Erased: 1 gifts"));
  EXPECT_THAT(cli_.run({"gift", "show", open}).out, HasSubstr("ana@example.com"));
  EXPECT_THAT(cli_.run({"gift", "show", closed}).out, Not(HasSubstr("ana@example.com")));
}

// covers: GUARD-17
TEST_F(CliPerson, WithoutTheServerSecretNothingIsErased) {
  redeem(send("ana@example.com"));
  const auto result = run({"erase", "ana@example.com", "--yes"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.err, AllOf(HasSubstr("store.secret"), HasSubstr("the service's user")));
  EXPECT_EQ(tests::parse_ordered_json(run({"export", "ana@example.com", "--json"}).out)["gifts"].size(), 1u);
}

// covers: GUARD-17
TEST_F(CliPerson, WhatSendsIsRefusedWhereErasedEntriesCannotBeCompared) {
  make_secret();
  redeem(send("ana@example.com"));
  cli_.run({"do-not-send", "add", "ana@example.com"});
  ASSERT_EQ(run({"erase", "ana@example.com", "--yes"}).code, 0);
  std::filesystem::remove(cli_.path("store.secret"));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"held", "approve", "1"}, {"gift", "resend", "1"}, {"do-not-send", "check", "ana@example.com"}}) {
    const auto result = cli_.run(command);
    EXPECT_EQ(result.code, 78) << command[0];
    EXPECT_THAT(result.err, HasSubstr("entries of erased people")) << command[0];
  }
}

// covers: GUARD-17
TEST_F(CliPerson, ANewServerSecretOpensTheSameKey) {
  make_secret();
  store::Store store(cli_.address());
  const auto settings = read_cli_settings(cli_.path("giftsyncd.yaml")).value();
  wiring::open_erased_addresses(settings, store);
  const std::string hash = store.do_not_send.hash_of("ana@example.com");
  for (int rotation = 0; rotation < 2; ++rotation)
    ASSERT_EQ(cli_.run({"secret", "rotate", "--grace", "0", "--force", "--yes"}).code, 0);
  wiring::open_erased_addresses(settings, store);
  EXPECT_EQ(store.do_not_send.hash_of("ana@example.com"), hash);
}

}  // namespace
}  // namespace giftsync::cli
