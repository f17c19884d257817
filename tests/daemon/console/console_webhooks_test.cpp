// The console's pages of webhooks. The receiver's port refuses connections, unless a test has a server.
#include "platform/http_client.h"
#include "tests/daemon/console/console_work_fixture.h"
#include "tests/support/scripted_server.h"

namespace giftsync::console {
namespace {
using store::WebhookEndpoint;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConsoleWebhooks : public ConsoleWork {
 protected:
  static inline const std::string kPage = "/console/webhooks";
  static inline const std::string kUrl = "http://127.0.0.1:9/hook";

  ConsoleWebhooks() {
    store_.feed.switch_to(true);
    store_.keep_feed(true);
  }
  WebhookEndpoint webhook(const std::string& name, std::optional<OrganizationId> of = {},
                          const std::string& url = kUrl) {
    WebhookEndpoint endpoint;
    endpoint.name = name;
    endpoint.url = url;
    endpoint.organization = of;
    endpoint.created_by = "root";
    const auto made = webhooks::create_webhook(store_, endpoint, options_.webhooks.seal, {}, now_);
    EXPECT_TRUE(made.has_value());
    return made->endpoint;
  }
  WebhookEndpoint stored(const WebhookEndpoint& endpoint) {
    return store_.webhooks.find(endpoint.id).value();
  }
  static std::string page_of(const WebhookEndpoint& endpoint) {
    return kPage + "/" + std::to_string(endpoint.id);
  }
  static std::string path_of(const WebhookEndpoint& endpoint, const std::string& action) {
    return page_of(endpoint) + "/" + action;
  }
  http::HttpResponse act(const WebhookEndpoint& endpoint, const std::string& action,
                         const std::string& more = "") {
    return press_plain(get(page_of(endpoint)).body, path_of(endpoint, action), more);
  }
  /// The notice of the page that a form leads to.
  std::string notice_of(const http::HttpResponse& response) {
    const std::string place = header(response, "Location");
    return place.substr(place.find('?') + 1);
  }
  static std::string create_fields(const std::string& name, const std::string& url,
                                   const std::string& more = "") {
    return "&name=" + percent_encoded(name) + "&url=" + percent_encoded(url) + more;
  }
  http::HttpResponse create(const std::string& fields) { return press_plain(get(kPage).body, kPage, fields); }
  int post_without_page(const std::string& path) {
    return post(path, "confirm=1&form_token=" + form_token(form_secret(), path.substr(8))).status;
  }
  /// An event of the feed about the gift; its number.
  std::int64_t event(TransactionId gift) {
    store_.feed.publish_gifts(0, 100, [](std::span<const store::MarkedGift> gifts) {
      std::vector<store::GiftPublication> made;
      for (const store::MarkedGift& one : gifts) {
        store::GiftPublication publication;
        store::FeedEvent event;
        event.type = FeedEventType::gift_sent;
        event.object = one.gift.transaction.id.value;
        event.account = one.gift.request.account;
        event.status_after = "sent";
        event.version = 1;
        publication.events.push_back(event);
        made.push_back(publication);
      }
      return made;
    });
    const auto found = store_.feed.list({}, 0, 100).events;
    EXPECT_FALSE(found.empty());
    EXPECT_EQ(found.back().object, gift.value);
    return found.back().seq;
  }
  void add_attempt(const WebhookEndpoint& endpoint, std::int64_t seq, std::int64_t status,
                   const std::string& response) {
    store_.webhooks.add_attempt({endpoint.id, 0, seq, 1, now_, 12, status, status == 0 ? "no connection" : "",
                                 response, status != 204});
  }
};

// CON-71, HOOK-13: the empty page says what a webhook is, and how to make one.
TEST_F(ConsoleWebhooks, AnAdminMakesOneAndReadsItsSecretOnce) {
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("There is no webhook"), HasSubstr("Make a webhook"),
                                     HasSubstr("aria-current=\"page\"")));
  const auto made = create(create_fields(kMarkup, kUrl, "&type%3Agift.%2A=1&type%3Agift_request.held=1"));
  EXPECT_EQ(made.status, 200);
  EXPECT_EQ(header(made, "Cache-Control"), "no-store");
  const WebhookEndpoint endpoint = store_.webhooks.find(kMarkup).value();
  ASSERT_TRUE(endpoint.secret.starts_with("sealed whsec_"));
  const std::string secret = endpoint.secret.substr(7);
  EXPECT_THAT(made.body, AllOf(HasSubstr(secret), HasSubstr("shown only now"), HasSubstr("&lt;script&gt;"),
                               Not(HasSubstr("<script>"))));
  EXPECT_EQ(endpoint.types, "gift.*,gift_request.held");
  EXPECT_EQ(endpoint.created_by, "ana@example.com");
  EXPECT_FALSE(endpoint.account || endpoint.organization || endpoint.is_test);
  EXPECT_EQ(last_event().action, "webhook.create");
  EXPECT_EQ(last_event().object_id, kMarkup);
  EXPECT_EQ(last_event().detail, "--url " + kUrl);
  EXPECT_EQ(last_event().user, ana);
  EXPECT_THAT(get(page_of(endpoint)).body, AllOf(HasSubstr("gift.*, gift_request.held"),
                                                 Not(HasSubstr("whsec_")), HasSubstr("all accounts")));
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("&lt;script&gt;"), HasSubstr(kUrl), HasSubstr("none yet"),
                                     Not(HasSubstr("whsec_"))));
  EXPECT_THAT(get("/console/audit?object=webhook").body, HasSubstr("href=\"/console/webhooks\""));
}

