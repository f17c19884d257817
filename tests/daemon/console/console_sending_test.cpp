// The console's page of budgets and pauses.
#include "sync/access/credential.h"
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConsoleSending : public ConsoleWork {
 protected:
  static inline const std::string kPage = "/console/sending";

  void limit(const sync::SendingBudgetRules& rules) {
    options_.budget_rules = rules;
    console_ = std::make_unique<Console>(store_, options_);
    store_.gifts.set_sending_charge([this](const store::GiftRequest& request) {
      return sync::charge_of(options_.budget_rules, store_.sending_usage.budgets(), request, now_, now_);
    });
  }
  AccountId account(const std::string& email, std::optional<OrganizationId> of = {}) {
    return store_.accounts.create({{}, email, "", Plan::team, true, now_, of}).value();
  }
  /// Gifts that count.
  void send(AccountId account, std::size_t gifts) {
    store::NewGiftRequest request;
    request.request.account = account;
    request.request.created_at = now_;
    request.request.costs.item = Money{500};
    for (std::size_t i = 0; i < gifts; ++i)
      request.recipients.push_back({"ada" + std::to_string(i) + "@example.com", "", "", ""});
    ASSERT_EQ(store_.gifts.create(std::span(&request, 1)).front().kind, store::CreateOutcome::Kind::created);
  }
  store::Credential paused_token(const std::string& organization_name) {
    sync::NewCredential token = sync::make_credential(CredentialKind::organization_token, now_);
    EXPECT_TRUE(store_.organizations.create(organization_name, token));
    for (const store::Credential& made : store_.credentials.list(CredentialKind::organization_token)) {
      if (made.owner != organization_name) continue;
      EXPECT_TRUE(store_.credentials.pause(made, kMarkup, now_));
      return made;
    }
    return {};
  }
  std::string press_on_page(const std::string& path, const std::string& more = "") {
    return press_on(get(kPage).body, path, more);
  }
  std::string press_on(const std::string& page, const std::string& path, const std::string& more = "") {
    return header(press_plain(page, path, paused_at_in(page, path) + more), "Location");
  }
};

// CON-67, GUARD-8
TEST_F(ConsoleSending, BudgetsShowWhatIsUsedAndLeft) {
  sync::SendingBudgetRules rules;
  rules.account.day.gifts = 4;
  limit(rules);
  send(account("rose@example.com"), 3);
  const AccountId tim = account("tim@example.com");
  store_.sending_usage.set(
      {store::usage_scope(store::BudgetKind::account, tim.value), 0, {}, {}, Money{50'000}, now_, "root"},
      {});
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string page = get(kPage).body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("rose@<wbr>example.<wbr>com"), HasSubstr("3 of 4, 1 left"),
                    HasSubstr("value=\"75\" aria-label=\"Used: 75 %\">"), Not(HasSubstr("used up")),
                    HasSubstr("<time datetime=\"2026-11-22T00:00:00.000Z\">"), HasSubstr("Each account"),
                    HasSubstr("of 500.00"), HasSubstr("set by command"), HasSubstr("no limit"),
                    HasSubstr("giftsyncctl budget set account rose@example.com --day-gifts 4"),
                    HasSubstr("giftsyncctl budget set account tim@example.com --month-amount 500.00"),
                    Not(HasSubstr("so nothing limits")), HasSubstr("aria-current=\"page\"")));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr("3 of 4, 1 left"), Not(HasSubstr("budget set account"))));
}

// covers: CON-67
TEST_F(ConsoleSending, TheBarOfABudgetIsAmberFromTheFirstWarningAndRedOnceItIsUsedUp) {
  struct Row {
    std::vector<std::int64_t> warn_at;
    std::size_t gifts;  ///< of 10
    std::string colour;
  };
  const std::vector<Row> rows{{{80, 100}, 7, "green"}, {{80, 100}, 8, "amber"}, {{80, 100}, 10, "red"},
                              {{50, 90}, 5, "amber"},  {{50, 90}, 9, "amber"},  {{50, 90}, 10, "red"},
                              {{100}, 9, "green"},     {{100}, 10, "red"},      {{}, 9, "green"},
                              {{}, 10, "red"},         {{1}, 1, "amber"},       {{80, 100}, 13, "red"}};
  sign_in(user("ana@example.com", {Role::admin}));
  for (const Row& row : rows) {
    sync::SendingBudgetRules rules;
    rules.warn_at = row.warn_at;
    rules.account.day.gifts = 100;
    limit(rules);
    const AccountId rose = account("rose" + std::to_string(&row - rows.data()) + "@example.com");
    send(rose, row.gifts);
    const std::string scope = store::usage_scope(store::BudgetKind::account, rose.value);
    store_.sending_usage.set({scope, 10, {}, {}, {}, now_, "root"}, {});
    const std::string page = get(kPage).body;
    const auto number = [&](const std::string& attribute) {
      const std::size_t at = page.find(" " + attribute + "=\"", page.find("<meter")) + attribute.size() + 3;
      return std::stoll(page.substr(at));
    };
    // As the standard says of a meter whose best value is below `low`.
    EXPECT_EQ(number("optimum"), 0);
    const std::int64_t value = number("value");
    const std::string colour = value <= number("low") ? "green" : value <= number("high") ? "amber" : "red";
    EXPECT_EQ(colour, row.colour) << row.gifts;
    EXPECT_EQ(page.find("<strong>used up</strong>") != std::string::npos, row.colour == "red") << row.gifts;
    store_.sending_usage.unset(scope, {});
  }
}

