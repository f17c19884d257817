// The console over a store: signing in by link, sessions, forms, what pages show and how, and the CSV.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "daemon/console/page_frame.h"
#include "platform/dependency_error.h"
#include "tests/daemon/console/console_fixture.h"
#include "tests/support/temporary_database.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kMarkup = "<script>alert(1)</script>\" onload=\"x";

class ConsoleTest : public ConsoleFixture {
 protected:
  std::vector<TransactionId> send_gifts(std::size_t count, const std::string& text = "text") {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.item_name = text;
    request.request.sender_email = text;
    request.request.sender_name = text;
    request.request.utm_campaign_id = text;
    request.request.http_request_id = text;
    request.request.credential_prefix = text;
    request.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      request.recipients.push_back({text + std::to_string(i) + "@example.com", text, text, text});
    std::vector<TransactionId> ids;
    const auto outcomes = store_.gifts.create(std::span(&request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  static std::string read_all(const http::HttpResponse& response) {
    std::string text;
    for (std::string part = response.next_chunk(); !part.empty(); part = response.next_chunk()) text += part;
    return text;
  }
  std::vector<std::string> actions() {
    std::vector<std::string> found;
    for (const auto& event : store_.audit.list(store::Viewer::of_command_line(), {}, 100))
      if (!event.action.empty()) found.push_back(event.action);
    return found;
  }
};

// CON-19
TEST_F(ConsoleTest, ACrmThatDoesNotRespondIsNoOutageOfTheStore) {
  options_.daemons = []() -> std::vector<store::SeenDaemonInstance> {
    throw DependencyError(true, "the CRM's database cannot be reached", true);
  };
  console_ = std::make_unique<Console>(store_, options_);
  sign_in(user("ana@example.com", {Role::operations}));
  const auto page = get("/console/");
  EXPECT_EQ(page.status, 503);
  EXPECT_THAT(page.body, HasSubstr("The CRM does not respond"));
  options_.daemons = []() -> std::vector<store::SeenDaemonInstance> {
    throw DependencyError(true, "the database cannot be reached");
  };
  console_ = std::make_unique<Console>(store_, options_);
  EXPECT_THROW(get("/console/"), DependencyError) << "the router counts it";
}

// CON-19
TEST_F(ConsoleTest, AFaultOfAPageEndsItsRequestAlone) {
  options_.daemons = []() -> std::vector<store::SeenDaemonInstance> { throw std::logic_error("none"); };
  console_ = std::make_unique<Console>(store_, options_);
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_EQ(get("/console/").status, 500);
  EXPECT_EQ(get("/console/gifts").status, 200);
}

// CON-15, CON-2
TEST_F(ConsoleTest, ALinkShowsAButtonAndSignsInOnce) {
  const std::string link = "/console/link/" + link_for(user("ana@example.com", {Role::operations}));
  for (int i = 0; i < 2; ++i) {
    const auto page = get(link);
    EXPECT_EQ(page.status, 200);
    EXPECT_THAT(page.body,
                AllOf(HasSubstr("Sign in as ana@example.com?"), HasSubstr("<form method=\"post\">")));
    EXPECT_EQ(header(page, "Set-Cookie"), "");
  }
  const auto signed_in = post(link);
  EXPECT_EQ(signed_in.status, 303);
  EXPECT_EQ(header(signed_in, "Location"), "/console/");
  EXPECT_THAT(header(signed_in, "Set-Cookie"),
              AllOf(StartsWith("__Host-giftsync_session="),
                    HasSubstr("; Path=/; HttpOnly; SameSite=Lax; Secure"), Not(HasSubstr("Max-Age"))));
  EXPECT_THAT(get("/console/").body, HasSubstr("Link session, ends"));
  const std::string first = cookie_;
  EXPECT_EQ(post(link).status, 404);
  EXPECT_EQ(get(link).status, 404);
  EXPECT_EQ(cookie_, first);
  EXPECT_THAT(actions(), testing::ElementsAre("sign-in"));
  const auto event = store_.audit.list(store::Viewer::of_command_line(), {}, 1).front();
  EXPECT_EQ(event.detail, "by a link of root");
  EXPECT_EQ(event.network, "192.0.2.7");
  now_ = now_ + kHourMillis;
  EXPECT_EQ(get("/console/").status, 303) << "its session lasts an hour";
}

// SIGN-12
TEST_F(ConsoleTest, ALinkLeadsToThePageThatWasWanted) {
  const UserId ana = user("ana@example.com", {Role::operations});
  const auto where_a_link_leads = [&](const std::string& token) {
    return header(post("/console/link/" + link_for(ana, token)), "Location");
  };
  const std::string sign_in_page = header(get("/console/gifts?status=sent"), "Location");
  EXPECT_THAT(header(get(sign_in_page), "Set-Cookie"),
              AllOf(StartsWith("__Host-giftsync_session_return="), HasSubstr("; HttpOnly"),
                    HasSubstr("; Max-Age=600")));
  get("/console/link/" + link_for(ana, "a"));
  EXPECT_EQ(where_a_link_leads("b"), "/console/gifts?status=sent");
  EXPECT_EQ(get("/console/gifts?status=sent").status, 200);
  EXPECT_TRUE(other_cookies_.empty()) << "it is used once";
  EXPECT_EQ(where_a_link_leads("c"), "/console/");
  cookie_.clear();
  get("/console/sign-in?return=https%3A%2F%2Fevil.com");
  EXPECT_TRUE(other_cookies_.empty());
  for (const std::string wanted : {"https://evil.com", "//evil.com", "/console/../x", "/api/v1"}) {
    other_cookies_["__Host-giftsync_session_return"] = to_base64url(wanted);
    EXPECT_EQ(where_a_link_leads(to_base64url(wanted)), "/console/") << wanted;
  }
  other_cookies_["__Host-giftsync_session_return"] = "!";
  EXPECT_EQ(where_a_link_leads("d"), "/console/");
}

// CON-1
TEST_F(ConsoleTest, ASignInByLinkEndsTheSessionOfItsBrowser) {
  const UserId ana = user("ana@example.com", {Role::operations});
  sign_in(ana);
  const std::string elsewhere = cookie_;
  sign_in(ana);
  const std::string before = cookie_;
  EXPECT_EQ(post("/console/link/" + link_for(ana)).status, 303);
  EXPECT_EQ(get("/console/").status, 200);
  cookie_ = elsewhere;
  EXPECT_EQ(get("/console/").status, 200) << "another browser";
  cookie_ = before;
  EXPECT_EQ(get("/console/").status, 303) << "the same browser";
}

// CON-15
TEST_F(ConsoleTest, GuessedLinksAreLimited) {
  for (int i = 0; i < ConsoleSignIn::kMaxGuesses; ++i) EXPECT_EQ(get("/console/link/guess").status, 404);
  EXPECT_EQ(get("/console/link/guess").status, 429);
  EXPECT_EQ(post("/console/link/guess").status, 429);
  now_ = now_ + kMinuteMillis;
  EXPECT_EQ(get("/console/link/guess").status, 404);
}

// CON-1
TEST_F(ConsoleTest, ASessionThatWasSetBeforeSigningInIsNotKept) {
  cookie_ = "chosen-by-another";
  const std::string link = "/console/link/" + link_for(user("ana@example.com", {Role::operations}));
  post(link);
  EXPECT_NE(cookie_, "chosen-by-another");
  EXPECT_EQ(get("/console/").status, 200);
  cookie_ = "chosen-by-another";
  EXPECT_EQ(get("/console/").status, 303);
}

// CON-1
TEST_F(ConsoleTest, SessionsEndByIdlenessBySignOutAndWithTheirUser) {
  const UserId ana = user("ana@example.com", {Role::operations});
  options_.settings.idle_minutes = 10;
  console_ = std::make_unique<Console>(store_, options_);
  sign_in(ana);
  now_ = now_ + 9 * kMinuteMillis;
  const auto page = get("/console/");
  EXPECT_EQ(page.status, 200);
  now_ = now_ + 9 * kMinuteMillis;
  EXPECT_EQ(get("/console/").status, 200) << "the last request counts";
  now_ = now_ + 10 * kMinuteMillis;
  EXPECT_EQ(get("/console/").status, 303);
  sign_in(ana);
  const std::string token = form_token_in(get("/console/").body, "/console/sign-out");
  const auto out = post("/console/sign-out", "form_token=" + token);
  EXPECT_EQ(out.status, 303);
  EXPECT_EQ(cookie_, "");
  sign_in(ana);
  store_.console_users.set_active(ana, false, {});
  EXPECT_EQ(get("/console/").status, 303);
}

// CON-11, SIGN-12
TEST_F(ConsoleTest, AFormOfASessionThatEndedSaysThatNothingWasDoneAndComesBack) {
  const UserId ana = user("ana@example.com", {Role::operations});
  const std::map<std::string, std::string> pages{{"requests/R-1/approve", "/console/requests/R-1"},
                                                 {"gifts/17/cancel", "/console/gifts/17"},
                                                 {"gifts/17/match", "/console/gifts/17/match"},
                                                 {"mail/17/release", "/console/mail"},
                                                 {"mail/retry", "/console/mail"},
                                                 {"users/1/end-sessions", "/console/users"},
                                                 {"sources/a b/purge", "/console/sources/a%20b"},
                                                 {"crm/retry", "/console/crm"},
                                                 {"nothing/at/all", "/console/"}};
  for (const auto& [form, page] : pages) {
    cookie_.clear();
    other_cookies_.clear();
    const auto answer = post("/console/" + form, "form_token=old&note=typed");
    EXPECT_EQ(answer.status, 303);
    EXPECT_EQ(header(answer, "Location"), "/console/sign-in?" + query_of({{"ended", "1"}, {"return", page}}))
        << form;
    EXPECT_THAT(get(header(answer, "Location")).body,
                HasSubstr("role=\"status\">Your session had ended, so nothing was done."));
    const std::string token = to_base64url(form);
    EXPECT_EQ(header(post("/console/link/" + link_for(ana, token)), "Location"), page) << form;
  }
}

// CON-1
TEST_F(ConsoleTest, ASignOutIsConfirmed) {
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string form = "form_token=" + form_token_in(get("/console/").body, "/console/sign-out");
  for (int i = 0; i < 2; ++i) {  // the second one has no session any more
    const std::string out = header(post("/console/sign-out", form), "Location");
    EXPECT_EQ(out, "/console/sign-in?signed_out=1");
    EXPECT_THAT(get(out).body, AllOf(HasSubstr("You are signed out."), Not(HasSubstr("nothing was done"))));
  }
}

// CON-15, SIGN-12
TEST_F(ConsoleTest, ThePageWithoutASessionIsForPeopleWithoutAccessToTheServer) {
  const std::string page = get(header(get("/console/requests/R-1?a=secret"), "Location")).body;
  EXPECT_THAT(page, AllOf(HasSubstr("Ask your administrator for a sign-in link, and open it in this browser"),
                          HasSubstr("You return to request R-1."), HasSubstr("--user EMAIL</code>"),
                          Not(HasSubstr("secret")), Not(HasSubstr("example.com"))));
  EXPECT_LT(page.find("<details>"), page.find("giftsyncctl"));
  const auto refused = get("/console/link/old");
  EXPECT_EQ(refused.status, 404);
  EXPECT_THAT(refused.body,
              AllOf(HasSubstr("This link does not work"), HasSubstr("It was used already"),
                    HasSubstr("Ask your administrator for a sign-in link"),
                    HasSubstr("You return to request R-1."), Not(HasSubstr("To the overview"))));
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/link/old").body,
              AllOf(HasSubstr("To the overview"), Not(HasSubstr("giftsyncctl"))));
}

// CON-11
TEST_F(ConsoleTest, AFormNeedsItsOriginAndItsToken) {
  const UserId ana = user("ana@example.com", {Role::operations});
  sign_in(ana);
  const std::string page = get("/console/users").body;
  const std::string path = "/console/users/" + std::to_string(ana.value) + "/end-sessions";
  const std::string token = form_token_in(page, path);
  const std::string other = form_token_in(page, "/console/sign-out");
  EXPECT_EQ(post(path, "form_token=" + token, "https://evil.com").status, 403);
  EXPECT_EQ(post(path, "").status, 403);
  EXPECT_EQ(post(path, "form_token=").status, 403);
  EXPECT_EQ(post(path, "form_token=" + other).status, 403) << "of another form";
  const std::string before = cookie_;
  sign_in(ana);
  EXPECT_EQ(post(path, "form_token=" + token).status, 403) << "of another session";
  cookie_ = before;
  EXPECT_EQ(get(path).status, 405);
  EXPECT_EQ(store_.console_sessions.list(store::Viewer::of_command_line(), now_).size(), 2u);
  EXPECT_EQ(post(path, "form_token=" + token).status, 303);
  EXPECT_TRUE(store_.console_sessions.list(store::Viewer::of_command_line(), now_).empty());
  sign_in(ana);
  EXPECT_THAT(get("/console/audit").body, HasSubstr("<a href=\"/console/users?find=ana%40example.com\">"));
  const std::string link = "/console/link/" + link_for(ana);
  EXPECT_EQ(post(link, "", "https://evil.com").status, 403);
  EXPECT_EQ(get(link).status, 200) << "the link was not used";
}

// CON-10
TEST_F(ConsoleTest, EveryPageHasItsHeadersAndNothingInline) {
  const auto ids = send_gifts(1, kMarkup);
  sign_in(user("ana@example.com", {Role::operations}));
  for (const std::string& path :
       {std::string("/console/"), std::string("/console/gifts"),
        "/console/gifts/" + std::to_string(ids[0].value), std::string("/console/audit"),
        std::string("/console/users"), std::string("/console/nothing")}) {
    const auto page = get(path);
    EXPECT_THAT(header(page, "Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("require-trusted-types-for 'script'"),
                      HasSubstr("frame-ancestors 'none'"), Not(HasSubstr("unsafe"))));
    const std::map<std::string, std::string> headers{{"Cache-Control", "no-store"},
                                                     {"Referrer-Policy", "same-origin"},
                                                     {"X-Content-Type-Options", "nosniff"},
                                                     {"Cross-Origin-Opener-Policy", "same-origin"},
                                                     {"Cross-Origin-Resource-Policy", "same-origin"},
                                                     {"X-Frame-Options", "DENY"}};
    for (const auto& [name, value] : headers) EXPECT_EQ(header(page, name), value) << path << " " << name;
    EXPECT_THAT(page.body,
                AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("<style")), Not(HasSubstr(" style=")),
                      Not(HasSubstr("\" onload=\"x")), Not(HasSubstr("{{"))))
        << path;
  }
  EXPECT_THAT(get("/console/gifts").body, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(get("/console/users").body, HasSubstr("&lt;b&gt;browser"));
}

// CON-10
TEST_F(ConsoleTest, AssetsAreKeptForAYearUnderTheirHash) {
  const auto style = get("/console/" + style_path());
  EXPECT_EQ(style.status, 200);
  EXPECT_EQ(header(style, "Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(get("/console/" + script_path()).status, 200);
  EXPECT_EQ(get("/console/assets/000000000000/console.css").status, 404);
}

// CON-12
TEST_F(ConsoleTest, AnotherHostIsRefusedAndReturnPathsStay) {
  http::HttpRequest foreign = request("GET", "/console/");
  foreign.headers.erase("Host");
  foreign.headers.emplace("Host", "evil.com");
  EXPECT_EQ(send(foreign).status, 421);
  EXPECT_EQ(header(get("/console/gifts?status=sent"), "Location"),
            "/console/sign-in?return=%2Fconsole%2Fgifts%3Fstatus%3Dsent");
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_EQ(header(get("/console/sign-in?return=%2Fconsole%2Fgifts"), "Location"), "/console/gifts");
  EXPECT_EQ(header(get("/console/sign-in?return=%2F%2Fevil.com"), "Location"), "/console/");
  EXPECT_EQ(header(get("/console"), "Location"), "/console/");
  EXPECT_EQ(send(request("PUT", "/console/")).status, 405);
}

// CON-16, CON-17
TEST_F(ConsoleTest, AnAuditorIsToldThatGiftsAreNotSearchedByRecipient) {
  sign_in(user("aud@example.com", {Role::auditor}));
  send_gifts(1);
  const std::string page = get("/console/gifts?find=tom&status=sent").body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("find=tom: your role cannot search by this."),
                    HasSubstr("<a href=\"/console/gifts?status=sent\">The list without it</a>"),
                    Not(HasSubstr("***@")), Not(HasSubstr("No gift fits")), Not(HasSubstr("format=csv"))));
  EXPECT_THAT(get("/console/gifts?status=sent").body,
              AllOf(HasSubstr("***@<wbr>example.<wbr>com"), HasSubstr("placeholder=\"Number or id\"")));
  EXPECT_THAT(get("/console/gifts?find=text0@example.com").body,
              AllOf(HasSubstr("your role cannot search by this."), Not(HasSubstr("***@"))));
  EXPECT_THAT(get("/console/gifts?find=%231").body, HasSubstr("***@<wbr>example.<wbr>com"))
      << "a number is of no person";
  const auto csv = get("/console/gifts?find=tom&format=csv");
  EXPECT_EQ(csv.status, 400);
  EXPECT_THAT(csv.body, HasSubstr("Nothing was exported"));
  EXPECT_THAT(actions(), testing::ElementsAre("sign-in")) << "no export";
}

// CON-52
TEST(PageFrame, AnAddressIsMadeOfPartsThatEndWithAtAndDot) {
  const auto parts_of = [](const std::string& address) {
    Data data;
    set_address(data, "to", address);
    kainjow::mustache::mustache shown("{{#to}}({{#parts}}{{.}}|{{/parts}}){{/to}}");
    return shown.render(data);
  };
  EXPECT_EQ(parts_of("ana.lima@x.example"), "(ana.|lima@|x.|example|)");
  EXPECT_EQ(parts_of("+16508673450"), "(+16508673450|)");
  EXPECT_EQ(parts_of("odd@."), "(odd@|.|)");
  EXPECT_EQ(parts_of("<b>@x"), "(&lt;b&gt;@|x|)");
  EXPECT_EQ(parts_of(""), "");
}

// CON-17
TEST_F(ConsoleTest, GiftsAreListedByTheirUrlInPages) {
  send_gifts(60);
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string first = get("/console/gifts?status=sent").body;
  EXPECT_THAT(first, AllOf(Not(HasSubstr("The list without it")), HasSubstr("before=11&amp;status=sent"),
                           HasSubstr("text59@<wbr>example.<wbr>com"), Not(HasSubstr("text9@"))));
  const std::string second = get("/console/gifts?status=sent&before=11").body;
  EXPECT_THAT(second, AllOf(HasSubstr("text9@<wbr>example.<wbr>com"), Not(HasSubstr("before=")),
                            HasSubstr("Newest")));
  EXPECT_THAT(get("/console/gifts?status=redeemed").body, HasSubstr("No gift fits"));
  EXPECT_THAT(get("/console/gifts?key=gsk_live_Ab3dE5g...").body,
              AllOf(HasSubstr("No gift fits"), HasSubstr("Key or token: gsk_live_Ab3dE5g"),
                    HasSubstr("name=\"key\" value=\"gsk_live_Ab3dE5g...\" maxlength=\"16\"")));
}

// CON-17
TEST_F(ConsoleTest, AFilterThatCannotBeAppliedListsNothing) {
  send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  for (const auto& [query, reason] : {std::pair{"colour=red", "colour=red: this list has no such filter."},
                                      std::pair{"since=2026-13-45", "since=2026-13-45: there is no such"},
                                      std::pair{"status=lost", "status=lost: there is no such value."},
                                      std::pair{"before=x", "before=x: there is no such value."}}) {
    const std::string path = std::string("/console/gifts?") + query;
    EXPECT_THAT(get(path).body, AllOf(HasSubstr(reason), Not(HasSubstr("text0@example.com")),
                                      HasSubstr("<a href=\"/console/gifts\">The list without it</a>")));
    EXPECT_EQ(get(path + "&format=csv").status, 400) << query;
  }
  EXPECT_THAT(get("/console/gifts?format=csv&before=1").next_chunk(),
              StartsWith("\xEF\xBB\xBFtransaction_id,"));
  EXPECT_THAT(get("/console/audit?since=yesterday&actor=ana@example.com").body,
              AllOf(HasSubstr("since=yesterday: there is no such value."),
                    HasSubstr("<a href=\"/console/audit?actor="), Not(HasSubstr("by a link of root"))));
  for (const std::string list : {"audit?who=ana", "users?who=ana", "mail?who=ana"})
    EXPECT_THAT(
        get("/console/" + list).body,
        AllOf(HasSubstr("who=ana: this list has no such filter."), Not(HasSubstr("by a link of root")),
              Not(HasSubstr("<h2><bdi>")), Not(HasSubstr("text0@<wbr>example"))))
        << list;
  EXPECT_THAT(get("/console/mail?state=foo").body,
              AllOf(HasSubstr("state=foo: there is no such value."), Not(HasSubstr("text0@example.com"))));
  EXPECT_THAT(get("/console/mail?state=all").body,
              AllOf(HasSubstr("text0@<wbr>example.<wbr>com"), Not(HasSubstr("The list without it"))));
  EXPECT_THAT(
      get("/console/requests?state=foo&find=R-1").body,
      AllOf(HasSubstr("state=foo: there is no such value."),
            HasSubstr("<a href=\"/console/requests?find=R-1\">"), Not(HasSubstr("No request fits here."))));
  EXPECT_THAT(get("/console/requests?number=R-1").body,
              AllOf(HasSubstr("number=R-1: this list has no such filter."),
                    HasSubstr("<a href=\"/console/requests\">The list without it</a>")));
  EXPECT_THAT(get("/console/requests?state=failed").body, HasSubstr("No request fits here."));
}

// CON-17
TEST_F(ConsoleTest, UsersAreListedInPages) {
  const UserId first = user("first@example.com", {Role::admin});
  for (int i = 2; i <= 31; ++i) user("user" + std::to_string(i) + "@example.com", {Role::sender});
  sign_in(first);
  const std::string page = get("/console/users").body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("user31@example.com"), HasSubstr("user2@example.com"),
                    Not(HasSubstr("<h2><bdi>first@example.com")), HasSubstr("/console/users?before=2\"")));
  EXPECT_LT(page.size(), 60'000u);
  EXPECT_THAT(get("/console/users?before=2").body,
              AllOf(HasSubstr("<h2><bdi>first@example.com"), HasSubstr("Signed in since"),
                    Not(HasSubstr("user2@example.com")), HasSubstr("<a href=\"/console/users\">Newest")));
  EXPECT_THAT(get("/console/users?find=FIRST").body,
              AllOf(HasSubstr("<h2><bdi>first@example.com"), HasSubstr("value=\"FIRST\""),
                    Not(HasSubstr("user2@example.com"))));
  EXPECT_THAT(get("/console/users?find=none").body, HasSubstr("There is no such user."));
  EXPECT_THAT(get("/console/users?before=x&find=user").body,
              AllOf(HasSubstr("before=x: there is no such value."),
                    HasSubstr("<a href=\"/console/users?find=user\">The list without it</a>"),
                    Not(HasSubstr("<h2><bdi>user2@example.com"))));
}

