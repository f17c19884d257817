// The tables of the API's errors, and what is made from them.
#include "daemon/validation/error_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/http/problem.h"
#include "tests/source_folder.h"
#include "tests/support/json.h"

namespace giftsync::validation {
namespace {

using testing::MatchesRegex;

// HTTP-37
TEST(ErrorCatalogue, EachProblemHasOneStatusAndATitleOfItsOwn) {
  std::map<std::string_view, int> statuses;
  std::set<std::pair<std::string_view, std::string_view>> titles;
  int before = 400;
  for (const ProblemKind& kind : kProblemKinds) {
    SCOPED_TRACE(kind.code);
    EXPECT_GE(kind.status, before) << "the rows are in the order of their statuses";
    before = kind.status;
    EXPECT_EQ(statuses.try_emplace(kind.code, kind.status).first->second, kind.status);
    EXPECT_TRUE(titles.emplace(kind.code, kind.title).second);
    EXPECT_THAT(std::string(kind.code), MatchesRegex("[a-z_]+"));
    EXPECT_THAT(std::string(kind.meaning), MatchesRegex("[A-Z`].*[.]"));
    if (kind.status != 409) {
      EXPECT_EQ(kind.repeat == Repeat::later, kind.status == 429 || kind.status == 503);
    }
  }
}

// HTTP-37
TEST(ErrorCatalogue, EachFieldCodeStandsSomewhereAndHasAMeaning) {
  std::set<std::string_view> codes;
  for (const FieldCodeKind& kind : kFieldCodeKinds) {
    SCOPED_TRACE(kind.code);
    EXPECT_TRUE(codes.insert(kind.code).second);
    EXPECT_NE(kind.places, 0u);
    EXPECT_THAT(std::string(kind.meaning), MatchesRegex("[A-Z`].*[.]"));
  }
}

// HTTP-36, HTTP-37
TEST(ErrorCatalogue, AProblemHasStatusAndTitleOfItsRow) {
  const http::HttpResponse response = http::problem({"invalid", "The message is not valid"}, "No event.");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(tests::parse_json(response.body).at("title"), "The message is not valid");
  EXPECT_EQ(tests::parse_json(http::problem("invalid", "No.").body).at("title"), "The request is not valid");
}

// HTTP-37
TEST(ErrorCatalogue, ThePageIsMadeFromTheTables) {
  std::ifstream file(std::string(kSourceFolder) + "/docs/operations/errors.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), errors_page())
      << "the tables changed: copy documents/errors.md of the build folder to docs/operations/";
}

}  // namespace
}  // namespace giftsync::validation
