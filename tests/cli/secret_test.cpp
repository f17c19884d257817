#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cli_context.h"
#include "cli/listing.h"
#include "daemon/wiring/secret_rotation.h"
#include "daemon/wiring/server_secret.h"
#include "platform/digest.h"
#include "schema/store/daemon_instances.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliSecret : public testing::Test {
 protected:
  wiring::ServerSecrets loaded() const {
    store::Store store(cli_.address());
    return wiring::load_server_secrets(read_cli_settings(cli_.path("giftsyncd.yaml")).value(), store);
  }
  std::string fingerprint() const { return sync::LinkSigner(loaded().current).fingerprint(); }
  CliFixture::Result rotate(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"secret", "rotate", "--yes"});
    return cli_.run(more);
  }
  Json shown() const { return tests::parse_ordered_json(cli_.run({"secret", "show", "--json"}).out); }
  CliFixture cli_;
};

// OPS-37
TEST_F(CliSecret, RotatePrintsTheNewFingerprintAndShowHasBoth) {
  const std::string first = loaded().current;  // as a daemon's first start makes it
  const std::string former = fingerprint();
  const auto made = rotate();
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, fingerprint() + "\n");
  EXPECT_NE(fingerprint(), former);
  EXPECT_EQ(loaded().former->secret, first);
  EXPECT_THAT(made.err, AllOf(HasSubstr("valid until 2026-12-21 12:31 UTC"), HasSubstr("Back up the store")));
  const Json list = shown();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0], (Json{{"fingerprint", fingerprint()},
                           {"state", "current"},
                           {"since", "2026-11-21T12:31:07.000Z"},
                           {"links_until", nullptr}}));
  EXPECT_EQ(list[1], (Json{{"fingerprint", former},
                           {"state", "former"},
                           {"since", nullptr},
                           {"links_until", "2026-12-21T12:31:07.000Z"}}));
  const auto table = cli_.run({"secret", "show"});
  EXPECT_THAT(table.out, AllOf(HasSubstr(former), HasSubstr("2026-12-21 12:31")));
  for (const std::string& text : {made.out, made.err, table.out, list.dump()})
    EXPECT_THAT(text, AllOf(Not(HasSubstr(to_hex(first))), Not(HasSubstr(to_hex(loaded().current)))));
}

// OPS-37
TEST_F(CliSecret, ASecondRotationWaitsForTheEndOfTheFirstUnlessItIsForced) {
  loaded();
  ASSERT_EQ(rotate({"--grace", "7d"}).code, 0);
  const std::string second = fingerprint();
  const auto refused = rotate();
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("until 2026-11-28 12:31 UTC"), HasSubstr("--force")));
  EXPECT_EQ(fingerprint(), second);
  EXPECT_EQ(rotate({"--force", "--grace", "1h"}).code, 0);
  const std::string third = fingerprint();
  EXPECT_NE(third, second);
  EXPECT_EQ(shown()[1]["fingerprint"], second);
  cli_.now = cli_.now + kHourMillis;
  EXPECT_EQ(shown()[1]["state"], "ended");
  EXPECT_EQ(rotate().code, 0) << "its links have ended";
  EXPECT_EQ(shown()[1]["fingerprint"], third);
}

// OPS-37
TEST_F(CliSecret, WithoutGraceTheFormerLinksEndAtOnce) {
  loaded();
  const auto made = rotate({"--grace", "0"});
  ASSERT_EQ(made.code, 0);
  EXPECT_THAT(made.err, HasSubstr("Links of the former secret end as soon as each giftsyncd sees it"));
  EXPECT_EQ(shown()[1]["state"], "ended");
  EXPECT_EQ(shown()[1]["links_until"], "2026-11-21T12:31:07.000Z");
}