// CON-44
TEST_F(ConsoleTest, AFilterSaysHowItComparesAndWhatItDidNotFind) {
  send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(
      get("/console/gifts").body,
      AllOf(HasSubstr("Sender <span class=\"quiet\">(whole address)</span>"),
            HasSubstr("placeholder=\"Name, address, number\" aria-label=\"Find\""),
            HasSubstr("Campaign <span class=\"quiet\">(exact id)</span>"), Not(HasSubstr("Searched for"))));
  EXPECT_THAT(get("/console/gifts?find=text0@example&status=sent&crm=waiting").body,
              AllOf(HasSubstr("No gift fits"), HasSubstr("compared as a whole"),
                    HasSubstr("<bdi>CRM: Waiting, Recipient: text0@example, Status: Sent</bdi>"),
                    HasSubstr("<a href=\"/console/gifts\">Clear</a>")));
  EXPECT_THAT(get("/console/gifts?find=%20TEXT0@example.com").body,
              AllOf(HasSubstr(">text0@<wbr>example.<wbr>com<wbr></bdi>"), Not(HasSubstr("No gift fits"))))
      << "case and blanks do not count in an address";
  EXPECT_THAT(get("/console/audit").body,
              AllOf(HasSubstr("Action <span class=\"quiet\">(begins with)</span>"),
                    HasSubstr("Who <span class=\"quiet\">(whole address or user name)</span>")));
  EXPECT_THAT(get("/console/audit?actor=ana&action=sign").body,
              HasSubstr("<bdi>Who: ana, Action: sign</bdi>"));
  EXPECT_THAT(get("/console/audit?actor=ana@example.com&action=sign").body, HasSubstr("by a link of root"));
}

