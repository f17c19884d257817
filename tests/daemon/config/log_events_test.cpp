// The table of the log's kinds of lines, and what is made from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

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
