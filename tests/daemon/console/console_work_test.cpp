// The console's overview, and its pages of sources, connections and settings.
#include <fstream>

#include "tests/daemon/console/console_work_fixture.h"
#include "tests/support/test_certificate.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A line of "Waits for you".
std::string waits(const std::string& text, const std::string& tint, const std::string& count) {
  return "<strong>" + text + "</strong> <span class=\"count " + tint + "-tint\">" + count + "<";
}

// CON-35
TEST_F(ConsoleWork, TheOverviewListsWhatWaitsForTheUser) {
  insert("1", "Hi", "ben@example.com");
  insert("2");
  held_mail();
  quarantine("vendor", "gone");
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("href=\"/console/requests/R-2\""),
                    HasSubstr(waits("Requests to approve", "warn", "1")), Not(HasSubstr("Held mail"))));
  insert("3");
  EXPECT_THAT(get("/console/").body, HasSubstr(waits("Requests to approve", "warn", "2")));
  for (int i = 100; i < 200; ++i) insert(std::to_string(i));
  EXPECT_THAT(get("/console/").body, HasSubstr("or more"));
  fail("2", "Changed after approval: approve it again.");
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("Requests not sent"))) << "CON-57: it waits again";
  fail("3", "The sender has no permission set.");
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("href=\"/console/requests?state=failed\""),
                    HasSubstr(waits("Requests not sent", "bad", "1")), HasSubstr("No gift of yours fails.")));
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(
      get("/console/").body,
      AllOf(HasSubstr("href=\"/console/mail?state=held\"><span"), HasSubstr(waits("Held mail", "warn", "1")),
            HasSubstr("/console/sources/vendor"), HasSubstr("href=\"/console/requests?state=failed\""),
            HasSubstr(waits("Requests not sent", "bad", "1")), Not(HasSubstr("Requests to approve"))));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/").body, HasSubstr("Nothing waits for you"));
}

// OPS-27
TEST_F(ConsoleWork, TheOverviewHasTheVerdictOfStatusAndNamesTheSources) {
  quarantine("vendor", "x");
  quarantine("shop", "y");
  held_mail();
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get("/console/").body;
  const auto verdict = sync::needs_attention(options_.attention());
  ASSERT_EQ(verdict.size(), 3U);
  for (const sync::AttentionItem& item : verdict) {
    EXPECT_THAT(item.what, testing::AnyOf("1 mail is held", "source vendor: 1 event in quarantine",
                                          "source shop: 1 event in quarantine"));
    EXPECT_THAT(page, HasSubstr(item.what.substr(1) + ". To do: "));
  }
  EXPECT_THAT(page, AllOf(HasSubstr("<a href=\"/console/sources\">Sources</a><span class=\"hidden\">: needs "
                                    "attention.</span></strong> <a href=\"/console/sources/vendor\">Source "
                                    "vendor: 1 event in quarantine."),
                          HasSubstr(">Mail</a><span class=\"hidden\">: needs attention."),
                          HasSubstr(">CRM</a><span class=\"hidden\">: good."),
                          HasSubstr(waits("Quarantined events of vendor", "warn", "1")),
                          HasSubstr(waits("Quarantined events of shop", "warn", "1"))));
}

// SYNC-72
TEST_F(ConsoleWork, TheOverviewHasTheLatestBackfills) {
  store::BackfillRun run;
  run.name = "gift-records";
  run.started_at = now_;
  run.ended_at = now_;
  run.differing = 2;
  run.summary = "gift-records: 7 examined: 7 unchanged.";
  store_.backfill.record_run(run);
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(
      get("/console/").body,
      AllOf(HasSubstr(">CRM</a><span class=\"hidden\">: good.</span></strong> <span>Backfill finished 20"),
            HasSubstr(" UTC, gift-records: 7 examined: 7 unchanged.</span>"),
            HasSubstr(">CRM</a><span class=\"hidden\">: to look at.</span></strong> <span>The backfill "
                      "gift-records left 2 "
                      "differences, which &quot;giftsyncctl backfill gift-records --dry-run&quot; "
                      "shows.</span>")));
  run.differing = 0;
  run.error = "the CRM is down";
  store_.backfill.record_run(run);
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr(">CRM</a><span class=\"hidden\">: needs attention.</span></strong> <span>The "
                              "backfill gift-records of 20"),
                    HasSubstr("did not come to its end: the CRM is down. To do: giftsyncctl backfill "
                              "gift-records  # goes on where it stopped."),
                    Not(HasSubstr("Backfill "))));
}

// CON-33
TEST_F(ConsoleWork, AnOperatorReleasesAndPurgesQuarantinedEvents) {
  quarantine("vendor", kMarkup);
  quarantine("gone", "x");
  config::SourceSettings source;
  source.name = "vendor";
  settings_.sources = {source};
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/sources").body, HasSubstr("/console/sources/vendor"));
  const std::string page = get("/console/sources/vendor").body;
  EXPECT_THAT(page, AllOf(HasSubstr("unknown_status"), HasSubstr("status_map"), HasSubstr("&lt;script&gt;"),
                          Not(HasSubstr("<script>")), Not(HasSubstr("secret@example.com"))));
  EXPECT_THAT(page, HasSubstr("<bdi>https://admin.example.com/api/v1/webhooks/status_changes/vendor</bdi>"));
  EXPECT_EQ(press_plain(page, "/console/sources/vendor/release").status, 303);
  EXPECT_THAT(store_.sources.sources_to_reprocess(), testing::ElementsAre("vendor"));
  EXPECT_EQ(press_plain(page, "/console/sources/vendor/purge", "&reason=nothing").status, 404);
  EXPECT_EQ(press_plain(page, "/console/sources/vendor/purge", "&reason=unknown_status").status, 303);
  EXPECT_TRUE(store_.sources.count_quarantined("vendor").empty());
  EXPECT_THAT(get("/console/sources/vendor").body, Not(HasSubstr("/release\""))) << "there is nothing";
  EXPECT_FALSE(store_.sources.count_quarantined("gone").empty());
  EXPECT_EQ(last_event().action, "source.purge");
  EXPECT_EQ(last_event().detail, "unknown_status, 1 events");
  EXPECT_THAT(get("/console/sources/gone").body, Not(HasSubstr("/release\""))) << "nothing would end it";
  EXPECT_EQ(get("/console/sources/other").status, 404);
  sign_in(user("admin@example.com", {Role::admin}));
  EXPECT_THAT(get("/console/sources/gone").body,
              AllOf(HasSubstr("unknown_status"), Not(HasSubstr("/purge\""))));
}