// CON-44
TEST_F(ConsoleTest, WhatWasTypedStaysInItsFieldAndAFilterThatIsSetIsAChip) {
  send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  const auto is_shut = HasSubstr("<details class=\"filters\">");
  const auto is_open = HasSubstr("<details class=\"filters\" open>");
  const std::string page = get("/console/gifts?find=zoe").body;
  EXPECT_LT(page.find("name=\"find\" value=\"zoe\""), page.find("<details class=\"filters\">"));
  EXPECT_THAT(page, AllOf(is_shut, HasSubstr("<bdi>Name as the sender typed it: zoe</bdi>"),
                          HasSubstr("another one than that of the contact in the CRM")));
  EXPECT_THAT(
      get("/console/gifts?find=%23x&colour=red").body,
      AllOf(is_shut, HasSubstr("name=\"find\" value=\"#x\""), HasSubstr("One filter does not apply:")));
  EXPECT_THAT(get("/console/gifts?sender=ana@example.com&status=sent").body,
              AllOf(is_shut, HasSubstr("name=\"sender\" value=\"ana@example.com\""),
                    HasSubstr("<a class=\"chip\" href=\"/console/gifts?status=sent\"><span>Sender "
                              "<strong><bdi>ana@example.com</bdi></strong>")));
  EXPECT_THAT(get("/console/gifts?status=lost").body, is_open);
  EXPECT_THAT(get("/console/gifts?since=2026-13-45&item=x").body,
              AllOf(is_open, HasSubstr("name=\"item\" value=\"x\""), HasSubstr("name=\"since\" value=\"\"")));
}

