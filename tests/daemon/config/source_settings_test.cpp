// The section `sources`: a list whose elements are parsed by the table of keys like any other section.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/config/read_settings.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kFields = "fields: { transaction_id: /id, status: /status, occurred_at: /at }";

/// The sources begin on line 5.
std::string with_sources(const std::string& sources) {
  return "server: { base_url: \"https://gifts.example.com\", admin_url: \"https://gifts.internal\" }\n"
         "store: { connection: gifts.db }\n"
         "email: { directory: outbox, from: gifts@example.com }\n"
         "sources:\n" +
         sources;
}

tl::expected<Settings, SettingsFaults> read(const std::string& sources) {
  return read_settings_text(with_sources(sources), "a.yaml");
}

std::vector<std::string> errors_of(const std::string& sources) {
  const auto outcome = read(sources);
  return outcome ? std::vector<std::string>() : outcome.error().lines;
}

std::vector<std::string> warnings_of(const std::string& fields_and_more) {
  const auto outcome = read(
      "  - name: app\n    type: poll\n    url: \"https://a.example.com\"\n    "
      "transactions: external\n    transaction_ids: keep\n    " +
      fields_and_more + "\n");
  if (!outcome) return {"refused"};
  std::vector<std::string> warnings;
  for (const std::string& warning : outcome->warnings) {
    if (warning.find("sources[0]") != std::string::npos) warnings.push_back(warning);
  }
  return warnings;
}

// SRC-58
TEST(SourceSettings, AsksWhatTheIdsOfAnExternalSourceAre) {
  const std::string source = "  - name: app\n    type: poll\n    url: \"https://a.example.com\"\n    " +
                             std::string(kFields) + "\n    transactions: ";
  const auto undeclared = read(source + "external\n");
  ASSERT_TRUE(undeclared);
  EXPECT_THAT(undeclared->warnings, Contains(HasSubstr("sources[0].transaction_ids: not set")));
  EXPECT_FALSE(undeclared->sources.front().allots_ids);
  const auto allotted = read(source + "external\n    transaction_ids: allot\n");
  ASSERT_TRUE(allotted);
  EXPECT_TRUE(allotted->sources.front().allots_ids);
  EXPECT_THAT(allotted->warnings, ::testing::Not(Contains(HasSubstr("transaction_ids"))));
  EXPECT_THAT(errors_of(source + "own\n    transaction_ids: allot\n"),
              ElementsAre(HasSubstr("only with sources.transactions: external")));
}

TEST(SourceSettings, WarnsOfASourceThatCannotCreateGifts) {
  EXPECT_THAT(warnings_of(kFields),
              ElementsAre(AllOf(StartsWith("a.yaml:8: sources[0].transactions: "),
                                HasSubstr("neither fields.recipient_email nor fields.recipient_phone"),
                                HasSubstr("add the pointer"))));
  const std::string with_phone =
      "fields: { transaction_id: /id, status: /status, occurred_at: /at, recipient_phone: /to }";
  EXPECT_THAT(warnings_of(with_phone), IsEmpty());
  EXPECT_THAT(warnings_of(with_phone + "\n    status_map: { made: sent }"), IsEmpty());
  EXPECT_THAT(warnings_of(with_phone + "\n    status_map: { seen: opened }"),
              ElementsAre(HasSubstr("neither fields.sent_at nor sent events")));
  EXPECT_THAT(warnings_of(with_phone + "\n    may_set: [opened]"),
              ElementsAre(HasSubstr("neither fields.sent_at nor sent events")));
}

