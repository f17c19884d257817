// schema/store: the counts of reports (NUM-1): for each day of sending and organization how many gifts came
// to each status, what they cost and how long redeeming took; of all gifts and by account, item, campaign and
// source. What changes a gift inserts the difference into gift_rollup_delta in the same transaction, and a
// worker adds those differences up. So gifts and counts, with the differences that wait, agree in each
// snapshot of the database: what they differ in can be found without a lock and added later, for gifts from
// before the counts (fill_step) and for a repair alike.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/gift_numbers.h"
#include "schema/ids.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

enum class RollupDimension : std::int64_t { all, account, item, campaign, source };
inline constexpr std::array<RollupDimension, 5> kAllRollupDimensions{
    RollupDimension::all, RollupDimension::account, RollupDimension::item, RollupDimension::campaign,
    RollupDimension::source};
std::string_view to_word(RollupDimension dimension);

/// Of a day that many campaigns have rows of their own; the gifts of the others count together.
inline constexpr std::int64_t kMaxCampaignsPerDay = 1'000;
/// Their key.
inline constexpr std::string_view kOtherCampaigns = "*";
/// Which rows are summed up.
struct RollupQuestion {
  RollupDimension dimension = RollupDimension::all;
  std::int64_t first_day = 0;
  std::int64_t last_day = 0;                                  ///< the last one included
  std::optional<OrganizationId> organization = std::nullopt;  ///< nothing: all, and gifts of none
  std::optional<std::string> key = std::nullopt;              ///< nothing: all
};

/// Which gifts are counted by now.
struct RollupProgress {
  bool is_whole = false;                                ///< all
  std::optional<std::int64_t> from_day = std::nullopt;  ///< if not: of this day and later; nothing: none
};

/// Where the rows and the gifts differ.
struct RollupDifference {
  std::int64_t day = 0;
  RollupDimension dimension = RollupDimension::all;
  std::int64_t organization = 0;
  std::string key = {};
  GiftNumbers counted = {};  ///< with the differences that wait
  GiftNumbers gifts = {};
};

/// Any thread. Throws DependencyError.
class Rollups {
 public:
  explicit Rollups(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Whether differences wait, or gifts from before the counts are not counted yet.
  bool has_work();
  static constexpr std::size_t kMaxDeltas = 5'000;
  /// Adds the differences that wait, at most kMaxDeltas; returns how many.
  std::size_t add_deltas();

  enum class FillStep {
    done,   ///< all gifts are counted
    more,   ///< a day was counted
    waits,  ///< a daemon runs, or ended in the last minute, that does not count what it changes
    again,  ///< another process changed the rows meanwhile, or it was not to continue
  };
  /// Counts the gifts of the latest day whose gifts from before the counts are not counted yet.
  /// `may_continue` is asked for each 5,000 gifts.
  FillStep fill_step(const std::function<bool()>& may_continue = [] { return true; });
  RollupProgress progress();

  /// The latest day before `before` that has gifts or rows; without it the latest of all.
  std::optional<std::int64_t> previous_day(std::optional<std::int64_t> before);
  /// What the rows of a day lack, by dimension, organization and key: reads the day's gifts, and holds its
  /// keys in memory.
  std::vector<RollupDifference> check(std::int64_t day);
  /// Makes the rows of the day what its gifts are; returns what was changed. Others count meanwhile.
  std::vector<RollupDifference> repair(std::int64_t day);

  /// Sums over the days, by key and by day. Reads rows of that dimension and of these days alone.
  std::map<std::string, GiftNumbers> sum_by_key(const RollupQuestion& question);
  std::map<std::int64_t, GiftNumbers> sum_by_day(const RollupQuestion& question);
  /// What people call the keys: an account's address, an item's name; of a key without a name nothing.
  std::map<std::string, std::string> names_of(RollupDimension dimension, std::span<const std::string> keys);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