// CON-61
TEST_F(ConsoleTest, AListWithoutGiftsSaysWhoseItWouldHave) {
  const auto requests = HasSubstr("what became of them: <a href=\"/console/requests\">Requests</a>");
  sign_in(user("app@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/gifts").body,
              AllOf(HasSubstr("app@example.com has no active account here"), requests));
  store::Account account;
  account.email = "app@example.com";
  store_.accounts.create(account);
  EXPECT_THAT(get("/console/gifts").body,
              AllOf(HasSubstr("You see the gifts that the account app@example.com sent."), requests));
  store::Credential token;
  token.hash = "hash";
  sign_in(user("adm@example.com", {Role::admin}, store_.organizations.create("Acme", token)));
  EXPECT_THAT(get("/console/gifts").body,
              AllOf(HasSubstr("that accounts of your organization sent."), Not(requests)));
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/gifts").body,
              AllOf(HasSubstr("No gift fits"), Not(HasSubstr("You see the gifts"))));
}

// CON-61
TEST_F(ConsoleTest, ThatAnAccountSentNoneIsSaidOfAWholeSearchAlone) {
  store::Account account;
  account.email = "app@example.com";
  store_.accounts.create(account);
  sign_in(user("app@example.com", {Role::sender}));
  const std::string whose = "<p>You see the gifts that the account app@example.com sent.";
  EXPECT_THAT(get("/console/gifts").body, HasSubstr(whose + " It has sent none that fits.</p>"));
  EXPECT_THAT(get("/console/gifts?before=9").body, HasSubstr(whose + "</p>"))
      << "it may have sent newer ones";
  tests::run_sql(
      temporary_.address(),
      "INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, sender_email, "
      "sender_name, created_at) VALUES (1, 99, 'email', 1, '', '', '', '', 1)");
  tests::run_sql(
      temporary_.address(),
      "INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, "
      "generation, status, sent_at, version) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
      "WHERE i <= " +
          std::to_string(store::ConsoleGifts::kScanBudget) +
          ") SELECT i, 1, i, '', '', '', '', 1, 'sent', i, 1 FROM n");
  EXPECT_THAT(get("/console/gifts").body, AllOf(HasSubstr("Searched back to"), HasSubstr(whose + "</p>")))
      << "the search was cut";
}