TEST(SourceSettings, ParsesEveryKeyOfSeveralSources) {
  const auto outcome = read(R"(
  - name: vendor
    secret: [ whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, env:HOME_OF_NOTHING_HERE ]
    transactions: external
    may_set: [opened, redeemed]
    status_map: { seen: opened, "on hold": ignore }
    items: /data
    fields: { transaction_id: /id, status: /s~1t, occurred_at: /at, costs: { item: /cost } }
)");
  EXPECT_THAT(outcome.error().lines, ElementsAre(AllOf(StartsWith("a.yaml:7: sources[0].secret[1]: "),
                                                       HasSubstr("HOME_OF_NOTHING_HERE"))));

  const auto good = read(std::string(R"(
  - name: feed-1
    type: poll
    url: "https://api.example.com/v1/events?limit=10"
    interval: 5
    since: updated_since
    overlap: 30
    next: link
    headers: { Authorization: "Bearer x" }
    )") + kFields + R"(
  - name: hook
    signature: hmac
    signature_header: X-Signature
    secret: literal-of-16-bytes
    )" + kFields + "\n");
  ASSERT_TRUE(good.has_value()) << ::testing::PrintToString(good.error().lines);
  const Settings& settings = good.value();
  ASSERT_THAT(settings.sources, SizeIs(2));
  EXPECT_EQ(settings.sources[0].name, "feed-1");
  EXPECT_EQ(settings.sources[0].kind, SourceKind::poll);
  EXPECT_EQ(settings.sources[0].interval_seconds, 5);
  EXPECT_EQ(settings.sources[0].overlap_seconds, 30);
  EXPECT_EQ(settings.sources[0].headers.front().first, "Authorization");
  EXPECT_EQ(settings.sources[0].headers.front().second.reveal(), "Bearer x");
  EXPECT_EQ(settings.sources[1].signature, SourceSignature::hmac);
  EXPECT_EQ(settings.sources[1].secrets.front().reveal(), "literal-of-16-bytes");
  EXPECT_EQ(settings.sources[1].interval_seconds, 60) << "no value of one source reaches the next";
  EXPECT_THAT(settings.warnings, Contains(AllOf(StartsWith("a.yaml:"), HasSubstr("sources[1].secret"))));
}

// SRC-51
TEST(SourceSettings, APollBySinceNeedsPageSizeOrNext) {
  const std::string poll = "\n  - name: a\n    type: poll\n    url: https://a.example\n    since: s\n    ";
  for (const char* paging : {"page_size: 100", "next: /next"}) {
    const auto outcome = read(poll + paging + "\n    " + kFields + "\n");
    ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
    EXPECT_EQ(outcome->sources[0].page_size, paging[0] == 'p' ? 100 : 0);
  }
}

TEST(SourceSettings, EachLiteralSecretOfAListCausesAWarning) {
  const auto outcome = read(R"(  - name: hook
    secret: [ c2VjcmV0c2VjcmV0c2VjcmV0, b3RoZXJvdGhlcm90aGVyb3Ro ]
    )" + std::string(kFields) +
                            R"(
  - name: feed
    type: poll
    url: https://api.example.com
    headers: { Authorization: hush, X-Tenant: hush }
    )" + kFields + "\n");
  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(outcome.value().warnings,
              ElementsAre(StartsWith("a.yaml:6: sources[0].secret[0]: "),
                          StartsWith("a.yaml:6: sources[0].secret[1]: "),
                          StartsWith("a.yaml:11: sources[1].headers.Authorization: "),
                          StartsWith("a.yaml:11: sources[1].headers.X-Tenant: ")));
}

/// The second line would be a further header of each poll.
TEST(SourceSettings, ASecretIsOneLine) {
  const auto outcome = read(std::string(R"(
  - name: feed
    type: poll
    url: https://api.example.com
    headers: { Authorization: "Bearer abc\nX-Injected: yes" }
    )") + kFields + "\n");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error().lines,
              ElementsAre(AllOf(
                  StartsWith("a.yaml:9: sources[0].headers.Authorization: found a secret with a line end"),
                  Not(HasSubstr("Injected")))));
}

TEST(SourceSettings, AcceptsAnEmptyList) {
  EXPECT_THAT(errors_of(""), IsEmpty());
  EXPECT_THAT(errors_of("  []\n"), IsEmpty());
}

struct InvalidSource {
  const char* yaml;
  const char* line;  ///< a part of the one fault
};

