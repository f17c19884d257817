#include "daemon/config/effective_settings.h"

#include <gmock/gmock.h>

#include "daemon/config/read_settings.h"

namespace giftsync::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kStart =
    "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
    "store: { connection: store.db }\n"
    "email: { directory: outbox, from: gifts@example.com }\n";

std::vector<EffectiveSetting> shown(const std::string& more) {
  const auto read = read_settings_text(kStart + more, "/tmp/giftsyncd.yaml");
  EXPECT_TRUE(read) << (read ? "" : read.error().lines.front());
  return read ? effective_settings(*read) : std::vector<EffectiveSetting>{};
}

/// "key: in force -> in file", "-" where there is none.
std::vector<std::string> differing(const std::string& in_force, const std::string& in_file) {
  std::vector<std::string> lines;
  for (const SettingDifference& one : differences(shown(in_force), shown(in_file)))
    lines.push_back(one.key + ": " + (one.in_force ? one.in_force->value : "-") + " -> " +
                    (one.in_file ? one.in_file->value : "-"));
  return lines;
}

// SET-8
TEST(EffectiveSettings, DifferWhereTheValueOrTheReferenceOfASecretDiffers) {
  EXPECT_THAT(differing("", ""), IsEmpty());
  EXPECT_THAT(differing("limits: { max_recipients: 7 }\n", "\n\nlimits: { max_recipients: 7 }\n"), IsEmpty())
      << "another line is no difference";
  EXPECT_THAT(differing("", "limits: { max_recipients: 1000 }\n"), IsEmpty()) << "the default, written down";
  EXPECT_THAT(differing("limits: { max_recipients: 7 }\n", "limits: { max_recipients: 8 }\n"),
              ElementsAre("limits.max_recipients: 7 -> 8"));
  EXPECT_THAT(differing("limits: { max_recipients: 7 }\n", ""),
              ElementsAre("limits.max_recipients: 7 -> 1000"));
}

// SET-8
TEST(EffectiveSettings, DifferByTheReferenceOfASecret) {
  const EffectiveSetting former{"email.smtp.password", "\"********\"", {3, "file:a"}};
  EffectiveSetting next = former;
  next.provenance.line = 9;
  EXPECT_THAT(differences({former}, {next}), IsEmpty());
  next.provenance.reference = "file:b";
  EXPECT_EQ(differences({former}, {next}).size(), 1U);
}

// SEC-4
TEST(EffectiveSettings, HideTheQueryOfAFeed) {
  for (const EffectiveSetting& one :
       shown("sources: [{ name: a, type: poll, url: \"https://h/f?token=hunter2\",\n"
             "  fields: { transaction_id: /id, status: /what, occurred_at: /at } }]\n")) {
    if (one.key == "sources[0].url") {
      EXPECT_EQ(one.value, "\"https://h/f?********\"");
    }
  }
}

// SET-8
TEST(EffectiveSettings, ElementsOfListsComeAndGo) {
  const EffectiveSetting common{"log.level", "\"info\"", {}};
  const EffectiveSetting element{"sources[0].name", "\"a\"", {4, ""}};
  const auto added = differences({common}, {common, element});
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0].key, "sources[0].name");
  EXPECT_FALSE(added[0].in_force);
  const auto removed = differences({common, element}, {common});
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_FALSE(removed[0].in_file);
}

TEST(EffectiveSettings, AreReadBackFromTheirText) {
  const auto all = shown("limits: { max_recipients: 7 }\n");
  const auto read = effective_settings_from(to_text(all));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(provenance_text((*read)[i], "/f"), provenance_text(all[i], "/f")) << all[i].key;
  EXPECT_THAT(differences(all, *read), IsEmpty());
  for (const char* text : {"", "{", "{}", "[1]", "[[\"k\",\"{\",1,\"\"]]", "[[\"k\",\"1\",1]]"})
    EXPECT_FALSE(effective_settings_from(text)) << text;
}

}  // namespace
}  // namespace giftsync::config