// CON-45
TEST_F(ConsoleWork, APurgeNeedsALinkOfTheLastTenMinutes) {
  quarantine("vendor", "x");
  const UserId op = user("op@example.com", {Role::operations});
  sign_in(op);
  const std::string page = "/console/sources/vendor";
  now_ = now_ + kProofMillis;
  EXPECT_THAT(get(page).body, HasSubstr("/purge\""));
  now_ = now_ + 1;
  const std::string command = "giftsyncctl console sign-in-link --user op@example.com";
  EXPECT_THAT(get(page).body,
              AllOf(HasSubstr(command), Not(HasSubstr("/purge\"")), HasSubstr("unknown_status")));
  EXPECT_EQ(header(post("/console/link/" + link_for(op, "of-the-page")), "Location"), page);
  now_ = now_ + kProofMillis + 1;
  const std::string old = "form_token=" + form_token(form_secret(), "/sources/vendor/purge");
  const auto refused = post(page + "/purge", old + "&reason=unknown_status");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("Nothing was changed."), HasSubstr(command),
                                  HasSubstr("href=\"" + page + "\">Back to its page")));
  EXPECT_FALSE(store_.sources.count_quarantined("vendor").empty());
  EXPECT_EQ(last_event().action, "form.refused");
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_EQ(last_event().object_id, "/sources/vendor/purge");
  EXPECT_EQ(last_event().actor, "op@example.com");
  EXPECT_EQ(post(page + "/purge", "reason=unknown_status").status, 403);
  EXPECT_EQ(last_event().rule, "CON-11") << "without the form's token";
  EXPECT_EQ(header(post("/console/link/" + link_for(op, "of-the-refusal")), "Location"), page);
  EXPECT_EQ(press_plain(get(page).body, page + "/purge", "&reason=unknown_status").status, 303);
  EXPECT_TRUE(store_.sources.count_quarantined("vendor").empty());
  quarantine("vendor", "y");
  sign_in(user("auditor@example.com", {Role::auditor}));
  now_ = now_ + kProofMillis + 1;
  EXPECT_THAT(get(page).body, Not(HasSubstr("sign-in-link"))) << "who may not purge is asked for nothing";
}

// CON-34, CON-27
TEST_F(ConsoleWork, ConnectionsAndSettingsAreShownWithoutSecrets) {
  settings_.sso.auth_url = "https://login.example.com";
  config::SsoConnectionSettings connection;
  connection.name = "acme";
  connection.domains = {"acme.com"};
  connection.client_id = "the-client";
  connection.client_secret = config::Secret("the-secret");
  connection.issuer = "https://idp.example.com";
  config::SsoConnectionSettings saml;
  saml.name = "idp";
  saml.kind = config::SsoKind::saml;
  saml.certificate = testing::TempDir() + "console_certificate.pem";
  std::ofstream(saml.certificate) << tests::make_certificate({.rsa_bits = 0});
  saml.next_certificate = "/nonexistent.pem";
  settings_.sso.connections = {connection, saml};
  settings_.provenance["sso.auth_url"] = {12, ""};
  store_.sign_in_connections.record_success("acme", now_);
  store_.sign_in_connections.record_error("acme", "O5: " + kMarkup, now_);
  const std::vector<std::string> paths{"/console/connections", "/console/settings"};
  for (const Role role : {Role::operations, Role::auditor}) {
    sign_in(user(std::string(to_word(role)) + "@example.com", {role}));
    EXPECT_THAT(get(paths[0]).body,
                AllOf(HasSubstr("https://login.example.com/login/callback?connection=acme"),
                      HasSubstr("acme.com"), HasSubstr("O5: &lt;script&gt;"), HasSubstr("<bdi>valid until "),
                      HasSubstr("/nonexistent.pem, "), HasSubstr("urn:giftsync:login.example.com:idp"),
                      Not(HasSubstr("the-secret"))));
    EXPECT_THAT(get(paths[1]).body,
                AllOf(HasSubstr("<summary><code>sso</code>"), HasSubstr("1 set in the file"),
                      HasSubstr("sso.auth_url"), HasSubstr("giftsyncd.yaml:12"), HasSubstr("default"),
                      Not(HasSubstr("the-secret"))));
  }
  for (const std::string& path : paths) {
    sign_in(user("admin" + std::to_string(path.size()) + "@example.com", {Role::admin}));
    EXPECT_EQ(get(path).status, 404);
  }
  sign_in(user("of.acme@example.com", {Role::operations}, organization("Acme")));
  for (const std::string path : {"/console/connections", "/console/settings", "/console/sources"})
    EXPECT_EQ(get(path).status, 404) << path << " is of all organizations";
}

}  // namespace
}  // namespace giftsync::console