class InvalidSources : public ::testing::TestWithParam<InvalidSource> {};

TEST_P(InvalidSources, AreReportedWithLineElementAndAllowedValues) {
  EXPECT_THAT(errors_of(GetParam().yaml), ElementsAre(HasSubstr(GetParam().line)));
}

#define FIELDS "    fields: { transaction_id: /id, status: /status, occurred_at: /at }\n"
INSTANTIATE_TEST_SUITE_P(
    Table, InvalidSources,
    ::testing::Values(
        InvalidSource{"  name: x\n", "a.yaml:5: sources: found keys and values; allowed: a list of sources"},
        InvalidSource{"  - just text\n", "a.yaml:5: sources: found an element ([0]) without keys"},
        InvalidSource{"  - type: poll\n    url: https://a.example\n" FIELDS,
                      "a.yaml:5: sources[0].name: found nothing"},
        InvalidSource{"  - name: Vendor\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n" FIELDS,
                      "a.yaml:5: sources[0].name: found \"Vendor\", which has characters other than"},
        InvalidSource{"  - name: import\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n" FIELDS,
                      "which giftsync uses itself"},
        InvalidSource{
            "  - name: a\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n" FIELDS
            "  - name: a\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n" FIELDS,
            "a.yaml:8: sources[1].name: found \"a\" again, first on line 5; allowed: each name once"},
        InvalidSource{"  - name: a\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n    colour: red\n" FIELDS,
                      "a.yaml:7: sources[0].colour: found an unknown key"},
        InvalidSource{"  - name: a\n" FIELDS, "sources[0].secret: found nothing"},
        InvalidSource{"  - name: a\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n    fields: { transaction_id: /id, "
                      "status: /s }\n",
                      "a.yaml:7: sources[0].fields.occurred_at: found nothing"},
        InvalidSource{
            "  - name: a\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n    status_map: { x: lost }\n" FIELDS,
            "sources[0].status_map: found \"lost\" for \"x\""},
        InvalidSource{
            "  - name: a\n    secret: c2VjcmV0c2VjcmV0c2VjcmV0\n    url: https://a.example\n" FIELDS,
            "sources[0].url: found a key that sources.type: webhook leaves without effect"},
        InvalidSource{"  - name: a\n    signature: hmac\n    secret: 0123456789abcdef\n" FIELDS,
                      "sources[0].signature_header: found nothing"},
        InvalidSource{"  - name: a\n    secret: tooshort\n" FIELDS, "allowed: base64 of at least 16 bytes"},
        InvalidSource{"  - name: a\n    signature: hmac\n    signature_header: X-S\n    secret: "
                      "0123456789abcde\n" FIELDS,
                      "allowed: a secret of at least 16 bytes, or allow_short_secrets: true"},
        InvalidSource{"  - name: a\n    preset: mailgun\n    secret: a\n", "a secret of at least 16 bytes"},
        InvalidSource{"  - name: a\n    signature: basic\n    secret: \"user:\"\n" FIELDS,
                      "allowed: user:password with a password"},
        InvalidSource{"  - name: a\n    signature: basic\n    secret: \"user:\"\n    allow_short_secrets: "
                      "true\n" FIELDS,
                      "allowed: user:password with a password"},
        InvalidSource{"  - name: a\n    preset: postmark\n    secret: \"long-user-name-of-24:0123\"\n",
                      "a password of at least 16 bytes"},
        InvalidSource{"  - name: a\n    signature: basic\n    secret: nocolon\n" FIELDS,
                      "allowed: user:password"},
        InvalidSource{"  - name: a\n    type: poll\n" FIELDS, "sources[0].url: found nothing"},
        InvalidSource{"  - name: a\n    type: poll\n    url: ftp://a.example\n" FIELDS,
                      "does not begin with http"},
        InvalidSource{
            "  - name: a\n    type: poll\n    url: https://a.example\n    cursor: { pointer: /c }\n" FIELDS,
            "sources[0].cursor.parameter: found nothing beside"},
        InvalidSource{"  - name: a\n    type: poll\n    url: https://a.example\n    overlap: 5\n" FIELDS,
                      "sources[0].overlap: found a key without sources.since"},
        InvalidSource{"  - name: a\n    type: poll\n    url: https://a.example\n    page_size: 5\n" FIELDS,
                      "sources[0].page_size: found a key without sources.since"},
        InvalidSource{"  - name: a\n    type: poll\n    url: https://a.example\n    since: s\n" FIELDS,
                      "sources[0].page_size: found nothing beside sources.since"},
        InvalidSource{"  - name: a\n    type: poll\n    url: https://a.example\n    since: s\n    next: "
                      "link\n    page_size: 5\n" FIELDS,
                      "sources[0].page_size: found a key beside sources.next"},
        InvalidSource{"  - name: a\n    type: poll\n    url: https://a.example\n    since: s\n    "
                      "page_size: 1\n" FIELDS,
                      "sources[0].page_size: found \"1\""},
        InvalidSource{
            "  - name: a\n    type: poll\n    url: https://a.example\n    headers: { Host: x }\n" FIELDS,
            "sources[0].headers: found \"Host\", which giftsync sets itself"},
        InvalidSource{"  - name: a\n    type: poll\n    url: https://a.example\n    items: data\n" FIELDS,
                      "sources[0].items: found \"data\", which does not begin with /"},
        InvalidSource{"  - name: a\n    preset: ses\n", "sources[0].topic: found nothing"},
        InvalidSource{"  - name: a\n    preset: ses\n    topic: \"arn:aws:sns:s3:123456789012:T\"\n",
                      "sources[0].topic: found \"arn:aws:sns:s3:123456789012:T\", which is not an ARN"},
        InvalidSource{"  - name: a\n    preset: ses\n    topic: \"arn:aws:sns:::\"\n", "which is not an ARN"},
        InvalidSource{
            "  - name: a\n    preset: mailgun\n    secret: 0123456789abcdef\n    may_set: [redeemed]\n",
            "sources[0].may_set: found \"redeemed\" with preset: mailgun"},
        InvalidSource{"  - name: a\n    preset: mailgun\n    secret: 0123456789abcdef\n" FIELDS,
                      "sources[0].fields: found a key that preset: mailgun fixes"},
        InvalidSource{"  - name: a\n    preset: sendgrid\n    secret: k\n",
                      "allowed: the verification key"}));