// CON-47
TEST_F(ConsoleTest, AGiftIsFoundByWhatAPersonHasInHand) {
  const auto other = send_gifts(1, "zoe");
  const std::string id = std::to_string(send_gifts(1, "J\xC3\xBCrgen")[0].value);  // Jürgen
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string row = "/console/gifts/" + id + "\"";
  const std::string other_row = "/console/gifts/" + std::to_string(other[0].value) + "\"";
  for (const std::string& typed : {id, "+00" + id + "+", "%23" + id, "gift+" + id, "Gift:+%23" + id,
                                   std::string("j%C3%9Crg"), std::string("J%C3%BCrgen+j%C3%BCrgen")})
    EXPECT_THAT(get("/console/gifts?find=" + typed).body, AllOf(HasSubstr(row), Not(HasSubstr(other_row))))
        << typed;
  EXPECT_THAT(get("/console/gifts?find=ZOE0@example.com").body,
              AllOf(HasSubstr(other_row), Not(HasSubstr(row))));
  EXPECT_THAT(get("/console/gifts?find=" + id + "&status=redeemed").body,
              AllOf(HasSubstr("No gift fits"), HasSubstr("<bdi>Id: " + id + ", Status: Redeemed</bdi>")));
  EXPECT_THAT(get("/console/gifts?find=zo%25").body, HasSubstr("No gift fits")) << "no pattern";
  EXPECT_THAT(get("/console/gifts?find=zoe&source=vendor").body, HasSubstr("No gift fits"));
  EXPECT_THAT(get("/console/gifts?find=zoe&source=giftsync").body, HasSubstr(other_row));
  const std::string csv = read_all(get("/console/gifts?format=csv&find=zoe"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  for (const std::string& found : {std::string("find=..."), "find=" + id}) {
    EXPECT_EQ(store_.audit.list(store::Viewer::of_command_line(), {}, 1).front().detail, found);
    read_all(get("/console/gifts?format=csv&find=" + id));
  }
}

// CON-47
TEST_F(ConsoleTest, AGiftIsFoundByTheIdOfItsSource) {
  const auto allotted = store_.external_ids.find_or_allot("vendor", {"A-17"});
  const std::string id = std::to_string(allotted.at("A-17").value);
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/gifts?find=A-17").body,
              AllOf(HasSubstr("No gift fits"), HasSubstr("<bdi>Id: A-17</bdi>")));
  EXPECT_THAT(get("/console/gifts?find=A-18").body, HasSubstr("<bdi>Id in the CRM: A-18</bdi>"));
  EXPECT_THAT(get("/console/gifts?find=A").body, HasSubstr("your role cannot search by this."));
  store_.external_ids.find_or_allot("vendor", {"eve@example.com"});
  EXPECT_THAT(get("/console/gifts?find=eve@example.com").body, HasSubstr("your role cannot search by this."))
      << "as for an address that no source knows";
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/gifts?find=eve@example.com").body, HasSubstr("<bdi>Id: eve@example.com</bdi>"));
}

// CON-47, CON-17
TEST_F(ConsoleTest, WhatCannotBeUnderstoodFindsNothing) {
  send_gifts(1, "-text");
  sign_in(user("ana@example.com", {Role::operations}));
  for (const std::string& typed :
       {std::string("%23"), std::string("%23x"), std::string("-"), std::string("-1"),
        std::string("99999999999999999999"), std::string("@"), std::string("text0@"),
        std::string("@example.com"), std::string(101, 'a')}) {
    EXPECT_THAT(get("/console/gifts?find=" + typed).body,
                AllOf(HasSubstr("this is no number or id of a gift, no whole address and no name."),
                      Not(HasSubstr("-text0@example.com")), Not(HasSubstr("format=csv"))))
        << typed;
    EXPECT_EQ(get("/console/gifts?format=csv&find=" + typed).status, 400) << typed;
  }
  EXPECT_THAT(get("/console/gifts?recipient=-text0@example.com").body,
              HasSubstr("this list has no such filter."));
}

// CON-18
TEST_F(ConsoleTest, CsvHasTheFilteredRowsWithGuardedCells) {
  send_gifts(1, "=HYPERLINK(1)");
  send_gifts(1201);
  sign_in(user("ana@example.com", {Role::operations}));
  const auto all = get("/console/gifts?format=csv");
  EXPECT_EQ(header(all, "Content-Type"), "text/csv; charset=utf-8");
  const std::string text = read_all(all);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1203);
  EXPECT_THAT(text, AllOf(StartsWith("\xEF\xBB\xBFtransaction_id,"), HasSubstr("'=HYPERLINK(1)"),
                          Not(HasSubstr(",=HYPER"))));
  const std::string one = read_all(get("/console/gifts?format=csv&find=text7@example.com"));
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 2);
  const auto event = store_.audit.list(store::Viewer::of_command_line(), {}, 1).front();
  EXPECT_EQ(event.action, "gift.export");
  EXPECT_EQ(event.detail, "find=...") << "auditors read it";
}

