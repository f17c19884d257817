// The do-not-send list on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliDoNotSend : public testing::Test {
 protected:
  CliFixture::Result run(std::vector<std::string> args, const std::string& in = {}) const {
    args.insert(args.begin(), "do-not-send");
    return cli_.run(args, in);
  }
  CliFixture::Result import(const std::string& text, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"import", "-"});
    return run(more, text);
  }
  void list(const std::string& pattern, DoNotSendReason reason) const {
    store::Store store(cli_.address());
    const store::DoNotSendEntry entry{pattern, reason, "", {}, cli_.now, "recipient", {}};
    ASSERT_EQ(store.do_not_send.add(std::span(&entry, 1), {}), 1) << pattern;
  }
  /// "pattern reason" of each entry.
  std::vector<std::string> entries() const {
    std::vector<std::string> all;
    for (const Json& entry : tests::parse_ordered_json(run({"list", "--json"}).out))
      all.push_back(entry["pattern"].get<std::string>() + " " + entry["reason"].get<std::string>());
    return all;
  }
  CliFixture cli_;
};

// GUARD-1, GUARD-4
TEST_F(CliDoNotSend, PatternsAreAddedListedAndRemoved) {
  const auto none = run({"list"});
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("is empty; \"giftsyncctl do-not-send add PATTERN\""));
  EXPECT_EQ(run({"list", "--json"}).out, "[]\n");
  const auto added = run({"add", " Ana@Example.COM ", "Rival.example.", "*.München.example", "rival.example",
                          "--comment", "asked by phone"});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(added.err,
            "ana@example.com is blocked.\nrival.example is blocked.\n*.xn--mnchen-3ya.example is blocked.\n");
  EXPECT_THAT(entries(), ElementsAre("*.xn--mnchen-3ya.example blocked", "ana@example.com blocked",
                                     "rival.example blocked"));
  EXPECT_THAT(run({"add", "ana@example.com", "--comment", "asked by phone"}).err,
              AllOf(HasSubstr("ana@example.com is unchanged: blocked since "), HasSubstr(" UTC.")));
  EXPECT_THAT(run({"add", "ana@example.com", "--until", "2026-12-31"}).err,
              HasSubstr("is blocked as before, with the new comment and end"));
  EXPECT_THAT(run({"list"}).out,
              AllOf(HasSubstr("ENDS (UTC)"), HasSubstr("2026-12-31 00:00"), HasSubstr("asked by phone")));
  const Json listed =
      tests::parse_ordered_json(run({"list", "--json", "--text", "ANA@", "--limit", "5"}).out);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["expires_at"], "2026-12-31T00:00:00.000Z");
  EXPECT_EQ(listed[0]["comment"], nullptr);
  EXPECT_THAT(tests::parse_ordered_json(run({"list", "--json", "--limit", "2"}).out), SizeIs(2));
  EXPECT_THAT(run({"list", "--reason", "bounced"}).err, HasSubstr("No entry fits"));
  EXPECT_EQ(run({"list", "--reason", "disliked"}).code, 64);
  const auto removed = run({"remove", "RIVAL.example"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_THAT(removed.err, HasSubstr("rival.example is removed; it was blocked."));
  const auto unknown = run({"remove", "rival.example"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err,
              HasSubstr("has no entry rival.example; \"giftsyncctl do-not-send check ADDRESS\""));
}

// GUARD-4
TEST_F(CliDoNotSend, WhatIsNoPatternIsRefused) {
  for (const auto& [pattern, words] : std::vector<std::pair<std::string, std::string>>{
           {"@", "allowed are an address such as"},
           {"*", "which is neither an address nor a domain"},
           {"*.", "which is neither an address nor a domain"},
           {"a b", "which is neither an address nor a domain"},
           {"user@[1.2.3.4]", "names a server by its address"},
           {"*@example.com", "is no address; write example.com for the whole domain"},
           {"@example.com", "is no address; write example.com for the whole domain"},
           {"ünal@example.com", "non-ASCII letters before the @"},
           {"a@b@c", "which is not a plain address"},
           {"example..com", "which is neither an address nor a domain"}}) {
    for (const std::string verb : {"add", "remove"}) {
      const auto result = run({verb, pattern});
      EXPECT_EQ(result.code, 64) << verb << " " << pattern;
      EXPECT_THAT(result.err, AllOf(HasSubstr("PATTERN: found "), HasSubstr(words)))
          << verb << " " << pattern;
    }
  }
  EXPECT_EQ(run({"add", "good.example", "bad one"}).code, 64);
  for (const std::string end : {"2026-11-21", "2020-01-01T00:00:00Z", "tomorrow", "7d", "2026-02-30"}) {
    const auto result = run({"add", "good.example", "--until", end});
    EXPECT_EQ(result.code, 64) << end;
    EXPECT_THAT(result.err, HasSubstr("--until: found ")) << end;
  }
  EXPECT_THAT(run({"add", "good.example", "--comment", "one\ntwo"}).err, HasSubstr("--comment: found"));
  EXPECT_EQ(run({"add"}).code, 64);
  EXPECT_THAT(entries(), IsEmpty()) << "nothing of a faulty command is done";
}

// GUARD-4
TEST_F(CliDoNotSend, ATopLevelPatternNeedsAConfirmation) {
  for (const std::string pattern : {"com", "*.gov", "COM."}) {
    const auto refused = run({"add", pattern, "rival.example"});
    EXPECT_EQ(refused.code, 64) << pattern;
    EXPECT_THAT(refused.err, HasSubstr("add --yes")) << pattern;
  }
  EXPECT_THAT(import("pattern\ncom\nrival.example\n").err,
              HasSubstr("Send no gifts to any address below com?"));
  EXPECT_EQ(import("pattern\ncom\n", {"--dry-run"}).code, 0);
  EXPECT_THAT(entries(), IsEmpty());
  EXPECT_EQ(run({"add", "*.gov", "--yes"}).code, 0);
  EXPECT_EQ(import("pattern\ncom\n", {"--yes"}).code, 0);
  EXPECT_THAT(entries(), ElementsAre("*.gov blocked", "com blocked"));
}

// GUARD-4
TEST_F(CliDoNotSend, AWishOfTheRecipientIsRemovedOnceConfirmed) {
  for (const auto& [reason, words] :
       {std::pair{DoNotSendReason::opted_out, "The recipient asked on"},
        std::pair{DoNotSendReason::complained, "The recipient reported a gift as unwanted mail on"}}) {
    list("ana@example.com", reason);
    const auto refused = run({"remove", "ana@example.com"});
    EXPECT_EQ(refused.code, 64);
    EXPECT_THAT(refused.err, AllOf(HasSubstr(words), HasSubstr("asks for gifts again"), HasSubstr("--yes")));
    EXPECT_THAT(entries(), SizeIs(1));
    EXPECT_EQ(run({"remove", "ana@example.com", "--yes"}).code, 0);
    EXPECT_THAT(entries(), IsEmpty());
  }
  list("ana@example.com", DoNotSendReason::bounced);
  list("example.com", DoNotSendReason::blocked);
  const auto removed = run({"remove", "ana@example.com"});
  EXPECT_EQ(removed.code, 0) << "a bounce is no wish";
  EXPECT_THAT(removed.err, HasSubstr("The entry example.com still applies to it: No gifts are sent to"));
  list("bea@example.org", DoNotSendReason::opted_out);
  EXPECT_THAT(run({"add", "bea@example.org"}).err,
              AllOf(HasSubstr("bea@example.org is blocked, besides opted_out since "), HasSubstr(" UTC.")));
}

// GUARD-1
TEST_F(CliDoNotSend, CheckSaysWhichEntryDecides) {
  list("example.com", DoNotSendReason::blocked);
  list("ana@mail.example.com", DoNotSendReason::bounced);
  const auto listed = run({"check", "Ana@Mail.example.com"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out,
              AllOf(HasSubstr("Ana@Mail.example.com: no gifts. No gifts are sent to example.com: an admin"),
                    HasSubstr("example.com"), HasSubstr("blocked"), Not(HasSubstr("bounced"))));
  const Json json = tests::parse_ordered_json(run({"check", "ana@mail.example.com", "--json"}).out);
  EXPECT_EQ(json["allowed"], false);
  EXPECT_EQ(json["code"], "do_not_send");
  EXPECT_EQ(json["entry"]["pattern"], "example.com");
  EXPECT_EQ(run({"check", "ana@example.org"}).out, "ana@example.org: gifts may be sent\n");
  const Json free = tests::parse_ordered_json(run({"check", "ana@example.org", "--json"}).out);
  EXPECT_EQ(free["allowed"], true);
  EXPECT_EQ(free["message"], nullptr);
  EXPECT_EQ(free["entry"], nullptr);
  EXPECT_EQ(run({"check", "example.com"}).code, 64);
}

// GUARD-4
TEST_F(CliDoNotSend, AFileIsImportedWhole) {
  const auto result = import(
      "\xEF\xBB\xBF"
      "Pattern,Reason,Comment,Expires_At\r\n"
      "Ana@Example.com,opted_out,\"by phone, twice\",\r\n"
      "rival.example,,,2027-01-31\r\n"
      "rival.example,blocked,,2027-01-31T00:00:00Z\r\n"
      "bea@example.com,bounced,,\r\n");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "3 entries: 3 new or changed, 0 unchanged\n");
  EXPECT_THAT(entries(),
              ElementsAre("ana@example.com opted_out", "bea@example.com bounced", "rival.example blocked"));
  EXPECT_EQ(import("pattern,reason\nana@example.com,bounced\nbea@example.com,complained\n").out,
            "2 entries: 2 new or changed, 0 unchanged\n")
      << "a weaker reason stays behind a stronger one";
  EXPECT_THAT(entries(), ElementsAre("ana@example.com opted_out", "bea@example.com complained",
                                     "rival.example blocked"));
  EXPECT_EQ(import("pattern;comment\ncleo@example.com;x\n", {"--dry-run"}).out,
            "1 entry of stdin: 1 blocked; nothing was imported\n");
  EXPECT_THAT(entries(), SizeIs(3));
  const std::string file = cli_.write("list.csv", "pattern\ndan@example.com\n");
  EXPECT_EQ(run({"import", file}).code, 0);
  EXPECT_THAT(entries(), SizeIs(4));
}

// GUARD-4
TEST_F(CliDoNotSend, AFaultyFileIsRefusedWithEachFault) {
  const auto result = import(
      "pattern,reason,comment,expires_at\n"
      "good.example,,,\n"
      "@,,,\n"
      "a.example,disliked,,\n"
      "b.example,,,2020-01-01\n"
      "c.example,,,soon\n"
      "d.example,,\"two\nlines\",\n"
      "e.example,,\n"
      "good.example,opted_out,,\n");
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("stdin:3: pattern: found \"@\", which "),
                    HasSubstr("stdin:4: reason: found \"disliked\"; allowed: blocked, opted_out, complained, "
                              "bounced, or nothing for blocked"),
                    HasSubstr("stdin:5: expires_at: found 2020-01-01, which has passed"),
                    HasSubstr("stdin:6: expires_at: found \"soon\"; allowed: a day such as"),
                    HasSubstr("stdin:7: comment: found "),
                    HasSubstr("stdin:9: found 3 cells; allowed: 4, as in the header")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("stdin:10: pattern: found good.example again with another content; "
                                          "line 2 has it first"),
                                HasSubstr("7 faults in stdin; nothing was imported")));
  EXPECT_THAT(entries(), IsEmpty());
  std::string many = "pattern\n";
  for (int i = 0; i < 25; ++i) many += "a b\n";
  const auto cut = import(many);
  EXPECT_THAT(cut.err, AllOf(HasSubstr("stdin:21: "), Not(HasSubstr("stdin:22: ")), HasSubstr("and 5 more"),
                             HasSubstr("25 faults")));
  EXPECT_THAT(import("").err, HasSubstr("found an empty file; allowed: a header line with pattern,"));
  EXPECT_THAT(import("pattern\n").err, HasSubstr("found no entries below the header"));
  EXPECT_THAT(import("ana@example.com\n").err, HasSubstr("pattern: found no such column"));
  EXPECT_THAT(import("pattern,reasn\na.example,\n").err, HasSubstr("did you mean reason?"));
  EXPECT_THAT(import("pattern,pattern\na.example,b.example\n").err, HasSubstr("the column pattern twice"));
  EXPECT_EQ(run({"import", cli_.path("none.csv")}).code, 66);
  EXPECT_EQ(run({"import"}).code, 64);
}