// SEC-6
TEST(SourceSettings, AShortSecretIsAllowedByName) {
  const auto outcome = read(std::string("  - name: a\n    signature: hmac\n    signature_header: X-S\n"
                                        "    secret: short\n    allow_short_secrets: true\n    ") +
                            kFields + "\n");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  EXPECT_EQ(outcome->sources[0].secrets.front().reveal(), "short");
}

// SEC-5
TEST(SourceSettings, SecretHeadersToANameLikeLocalhostAreWarnedOf) {
  const auto warnings = [](const std::string& host) {
    return read("  - name: app\n    type: poll\n    url: \"http://" + host +
                "/f\"\n    headers: { X-Key: env:HOME }\n    " + kFields + "\n")
        .value()
        .warnings;
  };
  for (const char* host : {"localhost.evil.test", "127.0.0.1.evil.test"})
    EXPECT_THAT(warnings(host), Contains(HasSubstr("secret headers are sent unencrypted"))) << host;
  for (const char* host : {"localhost:81", "127.0.0.1", "[::1]:81"})
    EXPECT_THAT(warnings(host), ::testing::Not(Contains(HasSubstr("unencrypted")))) << host;
}

TEST(SourceSettings, FaultsOfSecretsHideThem) {
  for (const std::string& line :
       errors_of(std::string("  - name: a\n    secret: hush-hush\n    ") + kFields + "\n"))
    EXPECT_THAT(line, ::testing::Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace giftsync::config
