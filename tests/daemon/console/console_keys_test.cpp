// The console's page of API keys.
#include "sync/access/credential.h"
#include "sync/access/credential_changes.h"
#include "sync/access/sending_budgets.h"
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using sync::CredentialState;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConsoleKeys : public ConsoleWork {
 protected:
  static inline const std::string kPage = "/console/keys";

  /// A key of the account with that address, which is created at its first key.
  sync::NewCredential key(const std::string& email, const std::string& name,
                          std::optional<OrganizationId> of = {}) {
    const auto known = store_.accounts.find_by_email(email);
    sync::NewCredential made = sync::make_credential(CredentialKind::api_key, now_);
    made.account =
        known ? known->id : store_.accounts.create({{}, email, "", Plan::team, true, now_, of}).value();
    made.owner = email;
    made.name = name;
    made.scopes = {Scope::send};
    made.id = store_.credentials.insert(made);
    return made;
  }
  CredentialState state(const store::Credential& key) {
    return sync::state_of(*store_.credentials.find_by_hash(CredentialKind::api_key, key.hash), now_);
  }
  static std::string path_of(const store::Credential& key, const std::string& action) {
    return kPage + "/" + std::to_string(key.id.value) + "/" + action;
  }
  /// The place that a form of the page leads to; its notice.
  std::string act(const store::Credential& key, const std::string& action, const std::string& more = "") {
    return press_on(get(kPage).body, key, action, more);
  }
  static std::string shown_pause(const std::string& page, const store::Credential& key,
                                 const std::string& action) {
    return action == "release" ? paused_at_in(page, path_of(key, action)) : "";
  }
  std::string press_on(const std::string& page, const store::Credential& key, const std::string& action,
                       const std::string& more = "") {
    return header(press_plain(page, path_of(key, action), shown_pause(page, key, action) + more), "Location");
  }
  int post_without_page(const store::Credential& key, const std::string& action) {
    const std::string path = path_of(key, action);
    return post(path, "confirm=1&form_token=" + form_token(form_secret(), path.substr(8))).status;
  }
};

// CON-66, HTTP-51
TEST_F(ConsoleKeys, AnAdminPausesReleasesAndRevokesAKey) {
  const auto made = key("rose@example.com", kMarkup);
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr(made.prefix), HasSubstr("rose@example.com"),
                                     HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>")),
                                     HasSubstr("aria-current=\"page\""), Not(HasSubstr("/release\""))));
  EXPECT_EQ(act(made, "pause", "&reason=one%0Atwo"), kPage + "?notice=key_bad_reason");
  EXPECT_EQ(act(made, "pause", "&reason=" + std::string(201, 'x')), kPage + "?notice=key_bad_reason");
  EXPECT_EQ(state(made), CredentialState::active);
  EXPECT_EQ(act(made, "pause", "&reason=runaway+script"), kPage + "?notice=key_paused");
  EXPECT_EQ(state(made), CredentialState::paused);
  EXPECT_EQ(last_event().action, "key.pause");
  EXPECT_EQ(last_event().object_kind, "key");
  EXPECT_EQ(last_event().object_id, made.prefix);
  EXPECT_EQ(last_event().detail, "runaway script");
  EXPECT_EQ(last_event().user, ana);
  EXPECT_THAT(get(kPage + "?notice=key_paused").body,
              AllOf(HasSubstr("runaway script"), HasSubstr("<p class=\"done\""), Not(HasSubstr("/pause\""))));
  EXPECT_THAT(get("/console/").body, AllOf(HasSubstr("key release " + made.prefix),
                                           HasSubstr("<a href=\"/console/keys\">API keys and tokens</a>")));
  EXPECT_EQ(act(made, "release"), kPage + "?notice=key_released");
  EXPECT_EQ(state(made), CredentialState::active);
  EXPECT_EQ(last_event().action, "key.release");
  EXPECT_EQ(act(made, "revoke"), kPage + "?notice=not_confirmed");
  EXPECT_EQ(state(made), CredentialState::active);
  EXPECT_EQ(act(made, "revoke", "&confirm=1"), kPage + "?notice=key_revoked");
  EXPECT_EQ(state(made), CredentialState::revoked);
  EXPECT_EQ(last_event().action, "key.revoke");
  EXPECT_EQ(last_event().detail, "of rose@example.com");
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("</svg>revoked</span>"), Not(HasSubstr("/pause\"")),
                                     Not(HasSubstr("/revoke\""))));
  EXPECT_THAT(get("/console/audit?object=key").body, HasSubstr("/console/keys?find=" + made.prefix));
}

// CON-66: what another user did just before stays, and has the event of that user alone.
TEST_F(ConsoleKeys, AChangeThatWasMadeMeanwhileIsNotRepeated) {
  const auto made = key("rose@example.com", "website");
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string shown = get(kPage).body;
  ASSERT_TRUE(store_.credentials.pause(made, "by command", now_));
  EXPECT_EQ(header(press_plain(shown, path_of(made, "pause"), "&reason=late"), "Location"),
            kPage + "?notice=key_unchanged");
  EXPECT_EQ(store_.credentials.list(CredentialKind::api_key).front().pause_reason, "by command");
  const std::string paused = get(kPage).body;
  ASSERT_TRUE(store_.credentials.release(made));
  ASSERT_TRUE(store_.credentials.pause(made, "again", now_ + 1));
  EXPECT_EQ(press_on(paused, made, "release"), kPage + "?notice=key_unchanged");
  EXPECT_EQ(state(made), CredentialState::paused) << "this pause was not shown";
  ASSERT_TRUE(store_.credentials.revoke(made, now_));
  EXPECT_EQ(press_on(paused, made, "release"), kPage + "?notice=key_unchanged");
  EXPECT_EQ(header(press_plain(paused, path_of(made, "revoke"), "&confirm=1"), "Location"),
            kPage + "?notice=key_unchanged");
  EXPECT_EQ(store_.audit.list(store::Viewer::of_command_line(), {.object_kind = "key"}, 10).size(), 0u);
}

