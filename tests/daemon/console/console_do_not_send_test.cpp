// The console's page of who gets no gifts.
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConsoleDoNotSend : public ConsoleWork {
 protected:
  static inline const std::string kPage = "/console/do-not-send";

  void list(const std::string& pattern, DoNotSendReason reason, const std::string& comment = "") {
    const store::DoNotSendEntry entry{pattern, reason, comment, {}, now_, "root", {}};
    ASSERT_EQ(store_.do_not_send.add(std::span(&entry, 1), {}), 1) << pattern;
  }
  std::optional<store::DoNotSendEntry> entry(const std::string& pattern) {
    const auto found = store_.do_not_send.find(std::span(&pattern, 1), now_);
    return found.empty() ? std::nullopt : std::optional(found.begin()->second);
  }
  /// The place that a form of the page leads to; its notice.
  std::string add(const std::string& more) {
    return header(press_plain(get(kPage).body, kPage + "/add", more), "Location");
  }
  std::string remove(const std::string& more) {
    return header(press_plain(get(kPage).body, kPage + "/remove", more), "Location");
  }
};

// CON-65, GUARD-4
TEST_F(ConsoleDoNotSend, AnAdminAddsAndRemovesEntries) {
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr("There is no entry here."), HasSubstr("aria-current=\"page\"")));
  const auto added =
      add("&pattern=Bea%40Edge.com&comment="
          "%3Cscript%3E");
  EXPECT_EQ(added, kPage + "?notice=entry_added");
  EXPECT_THAT(get(added).body, AllOf(HasSubstr("The entry is there."), HasSubstr("bea@<wbr>edge.<wbr>com"),
                                     HasSubstr("&lt;script&gt;"), HasSubstr("ana@<wbr>example.<wbr>com"),
                                     HasSubstr("Blocked by an admin")));
  EXPECT_EQ(entry("bea@edge.com")->reason, DoNotSendReason::blocked);
  EXPECT_EQ(entry("bea@edge.com")->added_by, "ana@example.com");
  EXPECT_EQ(last_event().action, "do-not-send.add");
  EXPECT_EQ(last_event().object_kind, "do-not-send");
  EXPECT_EQ(last_event().object_id, "***@edge.com") << "an event has no address";
  EXPECT_EQ(last_event().detail, "blocked entries: 1");
  EXPECT_EQ(last_event().user, ana);
  EXPECT_EQ(add("&pattern=bea%40edge.com&comment=%3Cscript%3E"), kPage + "?notice=do_not_send_unchanged");
  EXPECT_EQ(remove("&pattern=bea%40edge.com&reason=bounced"), kPage + "?notice=do_not_send_not_there")
      << "the page showed another reason";
  EXPECT_EQ(remove("&pattern=bea%40edge.com&reason=blocked"), kPage + "?notice=entry_removed");
  EXPECT_EQ(last_event().action, "do-not-send.remove");
  EXPECT_EQ(last_event().object_id, "***@edge.com");
  EXPECT_EQ(last_event().detail, "blocked");
  EXPECT_FALSE(entry("bea@edge.com"));
}

// CON-65, GUARD-4
TEST_F(ConsoleDoNotSend, WhatCannotBeAddedIsRefusedWithTheReason) {
  sign_in(user("ana@example.com", {Role::admin}));
  for (const char* pattern :
       {"", "%40", "*", "a+b", "user%40%5B1.2.3.4%5D", "*%40example.com", "%40example.com"})
    EXPECT_EQ(add(std::string("&pattern=") + pattern), kPage + "?notice=do_not_send_bad_pattern") << pattern;
  EXPECT_EQ(add("&pattern=a.com&comment=one%0Atwo"), kPage + "?notice=do_not_send_bad_comment");
  EXPECT_EQ(add("&pattern=a.com&comment=" + std::string(256, 'x')),
            kPage + "?notice=do_not_send_bad_comment");
  for (const char* until : {"2026-11-21", "2020-01-01", "tomorrow", "2026-13-01"})
    EXPECT_EQ(add(std::string("&pattern=a.com&until=") + until), kPage + "?notice=do_not_send_bad_end")
        << until;
  EXPECT_EQ(add("&pattern=*.gov"), kPage + "?notice=do_not_send_is_top_level");
  EXPECT_THAT(store_.do_not_send.patterns({}), testing::IsEmpty());
  EXPECT_EQ(add("&pattern=*.gov&top_level=1"), kPage + "?notice=entry_added");
  EXPECT_EQ(add("&pattern=M%C3%BCnchen.example.&until=2026-11-22"), kPage + "?notice=entry_added");
  EXPECT_THAT(store_.do_not_send.patterns({}),
              testing::UnorderedElementsAre("*.gov", "xn--mnchen-3ya.example"));
  EXPECT_EQ(entry("xn--mnchen-3ya.example")->expires_at, from_rfc3339("2026-11-22T00:00:00Z"));
}