// CON-71, HOOK-11
TEST_F(ConsoleWebhooks, WhatIsRefusedIsShownBesideTheTypedValues) {
  store::Account account;
  account.email = "rose@example.com";
  store_.accounts.create(account);
  sign_in(user("ana@example.com", {Role::admin}));
  webhook("crm");
  const auto refusal = [&](const std::string& fields) {
    const auto response = create(fields);
    EXPECT_EQ(response.status, 400) << fields;
    return response.body;
  };
  EXPECT_THAT(refusal(create_fields("a", "https:///x", "&type%3Agift.sent=1")),
              AllOf(HasSubstr("begin it with https://x"), HasSubstr("value=\"https:///x\""),
                    HasSubstr("<details open>"), HasSubstr("name=\"type:gift.sent\" value=\"1\" checked")));
  EXPECT_THAT(refusal(create_fields("a", "https://10.0.0.1/")), HasSubstr("10.0.0.1 is a private address"));
  EXPECT_THAT(refusal(create_fields("", kUrl)), HasSubstr("The name must be"));
  EXPECT_THAT(refusal(create_fields("crm", kUrl)), HasSubstr("There is a webhook"));
  EXPECT_THAT(refusal(create_fields("a", kUrl, "&account=tim%40example.com")),
              HasSubstr("There is no such account"));
  EXPECT_EQ(store_.webhooks.list().size(), 1u);
  EXPECT_EQ(create(create_fields("a", kUrl, "&account=rose%40example.com&test=1")).status, 200);
  EXPECT_TRUE(store_.webhooks.find("a")->account.has_value());
  EXPECT_TRUE(store_.webhooks.find("a")->is_test);
  store_.feed.switch_to(false);
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("feed.enabled is false"), Not(HasSubstr("Make a webhook"))));
}