// CON-10
TEST_F(ConsoleTest, WhatIsEmptyHasNoLineOnACard) {
  send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/mail?state=queued").body, HasSubstr("<td data-label=\"Last reply\"></td>"));
}

// CON-41
TEST_F(ConsoleTest, ACsvEndsUnfinishedWhenItsReaderMayNotReadOn) {
  send_gifts(1'601);
  const UserId ana = user("ana@example.com", {Role::admin, Role::auditor});
  const auto begin = [&] {
    sign_in(ana);
    auto csv = get("/console/gifts?format=csv");
    EXPECT_THAT(csv.next_chunk(), StartsWith("\xEF\xBB\xBFtransaction_id,"));
    EXPECT_THAT(csv.next_chunk(), HasSubstr("text")) << "a page with the same session";
    return csv;
  };
  const auto of_a_session = begin();
  store_.console_sessions.end_all(ana, {});
  EXPECT_THROW(of_a_session.next_chunk(), std::runtime_error);
  const auto of_an_admin = begin();
  ASSERT_TRUE(store_.console_users.revoke(ana, Role::admin, {}));
  EXPECT_THROW(of_an_admin.next_chunk(), std::runtime_error) << "an auditor sees no recipients";
  const auto of_an_auditor = begin();
  store_.console_users.set_active(ana, false, {});
  EXPECT_THROW(of_an_auditor.next_chunk(), std::runtime_error);
}

// CON-16
TEST_F(ConsoleTest, AnAuditorSeesNoRecipientOnAnyPage) {
  const auto ids = send_gifts(1, "Secret");
  sign_in(user("aud@example.com", {Role::auditor}));
  for (const std::string& path :
       {std::string("/console/gifts"), "/console/gifts/" + std::to_string(ids[0].value)})
    EXPECT_THAT(get(path).body, AllOf(HasSubstr("***@"), Not(HasSubstr("Secret0")))) << path;
  EXPECT_THAT(get("/console/gifts/" + std::to_string(ids[0].value)).body,
              AllOf(HasSubstr(">***</blockquote>"), HasSubstr("<dt>Name</dt><dd><bdi>***</bdi>")))
      << "CON-59";
  EXPECT_THAT(read_all(get("/console/gifts?format=csv")), Not(HasSubstr("Secret0")));
  EXPECT_THAT(get("/console/gifts").body, Not(HasSubstr("name=\"recipient\"")));
}

// CON-7
TEST_F(ConsoleTest, AGiftShowsWhatTheStoreKnows) {
  const auto ids = send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string page = get("/console/gifts/" + std::to_string(ids[0].value)).body;
  EXPECT_THAT(page, AllOf(HasSubstr("text0@example.com"), HasSubstr("Mail in the queue"),
                          HasSubstr("Not yet"), HasSubstr("<blockquote")));
  for (const std::string path :
       {"/console/gifts/999", "/console/gifts/abc", "/console/gifts/1/x", "/console/gifts/"})
    EXPECT_EQ(get(path).status, 404) << path;
}

// CON-42
TEST_F(ConsoleTest, TheNavigationMarksThePageAndTheSectionOfASubPage) {
  const auto ids = send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string link = "<a href=\"/console/gifts\"";
  EXPECT_THAT(get("/console/gifts").body, HasSubstr(link + " aria-current=\"page\">"));
  for (const std::string more : {"", "/match"}) {
    const std::string page = get("/console/gifts/" + std::to_string(ids[0].value) + more).body;
    EXPECT_THAT(page, AllOf(HasSubstr(link + " aria-current=\"true\">"), Not(HasSubstr("=\"page\""))));
  }
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("<a href=\"/console/\" aria-current=\"page\">"), HasSubstr(link + ">")));
}