// CON-65
TEST_F(ConsoleDoNotSend, AWishOfTheRecipientIsRemovedWithATickAlone) {
  list("bea@edge.com", DoNotSendReason::opted_out);
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get(kPage).body, HasSubstr("name=\"confirm\" value=\"1\" required"));
  EXPECT_EQ(remove("&pattern=bea%40edge.com&reason=opted_out"), kPage + "?notice=not_confirmed");
  EXPECT_TRUE(entry("bea@edge.com"));
  EXPECT_EQ(remove("&pattern=bea%40edge.com&reason=blocked"), kPage + "?notice=do_not_send_not_there")
      << "another reason in the form does not save the tick";
  EXPECT_TRUE(entry("bea@edge.com"));
  EXPECT_EQ(remove("&pattern=bea%40edge.com&reason=opted_out&confirm=1"), kPage + "?notice=entry_removed");
  EXPECT_FALSE(entry("bea@edge.com"));
}

// CON-65
TEST_F(ConsoleDoNotSend, AnAddressIsFoundWithTheEntryThatDecides) {
  list("edge.com", DoNotSendReason::blocked);
  list("bea@mail.edge.com", DoNotSendReason::bounced);
  list("dan@example.com", DoNotSendReason::opted_out);
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string listed = get(kPage + "?find=Bea%40Mail.edge.com&reason=").body;
  EXPECT_THAT(listed, AllOf(HasSubstr("bea@mail.edge.com: no gifts. No gifts are sent to edge.com: an admin"),
                            HasSubstr(">edge.<wbr>com<wbr></bdi>"), Not(HasSubstr("dan@"))));
  EXPECT_THAT(get(kPage + "?find=cleo%40example.com").body,
              HasSubstr("cleo@example.com: no entry applies, so gifts may be sent."));
  EXPECT_THAT(get(kPage + "?find=edge.com").body, HasSubstr("edge.com: no gifts."));
  EXPECT_THAT(get(kPage + "?find=mail.edge.com").body, HasSubstr("There is no entry mail.edge.com."));
  EXPECT_THAT(get(kPage + "?reason=opted_out").body, AllOf(HasSubstr("dan@<wbr>"), Not(HasSubstr("bea@"))));
  for (const std::string query : {"find=a+b", "reason=disliked", "page=0", "page=101", "page=x", "text=dan",
                                  "find=edge.com&reason=blocked"})
    EXPECT_THAT(get(kPage + "?" + query).body,
                AllOf(HasSubstr("One filter does not apply:"), Not(HasSubstr("dan@"))))
        << query;
  EXPECT_THAT(get(kPage).body, HasSubstr("reason=opted_out\">1<span"));
}

// CON-65
TEST_F(ConsoleDoNotSend, TheListIsPagedByPattern) {
  for (int i = 10; i < 45; ++i) list("p" + std::to_string(i) + "@edge.com", DoNotSendReason::bounced);
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string first = get(kPage + "?reason=bounced").body;
  EXPECT_THAT(first, AllOf(HasSubstr("p10@<wbr>"), HasSubstr("p39@<wbr>"), Not(HasSubstr("p40@<wbr>")),
                           HasSubstr("page=2&amp;reason=bounced"), Not(HasSubstr("First page"))));
  EXPECT_THAT(get(kPage + "?reason=bounced&page=2").body,
              AllOf(HasSubstr("p40@<wbr>"), HasSubstr("p44@<wbr>"), Not(HasSubstr("p39@<wbr>")),
                    HasSubstr("First page"), Not(HasSubstr("Next page"))));
  EXPECT_THAT(get(kPage + "?page=3").body, HasSubstr("There is no entry here."));
}

// CON-65, CON-16, CON-59
TEST_F(ConsoleDoNotSend, AnAuditorReadsDomainsAlone) {
  list("bea@edge.com", DoNotSendReason::opted_out, "asked by phone");
  list("rival.example", DoNotSendReason::blocked);
  sign_in(user("aud@example.com", {Role::auditor}));
  const std::string page = get(kPage).body;
  EXPECT_THAT(page, AllOf(HasSubstr("***@<wbr>edge.<wbr>com"), HasSubstr(">rival.<wbr>example"),
                          Not(HasSubstr("bea")), Not(HasSubstr("asked by phone")), Not(HasSubstr("/add\"")),
                          Not(HasSubstr("/remove\""))));
  for (const std::string find : {"bea%40edge.com", "cleo%40edge.com"})
    EXPECT_THAT(get(kPage + "?find=" + find).body,
                AllOf(HasSubstr("your role cannot search by this"), Not(HasSubstr("no gifts."))));
  EXPECT_THAT(get(kPage + "?find=rival.example").body, HasSubstr("rival.example: no gifts."));
  const std::string token = "form_token=" + form_token(form_secret(), "/do-not-send/remove");
  EXPECT_EQ(post(kPage + "/remove", token + "&pattern=rival.example&reason=blocked").status, 404);
  EXPECT_TRUE(entry("rival.example"));
}