// CON-71, HOOK-8, HOOK-9, HOOK-10
TEST_F(ConsoleWebhooks, AnAdminDoesWhatTheCommandsDo) {
  WebhookEndpoint endpoint = webhook("crm");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_EQ(notice_of(act(endpoint, "update", create_fields("shop", kUrl + "/2", "&type%3Agift.sent=1"))),
            "notice=webhook_updated");
  EXPECT_EQ(stored(endpoint).name, "shop");
  EXPECT_EQ(stored(endpoint).url, kUrl + "/2");
  EXPECT_EQ(stored(endpoint).types, "gift.sent");
  EXPECT_EQ(last_event().action, "webhook.update");
  const auto refused = act(endpoint, "update", create_fields("shop", "https:///x"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("begin it with https://x"));
  EXPECT_EQ(stored(endpoint).url, kUrl + "/2");

  EXPECT_EQ(notice_of(act(endpoint, "disable", "&reason=it+moves")), "notice=webhook_disabled");
  EXPECT_EQ(stored(endpoint).state, WebhookState::disabled);
  EXPECT_EQ(last_event().detail, "it moves");
  EXPECT_THAT(get(page_of(endpoint)).body, AllOf(HasSubstr("it moves"), Not(HasSubstr("/disable\""))));
  EXPECT_EQ(notice_of(act(endpoint, "retry")), "notice=webhook_retry_disabled");
  EXPECT_EQ(notice_of(act(endpoint, "enable", "&from=soon")), "notice=webhook_bad_time");
  EXPECT_EQ(stored(endpoint).state, WebhookState::disabled);
  EXPECT_EQ(notice_of(act(endpoint, "enable", "&from=2026-11-20+08%3A00")), "notice=webhook_enabled");
  EXPECT_EQ(stored(endpoint).state, WebhookState::active);
  EXPECT_EQ(last_event().action, "webhook.enable");
  EXPECT_EQ(notice_of(act(endpoint, "enable")), "notice=webhook_unchanged");

  endpoint = stored(endpoint);
  endpoint.state = WebhookState::failing;
  endpoint.next_attempt_at = now_ + kHourMillis;
  store_.webhooks.set_state(endpoint, {});
  EXPECT_EQ(notice_of(act(endpoint, "retry", "&event=x")), "notice=webhook_no_retry");
  EXPECT_EQ(stored(endpoint).next_attempt_at, now_ + kHourMillis) << "it means no event, not all";
  EXPECT_EQ(notice_of(act(endpoint, "retry")), "notice=webhook_woken");
  EXPECT_EQ(stored(endpoint).next_attempt_at, now_);

  EXPECT_EQ(notice_of(act(endpoint, "replay", "&since=yesterday")), "notice=webhook_bad_time");
  EXPECT_EQ(notice_of(act(endpoint, "replay", "&since=2026-11-01")), "notice=webhook_replayed");
  EXPECT_EQ(last_event().detail, "--since 2026-11-01");

  const std::string first = stored(endpoint).secret;
  const auto rotated = act(endpoint, "rotate", "&grace_hours=24");
  EXPECT_EQ(rotated.status, 200);
  EXPECT_NE(stored(endpoint).secret, first);
  EXPECT_THAT(rotated.body, HasSubstr(stored(endpoint).secret.substr(7)));
  EXPECT_EQ(stored(endpoint).previous_secret, first);
  EXPECT_EQ(notice_of(act(endpoint, "rotate", "&grace_hours=24")), "notice=webhook_is_rotating");
  EXPECT_EQ(notice_of(act(endpoint, "rotate", "&grace_hours=999")), "notice=webhook_bad_grace");
  EXPECT_EQ(act(endpoint, "rotate", "&grace_hours=0&force=1").status, 200);
  EXPECT_EQ(stored(endpoint).previous_secret, "");

  EXPECT_EQ(notice_of(act(endpoint, "delete")), "notice=not_confirmed");
  EXPECT_TRUE(store_.webhooks.find("shop").has_value());
  EXPECT_EQ(header(act(endpoint, "delete", "&confirm=1"), "Location"), kPage + "?notice=webhook_deleted");
  EXPECT_FALSE(store_.webhooks.find("shop").has_value());
  EXPECT_EQ(last_event().action, "webhook.delete");
}

// CON-71, HOOK-9
TEST_F(ConsoleWebhooks, ATestShowsTheAnswer) {
  tests::ScriptedServer server([](std::size_t, const std::string&) {
    return std::string("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 9\r\n\r\n<b>no</b>");
  });
  const WebhookEndpoint endpoint = webhook("crm", {}, server.url() + "/hook");
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string place = header(act(endpoint, "test"), "Location");
  EXPECT_EQ(place, path_of(endpoint, "attempt") + "?notice=webhook_test_failed&number=1");
  EXPECT_THAT(get(place).body, AllOf(HasSubstr("status 500"), HasSubstr("&lt;b&gt;no&lt;/b&gt;"),
                                     HasSubstr("did not take the test"), HasSubstr("endpoint.test")));
  EXPECT_EQ(last_event().action, "webhook.test");
  const std::string shown = get(page_of(endpoint)).body;
  options_.webhooks.tests->acquire();
  options_.webhooks.tests->acquire();
  EXPECT_EQ(notice_of(press_plain(shown, path_of(endpoint, "test"))), "notice=webhook_tests_busy");
  options_.webhooks.tests->release(2);
}

// CON-71, CON-59: the body is that of the event, with the gift as it is now.
TEST_F(ConsoleWebhooks, AttemptsHaveBodiesAndAnswersWhichAnAuditorReadsMasked) {
  const WebhookEndpoint endpoint = webhook("crm");
  const TransactionId sent = gift();
  const std::int64_t seq = event(sent);
  add_attempt(endpoint, seq, 500, "no: ada@example.com " + kMarkup);
  for (int i = 0; i < 31; ++i) add_attempt(endpoint, seq, 204, "");
  WebhookEndpoint failing = stored(endpoint);
  failing.state = WebhookState::failing;
  failing.reason = "status 500: no: Ada Lovelace, ada@example.com";
  store_.webhooks.set_state(failing, {});
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string body = get(page_of(endpoint)).body;
  EXPECT_THAT(body, HasSubstr("<span class=\"quiet\">Events behind it</span> <strong>"));
  EXPECT_THAT(body, AllOf(HasSubstr("before=3\""), HasSubstr("?failed=1"), HasSubstr("Ada Lovelace"),
                          HasSubstr("bad-tint\"><svg class=\"i\" aria-hidden=\"true\"><use href=\"#i-tri\"/>"
                                    "</svg>failing"),
                          HasSubstr("</svg>status 204")));
  const std::string failed = get(page_of(endpoint) + "?failed=1").body;
  EXPECT_THAT(failed, AllOf(HasSubstr("attempt?number=1\""), HasSubstr("&lt;script&gt;"),
                            Not(HasSubstr("attempt?number=2\""))));
  EXPECT_THAT(get(page_of(endpoint) + "?failed=yes").body, HasSubstr("One filter does not apply"));
  const std::string one = path_of(endpoint, "attempt") + "?number=1";
  const std::string attempt = get(one).body;
  EXPECT_THAT(attempt,
              AllOf(HasSubstr("&quot;type&quot;:&quot;gift.sent&quot;"), HasSubstr("ada@example.com"),
                    HasSubstr("/replay\""), Not(HasSubstr("/retry\"")), HasSubstr("&lt;script&gt;")));
  EXPECT_EQ(notice_of(press_plain(attempt, path_of(endpoint, "replay"),
                                  "&since=" + percent_encoded(hidden_in(attempt, "since")))),
            "notice=webhook_replayed");
  EXPECT_EQ(get(path_of(endpoint, "attempt") + "?number=99").status, 404);

  sign_in(user("carl@example.com", {Role::auditor}));
  EXPECT_THAT(get(one).body,
              AllOf(HasSubstr("***@example.com"), Not(HasSubstr("ada@")), HasSubstr("status 500"),
                    Not(HasSubstr("script&gt;alert")), Not(HasSubstr("/replay\""))));
  EXPECT_THAT(get(page_of(endpoint)).body,
              AllOf(HasSubstr("status 500"), Not(HasSubstr("Lovelace")), Not(HasSubstr("ada@")),
                    Not(HasSubstr("/retry\"")), Not(HasSubstr("sign-in-link"))));
}

// CON-71, CON-45
TEST_F(ConsoleWebhooks, AChangeNeedsANewProof) {
  const WebhookEndpoint endpoint = webhook("crm");
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  now_ = now_ + kProofMillis + 1;
  for (const std::string& page : {kPage, page_of(endpoint)})
    EXPECT_THAT(get(page).body, AllOf(HasSubstr("giftsyncctl console sign-in-link --user ana@example.com"),
                                      Not(HasSubstr("action=\"" + kPage))));
  for (const char* action :
       {"", "/update", "/rotate", "/test", "/retry", "/replay", "/enable", "/disable", "/delete"}) {
    const std::string path = *action == 0 ? kPage : page_of(endpoint) + action;
    EXPECT_EQ(post_without_page(path), 403) << path;
    EXPECT_EQ(last_event().rule, "CON-45") << path;
  }
  EXPECT_EQ(store_.webhooks.list().size(), 1u);
  get(page_of(endpoint));
  EXPECT_EQ(header(post("/console/link/" + link_for(ana, "again")), "Location"), page_of(endpoint));
  EXPECT_EQ(notice_of(act(endpoint, "disable")), "notice=webhook_disabled");
  EXPECT_EQ(stored(endpoint).reason, "by ana@example.com");
}

// CON-71, CON-7
TEST_F(ConsoleWebhooks, AnAdminOfAnOrganizationHasItsWebhooksAlone) {
  const OrganizationId acme = organization("Acme");
  const WebhookEndpoint own = webhook("own", acme);
  const WebhookEndpoint other = webhook("other", organization("Other"));
  const WebhookEndpoint all = webhook("of all");
  store::Account other_account;
  other_account.email = "tim@other.example";
  store_.accounts.create(other_account);
  sign_in(user("ana@acme.example", {Role::admin}, acme));
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr(">own<"), Not(HasSubstr(">other<")), Not(HasSubstr(">of all<"))));
  for (const WebhookEndpoint& hidden : {other, all}) {
    EXPECT_EQ(get(page_of(hidden)).status, 404);
    EXPECT_EQ(post_without_page(path_of(hidden, "delete")), 404);
  }
  EXPECT_EQ(create(create_fields("new", kUrl, "&organization=2")).status, 200);
  EXPECT_EQ(store_.webhooks.find("new")->organization, acme) << "whatever the form says";
  EXPECT_EQ(create(create_fields("theirs", kUrl, "&account=tim%40other.example")).status, 400);
  EXPECT_EQ(notice_of(act(own, "disable")), "notice=webhook_disabled");
  EXPECT_EQ(last_event().organization, acme);
}

}  // namespace
}  // namespace giftsync::console