// CON-67
TEST_F(ConsoleSending, WithoutALimitPageAndOverviewSaySoOnce) {
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string sentence =
      "Neither a budget nor a burst is set, so nothing limits what a leaked key spends.";
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr(sentence), HasSubstr("No budget is set.")));
  const std::string overview = get("/console/").body;
  const std::size_t at = overview.find(sentence);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(overview.find(sentence, at + 1), std::string::npos);
  EXPECT_THAT(overview, HasSubstr("<strong><a href=\"/console/sending\">Budgets</a><span class=\"hidden\">: "
                                  "no limit.</span></strong>"));
}

// CON-67, CON-7
TEST_F(ConsoleSending, UsersOfAnOrganizationSeeItsBudgetsAlone) {
  sync::SendingBudgetRules rules;
  rules.account.day.gifts = 4;
  rules.installation.day.gifts = 100;
  limit(rules);
  const OrganizationId acme = organization("Acme");
  send(account("rose@acme.example", acme), 1);
  send(account("tim@other.example"), 2);
  paused_token("Other");
  ASSERT_TRUE(store_.mail_pauses.begin({now_, "root", "wrong item"}));
  sign_in(user("ana@acme.example", {Role::admin}, acme));
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr("rose@<wbr>acme."), HasSubstr("Each account"), Not(HasSubstr("tim@")),
                    Not(HasSubstr("Installation")), Not(HasSubstr("got_live_")), Not(HasSubstr("wrong item")),
                    Not(HasSubstr("giftsyncctl budget set"))));
  for (const Role role : {Role::sender, Role::approver}) {
    sign_in(user("user" + std::to_string(static_cast<int>(role)) + "@example.com", {role}));
    EXPECT_EQ(get(kPage).status, 404);
  }
}

// CON-67, HTTP-51
TEST_F(ConsoleSending, APausedTokenIsReleasedByAnAdmin) {
  const auto token = paused_token("Edge");
  const std::string path = kPage + "/tokens/" + std::to_string(token.id.value) + "/release";
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get(kPage).body, AllOf(HasSubstr(token.prefix), HasSubstr("&lt;script&gt;"),
                                     Not(HasSubstr("<script>alert")), Not(HasSubstr("/release\""))));
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  now_ = now_ + kProofMillis + 1;
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr("sign-in-link --user ana@example.com"), Not(HasSubstr("/release\""))));
  EXPECT_EQ(header(post("/console/link/" + link_for(ana, "again")), "Location"), kPage);
  EXPECT_THAT(get("/console/").body, HasSubstr("<a href=\"/console/sending#paused\">"));
  const std::string shown = get(kPage).body;
  EXPECT_EQ(press_on_page(path), kPage + "?notice=token_released");
  EXPECT_EQ(last_event().action, "organization.release-token");
  EXPECT_EQ(last_event().object_kind + " " + last_event().object_id, "organization Edge");
  EXPECT_EQ(last_event().detail, "token " + token.prefix);
  EXPECT_EQ(last_event().organization, token.organization);
  EXPECT_THAT(get(kPage).body, HasSubstr("No key and no token is paused."));
  EXPECT_EQ(press_on(shown, path), kPage + "?notice=token_unchanged");
  ASSERT_TRUE(store_.credentials.pause(token, "again", now_ + 1));
  EXPECT_EQ(press_on(shown, path), kPage + "?notice=token_unchanged") << "this pause was not shown";
  EXPECT_EQ(store_.credentials.list_paused(now_).size(), 1u);
}