// CON-66, GUARD-15
TEST_F(ConsoleKeys, AReleaseOfAKeyThatIsNotPausedForgetsNoBurst) {
  const auto made = key("rose@example.com", "website");
  sync::SendingBudgetRules rules;
  rules.burst_gifts = 2;
  store_.gifts.set_sending_charge(
      [&](const store::GiftRequest& request) { return sync::charge_of(rules, {}, request, now_, now_); });
  const auto send = [&](std::size_t gifts) {
    store::NewGiftRequest request;
    request.request.account = made.account;
    request.request.created_at = now_;
    request.request.credential_prefix = made.prefix;
    request.recipients.resize(gifts, {"ada@example.com", "", "", ""});
    return store_.gifts.create(std::span(&request, 1)).front().kind;
  };
  using Kind = store::CreateOutcome::Kind;
  sign_in(user("ana@example.com", {Role::admin}));
  ASSERT_EQ(send(2), Kind::created);
  EXPECT_EQ(post_without_page(made, "release"), 303);
  EXPECT_EQ(sync::release_credential(store_, made, now_), sync::CredentialChange::already);
  EXPECT_EQ(send(1), Kind::refused) << "the window is still full";
  ASSERT_EQ(state(made), CredentialState::paused);
  EXPECT_EQ(act(made, "release"), kPage + "?notice=key_released");
  EXPECT_EQ(send(1), Kind::created);
}

// CON-66, CON-45
TEST_F(ConsoleKeys, AChangeNeedsANewProof) {
  const auto made = key("rose@example.com", "website");
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  now_ = now_ + kProofMillis + 1;
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr("giftsyncctl console sign-in-link --user ana@example.com"),
                    HasSubstr(made.prefix), Not(HasSubstr("/pause\"")), Not(HasSubstr("/revoke\""))));
  for (const char* action : {"pause", "release", "revoke"}) {
    EXPECT_EQ(post_without_page(made, action), 403) << action;
    EXPECT_EQ(last_event().rule, "CON-45") << action;
  }
  EXPECT_EQ(state(made), CredentialState::active);
  get(kPage + "?find=website");
  EXPECT_EQ(header(post("/console/link/" + link_for(ana, "again")), "Location"), kPage + "?find=website");
  EXPECT_EQ(act(made, "pause"), kPage + "?notice=key_paused");
}

// CON-66, CON-7
TEST_F(ConsoleKeys, AnAdminOfAnOrganizationSeesItsKeysAlone) {
  const OrganizationId acme = organization("Acme");
  const auto own = key("rose@acme.example", "website", acme);
  const auto other = key("tim@other.example", "batch", organization("Other"));
  sign_in(user("ana@acme.example", {Role::admin}, acme));
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("rose@acme.example"), Not(HasSubstr("tim@"))));
  for (const char* action : {"pause", "release", "revoke"})
    EXPECT_EQ(post_without_page(other, action), 404) << action;
  EXPECT_EQ(state(other), CredentialState::active);
  EXPECT_EQ(act(own, "pause"), kPage + "?notice=key_paused");
  EXPECT_EQ(last_event().organization, acme);
  for (const Role role : {Role::operations, Role::auditor}) {
    sign_in(user("user" + std::to_string(static_cast<int>(role)) + "@example.com", {role}));
    EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("tim@other.example"), Not(HasSubstr("/revoke\"")),
                                       Not(HasSubstr("sign-in-link"))));
    EXPECT_EQ(post_without_page(own, "revoke"), 404);
  }
  EXPECT_EQ(state(own), CredentialState::paused);
  sign_in(user("rose@acme.example", {Role::sender}, acme));
  EXPECT_EQ(get(kPage).status, 404);
}

// CON-66, CON-17
TEST_F(ConsoleKeys, KeysAreFoundAndPaged) {
  for (int i = 10; i < 45; ++i) key("rose@example.com", "key" + std::to_string(i));
  const auto made = key("tim@other.example", "batch");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr(">batch<"), HasSubstr(">key44<"), Not(HasSubstr(">key10<")),
                                     HasSubstr("/console/keys?page=2\"")));
  EXPECT_THAT(get(kPage + "?page=3").body, AllOf(HasSubstr(">key10<"), Not(HasSubstr(">key44<"))));
  for (const std::string& find : {std::string("tim%40"), std::string("batch"), made.prefix})
    EXPECT_THAT(get(kPage + "?find=" + find).body,
                AllOf(HasSubstr(made.prefix), Not(HasSubstr(">key44<")), Not(HasSubstr(made.text))))
        << find;
  for (const std::string& secret : {made.text, made.text + "x"}) {
    const http::HttpResponse found = get(kPage + "?find=" + secret);
    EXPECT_EQ(header(found, "Location"), kPage + "?find=" + made.prefix);
    EXPECT_THAT(found.body, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(get(kPage + "?find=nothing").body, HasSubstr("There is no such key."));
  for (const char* query : {"page=0", "page=x", "account=1"})
    EXPECT_THAT(get(kPage + "?" + query).body,
                AllOf(HasSubstr("One filter does not apply:"), Not(HasSubstr("tim@"))));
}

}  // namespace
}  // namespace giftsync::console