// OPS-37
TEST_F(CliSecret, WhatIsNoGraceIsRefused) {
  loaded();
  const std::string before = fingerprint();
  for (const std::string grace : {"-1d", "400d", "30", "soon", ""}) {
    const auto result = rotate({"--grace", grace});
    EXPECT_EQ(result.code, 64) << grace;
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_THAT(rotate({"--grace", "400d"}).err, AllOf(HasSubstr("\"400d\""), HasSubstr("at most 365d")));
  EXPECT_EQ(fingerprint(), before);
}

// OPS-37, OPS-28
TEST_F(CliSecret, NothingIsRotatedWithoutConfirmationAndWithoutASecret) {
  EXPECT_THAT(rotate().err, HasSubstr("no server secret yet"));
  EXPECT_EQ(rotate().code, 65);
  EXPECT_EQ(cli_.run({"secret", "show"}).code, 0);
  EXPECT_THAT(shown(), IsEmpty());
  loaded();
  const std::string before = fingerprint();
  const auto asked = cli_.run({"secret", "rotate"});
  EXPECT_EQ(asked.code, 64);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("at 2026-12-21 12:31 UTC?"), HasSubstr("--yes")));
  EXPECT_EQ(fingerprint(), before);
  EXPECT_FALSE(std::filesystem::exists(cli_.path("store.secret.next")));
}

// OPS-5
TEST_F(CliSecret, AMachineWithoutTheStoresSecretRotatesNothing) {
  loaded();
  std::filesystem::remove(cli_.path("store.secret"));
  const auto missing = rotate();
  EXPECT_EQ(missing.code, 78);
  EXPECT_THAT(missing.err, HasSubstr("store.secret: the file is missing"));
  EXPECT_FALSE(std::filesystem::exists(cli_.path("store.secret")));
}

// OPS-37
TEST_F(CliSecret, AnInterruptedRotationIsFinishedByTheNextCall) {
  const wiring::ServerSecrets before = loaded();
  ASSERT_EQ(rotate().code, 0);
  const std::string rotated = fingerprint();
  // As if it had ended before the files were exchanged.
  std::filesystem::rename(cli_.path("store.secret"), cli_.path("store.secret.next"));
  cli_.write("store.secret", to_hex(before.current) + "\n");
  std::filesystem::permissions(cli_.path("store.secret"), std::filesystem::perms::owner_read);
  EXPECT_EQ(rotate().code, 65);
  EXPECT_FALSE(std::filesystem::exists(cli_.path("store.secret.next")));
  EXPECT_EQ(fingerprint(), rotated);
}

// OPS-38
TEST_F(CliSecret, OtherMachinesGetTheNextSecretBeforeItIsUsed) {
  loaded();
  const std::string before = fingerprint();
  store::DaemonInstance daemon;
  daemon.id = "1";
  daemon.host = "web2";
  daemon.listen = "127.0.0.1:8480";
  store::DaemonInstances(cli_.address()).save(daemon);
  const auto first = rotate();
  EXPECT_EQ(first.code, 75);
  EXPECT_THAT(first.err, AllOf(HasSubstr("web2"), HasSubstr(cli_.path("store.secret.next")),
                               HasSubstr("Nothing was rotated yet")));
  EXPECT_EQ(fingerprint(), before);
  const std::string next = wiring::read_server_secret(cli_.path("store.secret.next"));
  EXPECT_EQ(rotate().code, 0);
  EXPECT_EQ(loaded().current, next);
}

// CON-8
TEST_F(CliSecret, ARotationHasOneEventAndARefusedOneHasNone) {
  loaded();
  const std::string before = fingerprint();
  ASSERT_EQ(rotate({"--grace", "7d"}).code, 0);
  rotate();
  store::Store store(cli_.address());
  const auto events = store.audit.list(store::Viewer::of_command_line(), {}, 10);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].action, "secret.rotate");
  EXPECT_EQ(events[0].object_kind, "server-secret");
  EXPECT_EQ(events[0].object_id, fingerprint());
  EXPECT_EQ(events[0].detail, "replaces " + before + " --grace 7d");
}

}  // namespace
}  // namespace giftsync::cli