// CON-67
TEST_F(ConsoleSending, ManyPausedTokensAreCountedAndNotAllListed) {
  for (int i = 0; i < 33; ++i) paused_token("Edge" + std::to_string(i));
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string page = get(kPage).body;
  EXPECT_THAT(page, HasSubstr("that are not shown: 3."));
  EXPECT_LT(page.size(), 60'000u);
}

// CON-67, MAIL-36
TEST_F(ConsoleSending, MailIsSentAgainWithATickAndANewProof) {
  int woken = 0;
  options_.wake_workers = [&woken] { ++woken; };
  console_ = std::make_unique<Console>(store_, options_);
  const UserId op = user("op@example.com", {Role::operations});
  sign_in(op);
  EXPECT_THAT(get(kPage).body, HasSubstr("No admin has paused mail."));
  ASSERT_TRUE(store_.mail_pauses.begin({now_, "root", kMarkup}));
  EXPECT_EQ(press_on_page(kPage + "/resume"), kPage + "?notice=not_confirmed");
  EXPECT_TRUE(store_.mail_pauses.state().pause);
  const std::string shown = get(kPage).body;
  EXPECT_THAT(shown, AllOf(HasSubstr("by root: &lt;script&gt;"), Not(HasSubstr("<script>alert"))));
  now_ = now_ + kProofMillis + 1;
  EXPECT_EQ(press_plain(shown, kPage + "/resume", "&confirm=1").status, 403);
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_TRUE(store_.mail_pauses.state().pause);
  sign_in(op);
  const std::string of_first = get(kPage).body;
  ASSERT_TRUE(store_.mail_pauses.end(now_));
  ASSERT_TRUE(store_.mail_pauses.begin({now_, "ben", "another"}));
  EXPECT_EQ(press_on(of_first, kPage + "/resume", "&confirm=1"), kPage + "?notice=mail_not_paused");
  EXPECT_EQ(store_.mail_pauses.state().pause->by, "ben") << "this pause was not shown";
  EXPECT_EQ(press_on_page(kPage + "/resume", "&confirm=1"), kPage + "?notice=mail_resumed");
  EXPECT_FALSE(store_.mail_pauses.state().pause);
  EXPECT_EQ(last_event().action, "mail.resume");
  EXPECT_EQ(woken, 1);
  const std::string token = "confirm=1&form_token=" + form_token(form_secret(), "/sending/resume");
  EXPECT_EQ(header(post(kPage + "/resume", token), "Location"), kPage + "?notice=mail_not_paused");
  EXPECT_EQ(woken, 1);
  sign_in(user("aud@example.com", {Role::auditor}));
  const std::string of_auditor = "confirm=1&form_token=" + form_token(form_secret(), "/sending/resume");
  EXPECT_EQ(post(kPage + "/resume", of_auditor).status, 404);
}

// covers: CON-45, CON-67
TEST_F(ConsoleSending, AllMailIsPausedWithANewProof) {
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  const std::string shown = get(kPage).body;
  EXPECT_THAT(shown, AllOf(HasSubstr("No admin has paused mail."), HasSubstr("/sending/pause\"")));
  now_ = now_ + kProofMillis + 1;
  EXPECT_EQ(press_plain(shown, kPage + "/pause").status, 403);
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_FALSE(store_.mail_pauses.state().pause);
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr("sign-in-link --user ana@example.com"), Not(HasSubstr("/sending/pause\""))));
  sign_in(ana);
  const std::string page = get(kPage).body;
  EXPECT_EQ(header(press_plain(page, kPage + "/pause", "&reason=a%0Ab"), "Location"),
            kPage + "?notice=key_bad_reason");
  EXPECT_FALSE(store_.mail_pauses.state().pause);
  const std::string done = header(press_plain(page, kPage + "/pause", "&reason=wrong+item"), "Location");
  EXPECT_EQ(done, kPage + "?notice=mail_paused");
  const auto pause = store_.mail_pauses.state().pause;
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->by + ": " + pause->reason, "ana@example.com: wrong item");
  EXPECT_EQ(pause->since, now_);
  EXPECT_EQ(last_event().action + " " + last_event().object_kind + ": " + last_event().detail,
            "mail.pause mail: wrong item");
  EXPECT_EQ(last_event().actor, "ana@example.com");
  EXPECT_THAT(get(done).body, AllOf(HasSubstr("by ana@example.com: wrong item"),
                                    HasSubstr("/sending/resume\""), Not(HasSubstr("/sending/pause\""))));
  EXPECT_EQ(header(press_plain(page, kPage + "/pause", "&reason=late"), "Location"),
            kPage + "?notice=mail_already_paused");
  EXPECT_EQ(store_.mail_pauses.state().pause->reason, "wrong item");
  EXPECT_EQ(last_event().detail, "wrong item") << "what changes nothing is no event";
}

// covers: CON-27, CON-45
TEST_F(ConsoleSending, WhoMayPauseAllMail) {
  const OrganizationId acme = organization("Acme");
  const auto status_of_press = [&](const UserId id) {
    sign_in(id);
    return post(kPage + "/pause", "form_token=" + form_token(form_secret(), "/sending/pause")).status;
  };
  EXPECT_EQ(status_of_press(user("aud@example.com", {Role::auditor})), 404);
  EXPECT_EQ(status_of_press(user("app@example.com", {Role::approver})), 404);
  EXPECT_EQ(status_of_press(user("of.acme@example.com", {Role::admin, Role::operations}, acme)), 404)
      << "mail is that of all organizations";
  EXPECT_THAT(get(kPage).body, Not(HasSubstr("/sending/pause\"")));
  EXPECT_FALSE(store_.mail_pauses.state().pause);
  EXPECT_EQ(status_of_press(user("op@example.com", {Role::operations})), 303);
  EXPECT_TRUE(store_.mail_pauses.state().pause);
}

}  // namespace
}  // namespace giftsync::console
