// The table of the log's kinds of lines, and what is made from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/config/log_event_documents.h"
#include "platform/log_line.h"
#include "tests/source_folder.h"

namespace giftsync::config {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// OPS-47
TEST(LogEvents, EachKindHasAnIdOfItsOwn) {
  std::set<std::string_view> ids;
  std::set<std::string_view> names;
  for (const LogEventKind& kind : log_event_kinds()) {
    SCOPED_TRACE(kind.name);
    EXPECT_THAT(std::string(kind.id), MatchesRegex("[0-9a-f]{32}"));
    EXPECT_TRUE(ids.insert(kind.id).second);
    EXPECT_TRUE(names.insert(kind.name).second);
    EXPECT_THAT(std::string(kind.meaning), MatchesRegex("[A-Z].*[.]"));
    EXPECT_EQ(&kind_of(kind.event), &kind);
  }
}

// OPS-47
TEST(LogEvents, ALineHasTheFieldsOfWhatItIsAbout) {
  const LogEventKind& made = kind_of(LogEvent::gift_request_made);
  const std::vector<LogField> all{
      gift_field(3), {"client", "192.0.2.1"}, {"request_id", ""}, {"request", std::int64_t{5}}};
  EXPECT_EQ(missing_field(made, all), "");
  EXPECT_EQ(missing_field(made, std::span(all).first(3)), "request");
  EXPECT_EQ(missing_field(made, std::span(all).last(3)), "gift");
  EXPECT_EQ(missing_field(kind_of(LogEvent::source_works), all), "source");
  EXPECT_EQ(missing_field(kind_of(LogEvent::daemon_started), {}), "");
  for (const LogEventKind& kind : log_event_kinds()) {
    SCOPED_TRACE(kind.name);
    const std::string name(kind.name);
    // Those of mails are about a gift's mail or a notice.
    const bool is_of_gift =
        name.starts_with("gift_") || name.starts_with("page_") || name.starts_with("recipient_");
    EXPECT_TRUE(!is_of_gift || kind.fields.starts_with("gift"));
    const bool is_of_source = name.starts_with("source_") && kind.event != LogEvent::source_health_not_saved;
    EXPECT_TRUE(!is_of_source || kind.fields == "source");
    EXPECT_THAT(std::string(kind.fields),
                MatchesRegex("((gift|key|request|request_id|request_record|source)( |$))*"));
  }
}

// OPS-47
TEST(LogEvents, AnErrorHasANextStep) {
  for (const LogEventKind& kind : log_event_kinds()) {
    const bool needs_step = kind.level == LogLevel::error && kind.event != LogEvent::response_broken;
    EXPECT_TRUE(!needs_step || !kind.step.empty()) << kind.name;
  }
}

// OPS-47
TEST(LogEvents, ThePageIsMadeFromTheTable) {
  std::ifstream file(std::string(kSourceFolder) + "/docs/operations/events.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), log_events_page())
      << "the table changed: copy documents/events.md of the build folder to docs/operations/";
}

// OPS-47
TEST(LogEvents, TheCatalogHasEachKind) {
  const std::string catalog = journal_catalog();
  for (const LogEventKind& kind : log_event_kinds()) {
    EXPECT_THAT(catalog, HasSubstr("\n-- " + std::string(kind.id) + "\nSubject: "));
    EXPECT_THAT(catalog, HasSubstr(std::string(kind.meaning)));
  }
  EXPECT_THAT(catalog, HasSubstr("/usr/share/doc/giftsync/operations/mail.md"));
  EXPECT_THAT(catalog, Not(HasSubstr("`giftsyncctl")));
}

}  // namespace
}  // namespace giftsync::config