// CON-42
TEST_F(ConsoleTest, TimesAreInTheZoneThatTheUserChose) {
  send_gifts(1);
  sign_in(user("ana@example.com", {Role::operations}));
  const auto is_utc = AllOf(HasSubstr("Times are UTC. Read at 12:31:07."), HasSubstr("\">12:31</time>"));
  const auto choose = [&](const std::string& zone,
                          const std::string& from = "https://admin.example.com/console/gifts?status=sent") {
    const std::string token = form_token_in(get("/console/").body, "/console/time-zone");
    http::HttpRequest made = request("POST", "/console/time-zone");
    made.headers.emplace("Origin", "https://admin.example.com");
    made.headers.emplace("Referer", from);
    made.headers.emplace("Content-Type", "application/x-www-form-urlencoded");
    made.body = "form_token=" + token + "&zone=" + zone;
    return header(send(made), "Location");
  };
  EXPECT_THAT(get("/console/gifts").body, is_utc);
  EXPECT_EQ(choose("Europe%2FBerlin"), "/console/gifts?status=sent") << "back to its page";
  EXPECT_THAT(get("/console/gifts").body,
              AllOf(HasSubstr("Times are Europe/Berlin. Read at 13:31:07."),
                    HasSubstr("datetime=\"2026-11-21T12:31:07.000Z\">13:31</time>")));
  EXPECT_EQ(choose("Europe%2FBerlin", "https://admin.example.com/console/gifts/1/cancel"), "/console/gifts/1")
      << "a refused form was shown there";
  for (const char* elsewhere : {"https://evil.example", "https://evil.example//evil.example/console/", ""})
    EXPECT_EQ(choose("Europe%2FBerlin", elsewhere), "/console/") << elsewhere;
  EXPECT_EQ(choose("Mars"), "/console/?notice=zone_unknown");
  EXPECT_THAT(get("/console/?notice=zone_unknown").body,
              AllOf(HasSubstr("there is no such time zone"), HasSubstr("Times are Europe/Berlin.")));
  other_cookies_[std::string(kSession) + "_zone"] = "../../etc/passwd";
  EXPECT_THAT(get("/console/gifts").body, is_utc);
  EXPECT_EQ(choose("Asia%2FTokyo"), "/console/gifts?status=sent");
  EXPECT_EQ(choose("UTC"), "/console/gifts?status=sent");
  EXPECT_TRUE(other_cookies_.empty()) << "UTC needs no cookie";
  EXPECT_THAT(get("/console/gifts").body, is_utc);
}

// CON-42
TEST(ConsoleTimes, AreAsShortAsTheDayAllows) {
  const UtcMillis now = from_rfc3339("2026-11-21T23:30:00Z").value();
  EXPECT_EQ(minute(now), "2026-11-21 23:30") << "outside of a page";
  {
    const TimeView in_utc("UTC", now);
    EXPECT_EQ(minute(now - kHourMillis), "22:30");
    EXPECT_EQ(minute(now - kDayMillis), "20 Nov 23:30");
    EXPECT_EQ(minute(now - 365 * kDayMillis), "21 Nov 2025");
  }
  const TimeView in_berlin("Europe/Berlin", now);
  EXPECT_EQ(minute(now), "00:30");
  EXPECT_EQ(minute(now - kHourMillis), "21 Nov 23:30") << "yesterday there";
  EXPECT_EQ(day_text(now) + ", " + clock_text(now), "22 November 2026, 00:30:00");
}

// CON-42
TEST(ConsoleTimes, AreReadableInSentences) {
  EXPECT_EQ(with_readable_times("on 2026-11-21T12:31:07.000Z and 2026-11-21T12:31:07.250Z."),
            "on 2026-11-21 12:31:07 UTC and 2026-11-21 12:31:07.250 UTC.");
  for (const std::string text : {"", "T", "TZ", "no Time Zone", "99-11-21T12:31:07Z", "2026-11-21T12:31", "Z",
                                 "2026-11-21T12:31:07.1234567890123Z"})
    EXPECT_EQ(with_readable_times(text), text);
  EXPECT_EQ(with_readable_times("T 2026-11-21T12:31 2026-11-21T12:31:07Z"),
            "T 2026-11-21T12:31 2026-11-21 12:31:07 UTC");
}

// CON-8
TEST_F(ConsoleTest, TheOverviewSaysHealthAndFailures) {
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/").body, AllOf(HasSubstr("<span>responds</span>"), HasSubstr("No gift fails.")));
  EXPECT_THAT(get("/console/audit").body, AllOf(HasSubstr("sign-in"), HasSubstr("by a link of root")));
  EXPECT_THAT(get("/console/audit?action=nothing").body, HasSubstr("No event fits"));
  sign_in(user("ben@example.com", {Role::sender}));
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("<span>responds</span>")));
}

class MailedLinkTest : public ConsoleTest {
 protected:
  MailedLinkTest() {
    options_.link_token = [](const std::string& salt) { return "token-of-" + salt; };
    console_ = std::make_unique<Console>(store_, options_);
  }
  http::HttpResponse ask(const std::string& email, const std::string& more = "") {
    return post("/console/sign-in", "by=link&email=" + percent_encoded(email) + more);
  }
  /// The path of the link in the mail that leaves now; empty when none does.
  std::string mailed_link() {
    store_.sign_in_mails.queue_mails(now_);
    const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
    if (claims.empty()) return {};
    const auto mail = store_.sign_in_mails.take(claims.front().transaction, claims.front().number, "a", now_);
    return mail.is_obsolete ? std::string() : "/console/link/token-of-" + mail.salt;
  }
};

