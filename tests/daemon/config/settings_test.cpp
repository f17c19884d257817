#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/config/read_settings.h"
#include "daemon/config/text_checks.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kReadmeExample = R"(
server: { listen: "127.0.0.1:8480", base_url: "http://127.0.0.1:8480", admin_url: "http://127.0.0.1:8480" }
store:  { backend: sqlite, connection: "giftsync.db" }
crm:    { type: sql }
email:  { transport: file, directory: "outbox", from: "gifts@example.com" }
)";

/// The required keys, followed by `more`, which begins on line 4.
std::string with_required(const std::string& more) {
  return "server: { base_url: \"https://gifts.example.com\", admin_url: \"https://gifts.internal\" }\n"
         "store: { connection: gifts.db }\n"
         "email: { directory: outbox, from: gifts@example.com }\n" +
         more;
}

Settings good(const std::string& text) {
  tl::expected<Settings, SettingsFaults> outcome = read_settings_text(text, "/etc/giftsync/a.yaml");
  if (!outcome) {
    ADD_FAILURE() << ::testing::PrintToString(outcome.error().lines);
    return {};
  }
  return outcome.value();
}

std::vector<std::string> faults_of(const std::string& text) {
  tl::expected<Settings, SettingsFaults> outcome = read_settings_text(text, "a.yaml");
  if (outcome.has_value()) return {};
  return outcome.error().lines;
}