// CON-13, CON-65
TEST_F(ConsoleDoNotSend, OthersHaveNoSuchPage) {
  list("rival.example", DoNotSendReason::blocked);
  for (const Role role : {Role::sender, Role::approver}) {
    sign_in(user("user" + std::to_string(static_cast<int>(role)) + "@example.com", {role}));
    EXPECT_EQ(get(kPage).status, 404);
    EXPECT_THAT(get("/console/").body, Not(HasSubstr(kPage)));
    const std::string token = "form_token=" + form_token(form_secret(), "/do-not-send/add");
    EXPECT_EQ(post(kPage + "/add", token + "&pattern=a.example").status, 404);
  }
  sign_in(user("of.acme@example.com", {Role::admin}, organization("Acme")));
  EXPECT_EQ(get(kPage).status, 404) << "the list is of all organizations";
  EXPECT_THAT(get("/console/").body, Not(HasSubstr(kPage)));
  const std::string token = "form_token=" + form_token(form_secret(), "/do-not-send/add");
  EXPECT_EQ(post(kPage + "/add", token + "&pattern=a.example").status, 404);
  EXPECT_THAT(store_.do_not_send.patterns({}), testing::ElementsAre("rival.example"));
}

// GUARD-1, CON-21
TEST_F(ConsoleDoNotSend, AGiftsPageSaysThatItIsNotMailedAgain) {
  const TransactionId id = gift();
  const std::string path = "/console/gifts/" + std::to_string(id.value);
  const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
  const store::DeliveryQueue::Sending sending{claims.front(), "m1@example.com"};
  store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
  const store::DeliveryOutcome outcome{id, 1, DeliveryState::undelivered, now_, "550", false, {}};
  store_.deliveries.finish(std::span(&outcome, 1), now_);
  list("ada@example.com", DoNotSendReason::opted_out);
  list("example.org", DoNotSendReason::blocked);
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get(path).body;
  EXPECT_THAT(page, HasSubstr("To the same address it is not possible: The recipient asked on"));
  EXPECT_EQ(header(press_plain(page, path + "/resend", "&confirm=1&generation=0"), "Location"),
            path + "?notice=not_done");
  EXPECT_TRUE(last_event().refused);
  EXPECT_THAT(last_event().detail, AllOf(HasSubstr("to get no more gifts"), Not(HasSubstr("ada@"))));
  EXPECT_EQ(header(press_plain(page, path + "/resend", "&confirm=1&email=bea%40example.org"), "Location"),
            path + "?notice=not_done");
  EXPECT_THAT(last_event().detail, HasSubstr("No gifts are sent to example.org"));
}

// covers: GUARD-6, CON-21
TEST_F(ConsoleDoNotSend, NoGiftIsSentAgainOutsideOfTheAllowedDomains) {
  const TransactionId id = held_mail();
  const std::string path = "/console/gifts/" + std::to_string(id.value);
  const std::string release = "/console/mail/" + std::to_string(id.value) + "/release";
  settings_.sending.allowed_domains = {"example.net"};
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get(path).body;
  EXPECT_THAT(page, HasSubstr("To the same address it is not possible: This installation sends only to"));
  EXPECT_EQ(header(press_plain(page, path + "/resend", "&confirm=1&email=bea%40example.org"), "Location"),
            path + "?notice=not_done");
  EXPECT_TRUE(last_event().refused);
  EXPECT_THAT(last_event().detail, HasSubstr("sending.allowed_domains"));
  EXPECT_EQ(header(press_plain(get("/console/mail").body, release, "&confirm=1"), "Location"),
            "/console/mail?notice=mail_refused");
  EXPECT_EQ(last_event().action, "mail.release");
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(store_.deliveries.find(id)->state, DeliveryState::held);
  settings_.sending.allowed_domains = {"example.com"};
  list("ada@example.com", DoNotSendReason::opted_out);
  EXPECT_EQ(header(press_plain(get("/console/mail").body, release, "&confirm=1"), "Location"),
            "/console/mail?notice=mail_refused");
  EXPECT_THAT(last_event().detail, HasSubstr("to get no more gifts"));
  settings_.sending.allowed_domains = {"example.com", "example.net"};
  EXPECT_THAT(
      header(press_plain(get(path).body, path + "/resend", "&confirm=1&email=bea%40example.net"), "Location"),
      testing::StartsWith(path + "?notice=resent_"));
}

}  // namespace
}  // namespace giftsync::console