// GUARD-4
TEST_F(CliDoNotSend, AddressesOfMarkedContactsAreImported) {
  ASSERT_EQ(cli_.run({"crm", "import", "--object", "lead", "-"},
                     "Id,Email,IsConverted\n00QA,ana@example.com,true\n00QB,bea@example.com,false\n"
                     "00QC,,true\n00QD,Cleo@Example.com,true\n00QE,none,true\n")
                .code,
            0);
  const std::vector<std::string> import{"import", "--crm-field", "lead.isconverted"};
  const auto result = run(import);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "2 entries: 2 new or changed, 0 unchanged\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("5 leads read, 4 of them marked"),
                                HasSubstr("1 value of them is no e-mail address")));
  EXPECT_THAT(entries(), ElementsAre("ana@example.com opted_out", "cleo@example.com opted_out"));
  EXPECT_EQ(run(import).out, "2 entries: 0 new or changed, 2 unchanged\n");
  EXPECT_EQ(tests::parse_ordered_json(run({"list", "--json"}).out)[0]["added_by"], "crm");
  EXPECT_THAT(run({"import", "--crm-field", "lead.Nothing"}).err,
              HasSubstr("the CRM's lead has no field \"Nothing\"; \"giftsyncctl crm show lead 00QA\""));
  for (const std::string field : {"IsConverted", "account.IsDeleted", "lead.", ".IsConverted"})
    EXPECT_EQ(run({"import", "--crm-field", field}).code, 64) << field;
  EXPECT_EQ(run({"import", "-", "--crm-field", "lead.IsConverted"}).code, 64);
  EXPECT_THAT(run({"import", "--crm-field", "contact.HasOptedOutOfEmail"}).err,
              HasSubstr("No address is to be added."));
}