// SET-1, HTTP-21, MATCH-3
TEST(Settings, ReadsTheReadmeExampleAndAppliesDefaults) {
  const Settings settings = good(kReadmeExample);
  EXPECT_EQ(settings.server.listen, "127.0.0.1:8480");
  EXPECT_EQ(settings.server.base_url, "http://127.0.0.1:8480");
  EXPECT_EQ(settings.store.backend, StoreBackend::sqlite);
  EXPECT_EQ(settings.store.connection, "/etc/giftsync/giftsync.db");
  EXPECT_EQ(settings.email.directory, "/etc/giftsync/outbox");
  EXPECT_EQ(settings.email.from, "gifts@example.com");
  EXPECT_EQ(settings.limits.max_recipients, 1000);
  EXPECT_EQ(settings.limits.max_body_bytes, 1 << 20);
  EXPECT_EQ(settings.limits.message_code_points, 10'000);
  EXPECT_EQ(settings.limits.name_code_points, 255);
  EXPECT_TRUE(settings.limits.refuse_placeholders);
  EXPECT_EQ(settings.crm.name_space, "giftsync");
  EXPECT_THAT(settings.matching.contact.phone_fields, ElementsAre("Phone", "MobilePhone"));
  EXPECT_TRUE(settings.email.delivered_when_accepted);
  EXPECT_EQ(settings.file, "/etc/giftsync/a.yaml");
  EXPECT_THAT(settings.warnings, IsEmpty());
}

// MATCH-3
TEST(Settings, ReadsEveryKindOfValue) {
  const Settings settings = good(with_required(R"(
limits: { max_body_bytes: 2048, placeholders: warn }
matching:
  contact: { email_fields: [Email, Work_Email__c], phone_fields: [], order_by: { field: CreatedDate, direction: ASC } }
  on_no_match: skip
  default_region: DE
crm: { namespace: acme_1, integration_user: 005xx }
catalogue: { item_url: "https://shop.example.com/gifts/{gift_id}" }
log: { level: warning, format: json }
)"));
  EXPECT_EQ(settings.limits.max_body_bytes, 2048);
  EXPECT_FALSE(settings.limits.refuse_placeholders);
  EXPECT_THAT(settings.matching.contact.email_fields, ElementsAre("Email", "Work_Email__c"));
  EXPECT_THAT(settings.matching.contact.phone_fields, IsEmpty());
  EXPECT_EQ(settings.matching.contact.order_by.field, "CreatedDate");
  EXPECT_FALSE(settings.matching.contact.order_by.descending);
  EXPECT_TRUE(settings.matching.lead.order_by.descending);
  EXPECT_TRUE(settings.matching.skip_unmatched);
  EXPECT_EQ(settings.matching.default_region, "DE");
  EXPECT_EQ(settings.crm.name_space, "acme_1");
  EXPECT_EQ(settings.catalogue.item_url, "https://shop.example.com/gifts/{gift_id}");
  EXPECT_EQ(settings.log.level, "warning");
  EXPECT_TRUE(settings.log.json);
}

TEST(Settings, PostgresqlConnectionIsUnchanged) {
  const Settings settings = good(R"(
server: { base_url: "http://h/gifts//", admin_url: "http://h" }
store: { backend: postgresql, connection: "host=db dbname=gifts" }
email: { directory: o, from: gifts@example.com }
)");
  EXPECT_EQ(settings.store.backend, StoreBackend::postgresql);
  EXPECT_EQ(settings.store.connection, "host=db dbname=gifts");
  EXPECT_EQ(settings.server.base_url, "http://h/gifts") << "slashes at the end are removed";
}

TEST(Settings, SectionsWhoseKeysAreAllCommentsAreFine) {
  EXPECT_EQ(good(with_required("limits:\n  #max_recipients: 5\nlog:\n")).limits.max_recipients, 1000);
}

TEST(Settings, EmptyFileListsAllMissingKeys) {
  for (const char* text : {"", "# nothing\n", "---\n", "{}"}) {
    EXPECT_THAT(
        faults_of(text),
        ElementsAre(StartsWith("a.yaml:1: server.base_url: found nothing, and it is required; allowed: "),
                    StartsWith("a.yaml:1: server.admin_url: "), StartsWith("a.yaml:1: store.connection: "),
                    StartsWith("a.yaml:1: email.directory: "), StartsWith("a.yaml:1: email.from: ")))
        << text;
  }
}

// SET-3
TEST(Settings, ReportsAllFaultsInFileOrder) {
  const std::vector<std::string> faults = faults_of(with_required(R"(limits:
  max_recipients: many
  max_body_bytes: 5
crm: { namespace: a__b }
log: { level: chatty }
)"));
  EXPECT_THAT(
      faults,
      ElementsAre(
          "a.yaml:5: limits.max_recipients: found \"many\"; allowed: a whole number from 1 to 10000 "
          "(recipients); "
          "correct it, or remove the key for its default",
          AllOf(StartsWith("a.yaml:6: limits.max_body_bytes: found \"5\""), HasSubstr("from 256 to")),
          StartsWith("a.yaml:7: crm.namespace: found \"a__b\", which has two underscores in a row; "),
          StartsWith("a.yaml:8: log.level: found \"chatty\"; allowed: debug, info, warning, error; ")));
}

TEST(Settings, SuggestsTheClosestKey) {
  EXPECT_THAT(
      faults_of(with_required("limits: { max_recipient: 5 }")),
      ElementsAre(
          AllOf(StartsWith("a.yaml:4: limits.max_recipient: found an unknown key; allowed: max_body_bytes, "),
                HasSubstr("did you mean \"max_recipients\"?"))));
  EXPECT_THAT(faults_of(with_required("limts: {}")), ElementsAre(HasSubstr("did you mean \"limits\"?")));
  EXPECT_THAT(faults_of(with_required("item_url: x")),
              ElementsAre(HasSubstr("did you mean \"catalogue.item_url\"?")));
  EXPECT_THAT(faults_of(with_required("qqqqqqqqqq: x")), ElementsAre(HasSubstr("; remove it")));
  EXPECT_THAT(faults_of(with_required("\"log.level\": info")), ElementsAre(HasSubstr("found an unknown key")))
      << "a dotted path is no key";
}

TEST(Settings, RepeatedKeysAreFaultsAtEveryDepth) {
  EXPECT_THAT(
      faults_of(with_required("limits:\n  max_recipients: 5\n  max_recipients: 6\n")),
      ElementsAre(
          "a.yaml:6: limits.max_recipients: found again, first on line 5; allowed: each key once; remove one "
          "of the two"));
  EXPECT_THAT(faults_of(with_required("store: { connection: other.db }")),
              ElementsAre(StartsWith("a.yaml:4: store: found again, first on line 2")));
}

// OPS-7
TEST(Settings, TlsNeedsBothFilesAndUrlsWithHttps) {
  const auto with_tls = [](const std::string& tls, const std::string& url = "https://gifts.example.com") {
    return "server: { base_url: \"" + url + "\", admin_url: \"https://gifts.internal\", tls: { " + tls +
           " } }\nstore: { connection: a.db }\nemail: { directory: o, from: gifts@example.com }\n";
  };
  const Settings settings =
      good(with_tls("certificate: tls/a.pem, key: /run/a.key, minimum_version: \"1.3\""));
  EXPECT_EQ(settings.server.tls.certificate, "/etc/giftsync/tls/a.pem");
  EXPECT_EQ(settings.server.tls.key, "/run/a.key");
  EXPECT_TRUE(settings.server.tls.requires_1_3);
  EXPECT_THAT(faults_of(with_tls("certificate: a.pem")),
              ElementsAre(AllOf(HasSubstr("server.tls.key: found nothing beside server.tls.certificate"))));
  EXPECT_THAT(faults_of(with_tls("key: a.key")),
              ElementsAre(HasSubstr("server.tls.certificate: found nothing")));
  EXPECT_THAT(faults_of(with_tls("minimum_version: \"1.2\"")),
              ElementsAre(HasSubstr("a missing server.tls.certificate leaves without effect")));
  EXPECT_THAT(faults_of(with_tls("certificate: a.pem, key: a.key, minimum_version: \"1.1\"")),
              ElementsAre(HasSubstr("1.2, 1.3")));
  EXPECT_THAT(faults_of(with_tls("certificate: a.pem, key: a.key", "http://gifts.example.com")),
              ElementsAre(AllOf(HasSubstr("server.base_url"), HasSubstr("beside server.tls"))));
  ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", "/run/credentials/giftsyncd.service", 1), 0);
  const std::string credentials =
      with_tls("certificate: \"credential:tls-certificate\", key: \"credential:tls-key\"");
  EXPECT_EQ(good(credentials).server.tls.key, "/run/credentials/giftsyncd.service/tls-key");
  EXPECT_THAT(faults_of(with_tls("certificate: a.pem, key: \"credential:../a\"")),
              ElementsAre(HasSubstr("without a slash")));
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
  EXPECT_THAT(faults_of(credentials), testing::Each(HasSubstr("LoadCredential=tls-")));
}

TEST(Settings, WrongTypesAreFaults) {
  EXPECT_THAT(
      faults_of(with_required(R"(limits:
  max_recipients: "5"
  max_body_bytes: 010000
  max_connections: [5]
  requests_per_minute: 0x10
  name_code_points: 1.5
  message_code_points: 99999999999999999999
log: chatty
crm: { namespace: }
matching: { contact: { email_fields: Email, order_by: [] }, lead: { email_fields: [], phone_fields: [Phone, Phone, 9] } }
)")),
      ElementsAre(HasSubstr("recipients: found the text \"5\""),
                  HasSubstr("max_body_bytes: found \"010000\""), HasSubstr("connections: found a list"),
                  HasSubstr("minute: found \"0x10\""), HasSubstr("points: found \"1.5\""),
                  HasSubstr("points: found \"99999999999999999999\""),
                  HasSubstr("log: found a single text; allowed: the keys level, format"),
                  HasSubstr("crm.namespace: found nothing"),
                  HasSubstr("contact.email_fields: found \"Email\"; allowed: a list of 1 to 10"),
                  HasSubstr("order_by: found a list; allowed: the keys field, direction"),
                  HasSubstr("lead.email_fields: found 0 of them"),
                  HasSubstr("lead.phone_fields: found \"Phone\" twice"),
                  HasSubstr("lead.phone_fields: found \"9\", which is not a letter")));
  EXPECT_THAT(faults_of("[1, 2]"),
              ElementsAre(HasSubstr("a.yaml:1: found a list; allowed: the keys server, limits")));
}

TEST(Settings, KeysOfAnotherAlternativeAreFaults) {
  EXPECT_THAT(
      faults_of("server: { base_url: http://h, admin_url: http://h }\n"
                "store: { connection: a.db, password: 'env:HOME' }\n"
                "email:\n  from: gifts@example.com\n  directory: o\n  smtp:\n    url: smtp://relay\n"),
      ElementsAre(
          "a.yaml:2: store.password: found a key that store.backend: sqlite leaves without effect; allowed: "
          "only with store.backend: postgresql; remove it, or set store.backend: postgresql",
          AllOf(StartsWith("a.yaml:7: email.smtp.url: "), HasSubstr("only with email.transport: smtp"))));
  EXPECT_THAT(
      faults_of("server: { base_url: http://h, admin_url: http://h }\nstore: { connection: a.db }\n"
                "email: { transport: smtp, from: gifts@example.com, directory: o }\n"),
      ElementsAre(StartsWith("a.yaml:3: email.directory: found a key that email.transport: smtp leaves"),
                  StartsWith("a.yaml:3: email.smtp.url: found nothing, and it is required; ")));
}

TEST(Settings, AWrongAlternativeDoesNotMakeItsKeysWrong) {
  EXPECT_THAT(
      faults_of("server: { base_url: http://h, admin_url: http://h }\nstore: { connection: a.db }\n"
                "email: { transport: pigeon, from: gifts@example.com, smtp: { url: smtp://relay } }\n"),
      ElementsAre(
          "a.yaml:3: email.transport: found \"pigeon\"; allowed: smtp, file; correct it, or remove the key "
          "for its default"));
}

TEST(Settings, RefusesAmbiguousYaml) {
  EXPECT_THAT(faults_of(with_required("log: &a { level: info }")),
              ElementsAre(HasSubstr("a.yaml:4: found an anchor")));
  EXPECT_THAT(faults_of(with_required("log: &a { level: info }\ncrm: *a")),
              Contains(StartsWith("a.yaml:5: found an alias")));
  EXPECT_THAT(faults_of(with_required("log: { <<: { level: info } }")),
              ElementsAre(HasSubstr("log: found a merge key")));
  EXPECT_THAT(faults_of(with_required("log: { level: !!str info }")), ElementsAre(HasSubstr("found a tag")));
  EXPECT_THAT(faults_of(with_required("---\nlog: {}\n")),
              ElementsAre(HasSubstr("beginning of a second document")));
  EXPECT_THAT(faults_of(with_required("[a]: b")), ElementsAre(HasSubstr("a key that is not text")));
}

TEST(Settings, BrokenYamlIsReportedWithItsLine) {
  EXPECT_THAT(faults_of(with_required("log: { level: info\n")),
              ElementsAre(HasSubstr("found text that is not YAML (")));
  EXPECT_THAT(faults_of(with_required("a: b: c\n")),
              ElementsAre(StartsWith("a.yaml:4: found text that is not YAML (")));
  EXPECT_THAT(faults_of("{:"), ElementsAre(StartsWith("a.yaml:1: ")));
  EXPECT_THAT(faults_of(","), Not(IsEmpty()));
  EXPECT_THAT(faults_of("a: 1\nb: \"\xFF\"\n"),
              ElementsAre(StartsWith("a.yaml:2: found bytes that are not UTF-8")));
  EXPECT_THAT(faults_of(std::string("a: 1\n\0", 6)), ElementsAre(StartsWith("a.yaml:2: found bytes")));
  EXPECT_THAT(faults_of(std::string(5000, '[')), ElementsAre(HasSubstr("not YAML")));
  for (const char* text : {"a: 1\nb: \"\\N\"\n", "a: 1\n\"\\_\": b\n", "a: 1\nb: [\"\\0\"]\n"})
    EXPECT_THAT(faults_of(text), ElementsAre(StartsWith("a.yaml:2: found an escape that makes no UTF-8")))
        << text;
  EXPECT_THAT(faults_of("a: \"\\\x1b[2J\""), ElementsAre(HasSubstr("(unknown escape character: \\x1b)")));
}

TEST(Settings, ATabIsReportedAsSuch) {
  EXPECT_THAT(faults_of("server:\n\tlisten: 127.0.0.1:1\n"),
              ElementsAre(AllOf(StartsWith("a.yaml:2: found a tab"), HasSubstr("spaces"))));
  EXPECT_THAT(faults_of(with_required("log:\n  level: info\n\tformat: text\n")),
              ElementsAre(StartsWith("a.yaml:6: found a tab")));
}

TEST(Settings, AConnectionThatLibpqCannotReadIsAFault) {
  const auto with = [](const std::string& connection) {
    return faults_of(
        "server: { base_url: http://h, admin_url: http://h }\nstore: { backend: postgresql, connection: " +
        connection + " }\nemail: { directory: o, from: gifts@example.com }\n");
  };
  EXPECT_THAT(with("hosst=db"),
              ElementsAre(AllOf(StartsWith("a.yaml:2: store.connection: found a text that libpq cannot read"),
                                HasSubstr("invalid connection option \"hosst\"; did you mean \"host\"?"))));
  EXPECT_THAT(with("/var/lib/giftsync/giftsync.db"), ElementsAre(StartsWith("a.yaml:2: store.connection")));
  EXPECT_THAT(with("\"host=h password=my secret\""),
              ElementsAre(AllOf(StartsWith("a.yaml:2: store.connection"), Not(HasSubstr("secret")))));
  EXPECT_THAT(with("\"host=h dbname=gifts\""), IsEmpty());
}

// SEC-4
TEST(Settings, AFaultyConnectionIsNeverShown) {
  for (const char* connection :
       {"host=h PASSWORD=hunter2", "host=h hunter2", "hunter2", "host=h hunter2=x", "postgresql://u:hunter2",
        "postgresql://u:hunter2/d", "postgresql://u:a@hunter2@h/d", "postgresql://h:5432,hunter2:x/d",
        "host=h port=hunter2", "POSTGRESQL://u:hunter2@h"}) {
    const auto lines = faults_of(
        "server: { base_url: http://h, admin_url: http://h }\n"
        "store: { backend: postgresql, connection: \"" +
        std::string(connection) + "\" }\nemail: { directory: o, from: gifts@example.com }\n");
    EXPECT_THAT(lines, ElementsAre(AllOf(StartsWith("a.yaml:2: store.connection: found a text that libpq"),
                                         Not(HasSubstr("hunter2")))))
        << connection;
  }
}

// SEC-4
TEST(Settings, PasswordsInConnectionsAreSeen) {
  for (const char* connection :
       {"password=x", "host=h Password = x", "sslpassword=x", "postgresql://u:x@h/d", "postgresql://u:x",
        "postgresql://u:x/d", "postgresql://h/d?pass%77ord=x", "postgresql://h/d?a=b&PASSWORD=x",
        "postgresql://h:1,u:x/d", "postgresql://[::1]:x/d", "host=db user=g password=ab://cd",
        "password=ab://cd/e host=db", "application_name=a://b password=x"})
    EXPECT_TRUE(has_password(connection)) << connection;
  for (const char* connection :
       {"host=h passfile=x", "host=passwords", "postgresql://u@h:5432/d", "postgresql://",
        "postgresql://h1:1,h2:2/d", "postgresql://[::1]:5432/d", "postgresql:///d?a=b",
        "host=h application_name=a://b", "postgresql://h/password?a=b"})
    EXPECT_FALSE(has_password(connection)) << connection;
}

// SEC-4
TEST(Settings, QueriesAndHeadersOfFeedsAreNotShown) {
  const auto lines = faults_of(with_required(
      "sources: [{ name: a, type: poll, url: \"https://h/f?token=hunter2#x\", headers: hunter2,\n"
      "  fields: { transaction_id: /id, status: /what, occurred_at: /at } }]"));
  EXPECT_THAT(lines, ::testing::SizeIs(2));
  EXPECT_THAT(lines, ::testing::Each(Not(HasSubstr("hunter2"))));
}

// SEC-5
TEST(Settings, DangerousSettingsAreWarnedOf) {
  const auto warnings = [](const std::string& server) {
    return good("server: { " + server +
                " }\nstore: { connection: a.db }\nemail: { directory: o, from: gifts@example.com }\n")
        .warnings;
  };
  const std::string urls = "base_url: https://gifts.example.com, admin_url: http://127.0.0.1:8480";
  EXPECT_THAT(warnings(urls), IsEmpty());
  EXPECT_THAT(
      warnings(urls + ", trusted_proxies: [10.0.0.0/8, 0.0.0.0/0, \"::/0\"]"),
      ElementsAre(HasSubstr("\"0.0.0.0/0\" trusts every caller"), HasSubstr("\"::/0\" trusts every")));
  EXPECT_THAT(
      warnings("base_url: http://gifts.example.com, admin_url: http://192.0.2.1:8480"),
      ElementsAre(HasSubstr("server.base_url: \"http://gifts.example.com\" is public and without TLS"),
                  HasSubstr("server.admin_url: ")));
  for (const char* local :
       {"http://h", "http://localhost:1", "http://[::1]:1", "http://10.1.2.3", "http://gifts.lan"})
    EXPECT_THAT(warnings("base_url: \"" + std::string(local) + "\", admin_url: http://h"), IsEmpty())
        << local;
}

// SEC-5
TEST(Settings, OnlyThisHostIsLocal) {
  for (const char* host : {"localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host :
       {"localhost.evil.test", "127.0.0.1.evil.test", "127.1", "128.0.0.1", "", "notlocalhost"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
  EXPECT_EQ(host_of_url("http://localhost.evil.test/x?y"), "localhost.evil.test");
  EXPECT_EQ(host_of_url("http://LOCALHOST:80/"), "localhost");
  EXPECT_EQ(host_of_url("http://[::1]:80/"), "::1");
}

TEST(Settings, ControlCharactersCannotForgeALine) {
  EXPECT_THAT(faults_of(with_required("log: { level: \"x\\n\\e[2Jb.yaml:1: all well\" }")),
              ElementsAre(AllOf(HasSubstr("found the text \"x\\n\\x1b[2Jb.yaml"), Not(HasSubstr("\n")))));
}

TEST(Settings, ListenersNeedDifferentAddresses) {
  const std::string urls = "base_url: http://h, admin_url: http://h";
  const std::string rest =
      "\nstore: { connection: a.db }\nemail: { directory: o, from: gifts@example.com }\n";
  EXPECT_THAT(faults_of("server: { admin_listen: \"127.0.0.1:8480\", " + urls + " }" + rest),
              ElementsAre(HasSubstr("the same as server.listen")));
  EXPECT_THAT(faults_of("server: { listen: \"[::1]:0\", admin_listen: \"[::1]:0\", " + urls + " }" + rest),
              IsEmpty());
}

// OPS-40
TEST(Settings, MetricsHaveAnAddressOfTheirOwn) {
  const auto faults_with = [](const std::string& server, const std::string& metrics) {
    return faults_of("server: { " + server +
                     "base_url: http://h, admin_url: http://h }\nmetrics: { listen: \"" + metrics +
                     "\" }\nstore: { connection: a.db }\nemail: { directory: o, from: gifts@example.com }\n");
  };
  for (const auto& [server, metrics, other] :
       {std::tuple{"", "127.0.0.1:8480", "server.listen"}, std::tuple{"", "0.0.0.0:8480", "server.listen"},
        std::tuple{"listen: \"[::]:7000\", ", "127.0.0.1:7000", "server.listen"},
        std::tuple{"admin_listen: \"10.0.0.1:9480\", ", "10.0.0.1:9480", "server.admin_listen"}})
    EXPECT_THAT(
        faults_with(server, metrics),
        ElementsAre(AllOf(HasSubstr("metrics.listen"), HasSubstr("whose port is that of"), HasSubstr(other))))
        << server << metrics;
  EXPECT_THAT(faults_with("", "localhost:9480"), ElementsAre(HasSubstr("which is a name")));
  for (const auto& [server, metrics] :
       {std::pair{"", "127.0.0.1:9480"}, std::pair{"listen: \"127.0.0.1:0\", ", "127.0.0.1:0"},
        std::pair{"listen: \"10.0.0.1:8480\", ", "127.0.0.1:8480"}, std::pair{"", "0.0.0.0:9480"}})
    EXPECT_THAT(faults_with(server, metrics), IsEmpty()) << server << metrics;
}

// OPS-40
TEST(Settings, MetricsBeyondThisHostAreWarnedAbout) {
  const auto warnings_of = [](const std::string& listen) {
    return good(with_required("metrics: { listen: \"" + listen + "\" }")).warnings;
  };
  for (const char* listen : {"0.0.0.0:9480", "[::]:9480", "192.0.2.1:9480"})
    EXPECT_THAT(warnings_of(listen), Contains(AllOf(HasSubstr("metrics.listen"), HasSubstr("without a key"))))
        << listen;
  for (const char* listen : {"127.0.0.1:9480", "127.9.0.1:9480", "[::1]:9480"})
    EXPECT_THAT(warnings_of(listen), Not(Contains(HasSubstr("metrics.listen")))) << listen;
}

TEST(Settings, MissingAndUnreadableFilesAreFaults) {
  const auto fault_of = [](const std::string& path) { return read_settings(path).error().lines; };
  EXPECT_THAT(fault_of("/nowhere/a.yaml"), ElementsAre(StartsWith("/nowhere/a.yaml: found nothing there; ")));
  EXPECT_THAT(fault_of("/tmp"),
              ElementsAre("/tmp: found a folder; allowed: a settings file; name the file in it"));
  EXPECT_THAT(fault_of("/dev/zero"), ElementsAre(HasSubstr("found more than 1 MiB")));
}

}  // namespace
}  // namespace giftsync::config