// SIGN-15, CON-2
TEST_F(MailedLinkTest, AUserAsksForALinkAndItsSessionLastsAsOthers) {
  user("ana@example.com", {Role::approver});
  const std::string page = get("/console/sign-in?return=/console/requests/R-1").body;
  EXPECT_THAT(page, AllOf(HasSubstr("name=\"by\" value=\"link\">Mail me a sign-in link</button>"),
                          HasSubstr("value=\"/console/requests/R-1\""),
                          HasSubstr("You return to request R-1."), Not(HasSubstr("Ask your administrator"))));
  const auto asked = ask(" Ana@Example.com ", "&return=%2Fconsole%2Fgifts");
  EXPECT_EQ(asked.status, 303);
  EXPECT_THAT(get(header(asked, "Location")).body,
              AllOf(HasSubstr("If this address may sign in here by link, a mail is on its way to it."),
                    Not(HasSubstr("ana@")), Not(HasSubstr("Mail is paused"))));
  const std::string link = mailed_link();
  ASSERT_THAT(link, StartsWith("/console/link/token-of-"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get(link).status, 200) << "a scanner opens it";
  const auto signed_in = post(link);
  EXPECT_EQ(signed_in.status, 303);
  EXPECT_EQ(header(signed_in, "Location"), "/console/gifts");
  EXPECT_EQ(post(link).status, 404) << "it works once";
  EXPECT_EQ(get("/console/gifts").status, 200);
  EXPECT_EQ(get("/console/users").status, 404) << "the roles of the store";
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("Link session")));
  const auto sessions = store_.console_sessions.list(store::Viewer::of_command_line(), now_);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_TRUE(sessions[0].is_by_mail);
  EXPECT_EQ(sessions[0].expires_at, now_ + 12 * kHourMillis);
  EXPECT_THAT(actions(), testing::ElementsAre("sign-in", "sign-in-link.mail"));
  EXPECT_EQ(store_.audit.list(store::Viewer::of_command_line(), {}, 1).front().detail,
            "by a mailed link, asked for by 192.0.2.7");
}

// SIGN-15
TEST_F(MailedLinkTest, EveryAddressGetsTheSameAnswer) {
  user("ana@example.com", {Role::approver});
  const UserId gone = user("gone@example.com", {Role::approver});
  store_.console_users.set_active(gone, false, {});
  const auto known = ask("ana@example.com");
  for (const char* email : {"gone@example.com", "unknown@example.com"}) {
    const auto other = ask(email);
    EXPECT_EQ(other.status, known.status) << email;
    EXPECT_EQ(other.headers, known.headers) << email;
    EXPECT_EQ(other.body, known.body) << email;
  }
  EXPECT_NE(mailed_link(), "");
  EXPECT_EQ(mailed_link(), "") << "one user has asked";
  const auto invalid = ask("ana@");
  EXPECT_EQ(invalid.status, 422);
  EXPECT_THAT(invalid.body, AllOf(HasSubstr("This is no e-mail address."), HasSubstr("value=\"ana@\"")));
  EXPECT_EQ(post("/console/sign-in", "by=link&email=ana%40example.com", "https://evil.com").status, 403);
}

// SIGN-15
TEST_F(MailedLinkTest, ALinkEndsAfterTenMinutes) {
  user("ana@example.com", {Role::approver});
  ask("ana@example.com");
  const std::string link = mailed_link();
  now_ = now_ + store::kMailedLinkMillis - 1;
  EXPECT_EQ(get(link).status, 200);
  now_ = now_ + 1;
  const auto refused = post(link);
  EXPECT_EQ(refused.status, 404);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("This link does not work"), HasSubstr("Mail me a sign-in link")));
  EXPECT_EQ(cookie_, "");
}

// SIGN-15
TEST_F(MailedLinkTest, RequestsAreLimitedByAddressAndByNetwork) {
  user("ana@example.com", {Role::approver});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("ana@example.com").status, 303) << "the usual answer";
  int mails = 0;
  for (; !mailed_link().empty(); ++mails) {
  }
  EXPECT_EQ(mails, 1);
  for (int i = 5; i < ConsoleSignIn::kMaxLinksOfNetwork; ++i)
    EXPECT_EQ(ask("user" + std::to_string(i) + "@example.com").status, 303);
  const auto refused = ask("unknown@example.com");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(header(refused, "Retry-After"), "600");
  EXPECT_EQ(ask("ana@example.com").status, 429);
  now_ = now_ + store::kMailedLinkMillis;
  EXPECT_EQ(ask("ana@example.com").status, 303);
}

// SIGN-15
TEST_F(MailedLinkTest, ThePageSaysThatMailIsPaused) {
  store_.mail_pauses.begin({now_, "root", "a wrong campaign"});
  const std::string page = get(header(ask("ana@example.com"), "Location")).body;
  EXPECT_THAT(page, AllOf(HasSubstr("Mail is paused just now"), Not(HasSubstr("campaign"))));
}

// SIGN-15, CON-45
TEST_F(MailedLinkTest, ANewProofIsAnotherMailedLink) {
  quarantine("vendor", "x");
  user("ana@example.com", {Role::operations});
  ask("ana@example.com");
  post(mailed_link());
  EXPECT_THAT(get("/console/sources/vendor").body, HasSubstr("/purge\""));
  now_ = now_ + kProofMillis + 1;
  const std::string page = get("/console/sources/vendor").body;
  const std::string again = "/console/sign-in?again=1&return=%2Fconsole%2Fsources%2Fvendor";
  EXPECT_THAT(page, AllOf(Not(HasSubstr("/purge\"")), HasSubstr("/console/sign-in?again=1&amp;return=")));
  EXPECT_THAT(get(again).body,
              AllOf(HasSubstr("value=\"ana@example.com\""), HasSubstr("Mail me a sign-in link")));
  EXPECT_EQ(get("/console/sign-in").status, 303) << "otherwise a session needs no form";
}

// SIGN-15, SIGN-8
TEST_F(ConsoleTest, WithoutMailedLinksNoAddressIsTaken) {
  EXPECT_THAT(get("/console/sign-in").body, Not(HasSubstr("name=\"email\"")));
  EXPECT_EQ(post("/console/sign-in", "by=link&email=ana%40example.com").status, 404);
}

}  // namespace
}  // namespace giftsync::console
