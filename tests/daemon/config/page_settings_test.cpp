// The settings of pages, and the logo's file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <variant>

#include "daemon/config/read_settings.h"
#include "daemon/content/branding.h"

namespace giftsync::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class PageSettingsTest : public testing::Test {
 protected:
  PageSettingsTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "page_settings.XXXXXX").string();
    folder_ = mkdtemp(folder.data());
  }
  ~PageSettingsTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  tl::expected<Settings, SettingsFaults> read(const std::string& pages) {
    return read_settings_text(
        "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
        "store: { connection: store.db }\n"
        "email: { directory: outbox, from: gifts@example.com }\n"
        "pages:\n" +
            pages,
        (folder_ / "giftsyncd.yaml").string());
  }
  Settings settings(const std::string& pages) {
    auto outcome = read(pages);
    if (!outcome) ADD_FAILURE() << outcome.error().lines.front();
    return outcome.value();
  }
  std::vector<std::string> faults(const std::string& pages) {
    auto outcome = read(pages);
    return outcome.has_value() ? std::vector<std::string>() : outcome.error().lines;
  }

  std::filesystem::path folder_;
};

const std::string kPng("\x89PNG\r\n\x1a\n rest");

TEST_F(PageSettingsTest, ReadsAllKeys) {
  write("logo.png", kPng);
  const PageSettings pages =
      settings(
          "  company_name: Edge\n  colour: \"#FFCC00\"\n  logo: logo.png\n  language: DE\n  charities:\n"
          "    - { name: Red Cross, link: \"https://redcross.example/help?a=1\" }\n    - name: Other\n")
          .pages;
  EXPECT_EQ(pages.company_name, "Edge");
  EXPECT_EQ(pages.colour, "#ffcc00");
  EXPECT_EQ(pages.logo, (folder_ / "logo.png").string());
  EXPECT_EQ(pages.language, "de");
  ASSERT_EQ(pages.charities.size(), 2u);
  EXPECT_EQ(pages.charities[0].link, "https://redcross.example/help?a=1");
  EXPECT_EQ(pages.charities[1].link, "");
  EXPECT_EQ(settings("").pages.colour, "#0a6650");
}

TEST_F(PageSettingsTest, FaultsNameLineAndKey) {
  for (const char* colour : {"blue", "\"#12345\"", "\"#1234567\"", "\"#12345g\"", "123456"}) {
    EXPECT_THAT(
        faults("  colour: " + std::string(colour) + "\n"),
        ElementsAre(AllOf(HasSubstr("giftsyncd.yaml:5: pages.colour: found "), HasSubstr("six hex digits"))))
        << colour;
  }
  EXPECT_THAT(faults("  language: xx\n"),
              ElementsAre(AllOf(HasSubstr(":5: pages.language"), HasSubstr("available: de, en, es"))));
  EXPECT_THAT(
      faults("  charities:\n    - { name: A }\n    - { name: A }\n"),
      ElementsAre(AllOf(HasSubstr(":7: pages.charities[1].name"), HasSubstr("again, first on line 6"))));
  EXPECT_THAT(faults("  charities:\n    - { link: \"http://a.example\" }\n"),
              testing::UnorderedElementsAre(HasSubstr("pages.charities[0].name: found nothing"),
                                            HasSubstr("pages.charities[0].link")));
  write("logo.gif", "GIF89a");
  EXPECT_THAT(
      faults("  logo: logo.gif\n"),
      ElementsAre(AllOf(HasSubstr(":5: pages.logo: found"), HasSubstr("which is not a supported picture"))));
  EXPECT_THAT(faults("  logo: none.png\n"), ElementsAre(HasSubstr("No such file")));
  write("large.png", kPng + std::string(content::kMaxLogoBytes, 'x'));
  EXPECT_THAT(faults("  logo: large.png\n"), ElementsAre(HasSubstr("larger than 200 KiB")));
}

TEST_F(PageSettingsTest, ALogoTypeIsDetectedFromItsContent) {
  const std::vector<std::pair<std::string, std::string>> kinds{
      {kPng, "image/png"},
      {"\xFF\xD8\xFF rest", "image/jpeg"},
      {std::string("RIFF\x10\0\0\0WEBPVP8 ", 16), "image/webp"},
      {"\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "image/svg+xml"},
      {" <svg/>", "image/svg+xml"}};
  for (const auto& [bytes, type] : kinds) {
    const auto logo = content::read_logo(write("logo", bytes));
    ASSERT_TRUE(logo.has_value()) << type;
    EXPECT_EQ(logo->type, type);
    EXPECT_EQ(logo->bytes, bytes);
    EXPECT_THAT(logo->name, StartsWith("logo-"));
  }
  const auto other = content::read_logo(write("logo", kPng + "!"));
  EXPECT_NE(other->name, content::read_logo(write("logo", kPng))->name);
  for (const std::string bad : {"", "<html><svg/></html>", "\x89PN", "GIF89a", "RIFF"})
    EXPECT_FALSE(content::read_logo(write("logo", bad)).has_value()) << bad;
}

}  // namespace
}  // namespace giftsync::config