// GUARD-1
TEST_F(CliDoNotSend, NoGiftIsResentToAListedAddress) {
  const std::string id = std::to_string(cli_.send_gifts({"ana@example.com"}).front().value);
  list("example.org", DoNotSendReason::blocked);
  const auto refused = cli_.run({"gift", "resend", id, "--email", "bea@mail.example.org"});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err,
              HasSubstr("gift " + id + " was not sent again: No gifts are sent to example.org: an admin"));
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "bea@example.net"}).code, 0);
}

// covers: GUARD-6
TEST_F(CliDoNotSend, NoGiftIsResentOutsideOfTheAllowedDomains) {
  const std::string id = std::to_string(cli_.send_gifts({"ana@example.com"}).front().value);
  const std::string reason = "gift " + id +
                             " was not sent again: This installation sends only to the domains in "
                             "sending.allowed_domains";
  cli_.write_settings("sending: { allowed_domains: [example.com] }\n");
  const auto refused = cli_.run({"gift", "resend", id, "--email", "bea@example.org"});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, HasSubstr(reason));
  EXPECT_EQ(cli_.run({"gift", "resend", id, "--email", "bea@example.com"}).code, 0);
  cli_.write_settings("sending: { allowed_domains: [example.net] }\n");
  {
    store::Store store(cli_.address());
    const auto claims = store.deliveries.claim("a", 60'000, 10, cli_.now);
    ASSERT_THAT(claims, SizeIs(1));
    const store::DeliveryQueue::Sending sending{claims.front(), "m1@example.com"};
    store.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, cli_.now);
    const store::DeliveryOutcome outcome{claims.front().transaction,
                                         claims.front().attempt + 1,
                                         DeliveryState::undelivered,
                                         cli_.now,
                                         "550 relay denied",
                                         false,
                                         {}};
    store.deliveries.finish(std::span(&outcome, 1), cli_.now);
  }
  const auto own = cli_.run({"gift", "resend", id});
  EXPECT_EQ(own.code, 65) << "its own address, which was allowed before";
  EXPECT_THAT(own.err, HasSubstr(reason));
  const auto many = cli_.run({"gift", "resend", "--reply", "relay denied", "--yes"});
  EXPECT_THAT(many.err, AllOf(HasSubstr("Gift " + id + " was left out: This installation sends only to"),
                              HasSubstr("0 gifts will be mailed again")));
}

// CON-16
TEST_F(CliDoNotSend, EventsHaveTheDomainAndNeverTheAddress) {
  run({"add", "ana@example.com", "rival.example"});
  run({"add", "ana@example.com"});
  run({"remove", "ana@example.com"});
  run({"remove", "nothing.example"});
  import("pattern,reason\nbea@example.com,opted_out\ncleo@example.com,\n");
  import("pattern\n@\n");
  store::Store store(cli_.address());
  std::vector<std::string> texts;
  for (const store::AuditEvent& event : store.audit.list(store::Viewer::of_command_line(), {}, 100))
    texts.push_back(event.action + " " + event.object_id + ": " + event.detail);
  EXPECT_THAT(texts, ElementsAre("do-not-send.import : 2 entries of stdin: 1 blocked, 1 opted_out",
                                 "do-not-send.remove ***@example.com: blocked",
                                 "do-not-send.add rival.example: blocked",
                                 "do-not-send.add ***@example.com: blocked"));
}

}  // namespace
}  // namespace giftsync::cli
