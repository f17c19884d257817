// The answers of query and queryAll, in pages by locator. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

class Queries {
 public:
  static constexpr std::size_t kPage = 2'000;

  explicit Queries(Org& org) : org_(org) {}

  /// `version` is "v62.0".
  Json query(const std::string& user, const std::string& soql, bool with_deleted, const std::string& version,
             std::size_t page = kPage);
  /// The page of a nextRecordsUrl: "01g...-2000". Throws ApiError INVALID_QUERY_LOCATOR.
  Json more(const std::string& locator, const std::string& version);
  /// Locators end 15 minutes after their query.
  static constexpr std::int64_t kLocatorMillis = 15 * kMinuteMillis;

 private:
  struct Cursor {
    std::vector<Json> records;
    std::size_t page = kPage;
    UtcMillis ends_at;
  };
  Json page_of(const std::string& id, const Cursor& cursor, std::size_t begin,
               const std::string& version) const;

  Org& org_;
  std::map<std::string, Cursor> cursors_;
  std::uint64_t next_cursor_ = 1;
};

}  // namespace giftsync::tests::fake_org
