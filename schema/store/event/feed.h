// schema/store: the feed (API-10 to API-13): events about gifts, numbered in the order of their commits, so
// that a reader that continues behind the last number it has seen misses none.
//
// What changes a gift marks it in the same transaction, while the feed is on (Store::keep_feed). A worker of
// any daemon takes the marks, compares each gift with what was published of it and inserts the events. It
// always runs: with the feed off there are no marks, so it finds none and no events come.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/record_fields.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sync_queue.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync {

/// What an event says. A later version may add some.
enum class FeedEventType {
  gift_sent,
  gift_delivered,
  gift_undelivered,
  gift_opened,
  gift_redeemed,
  gift_donated,
  gift_expired,
  gift_refunded,
  gift_updated,
  gift_request_held,
  gift_request_sent,
  gift_request_rejected,
  gift_request_expired,
  request_record_pending,
  request_record_approved,
  request_record_rejected,
  request_record_sent,
  request_record_failed,
};
inline constexpr std::size_t kFeedEventTypes = 18;
/// "gift.sent", "gift_request.held"
std::string_view to_word(FeedEventType type);
std::optional<FeedEventType> feed_event_type_from_word(std::string_view word);
/// The types that a subscriber names: of "gift.opened" that one, of "gift.*" all of that kind; empty if there
/// are none. Pure.
std::vector<FeedEventType> feed_event_types_of(std::string_view word_or_pattern);

}  // namespace giftsync

namespace giftsync::store {

struct FeedEvent {
  std::int64_t seq = 0;
  FeedEventType type = FeedEventType::gift_updated;
  std::int64_t object = 0;  ///< the gift's id, or the gift request's; 0: neither
  std::string record{};     ///< a request record's Id, or the name of what it is about; may be empty
  AccountId account{};      ///< 0: of none
  std::optional<OrganizationId> organization = std::nullopt;
  std::string status_before{};  ///< empty: there was none
  std::string status_after{};
  std::int64_t version = 0;  ///< of a gift, after the change; else 0
  UtcMillis recorded_at{};   ///< by the database's clock; never below that of the event before
  bool is_test = false;
  /// Of the status that the type of a gift's event names, as the gift had it then. Null: the type names none,
  /// its time is not known, or a former version made the event.
  std::optional<UtcMillis> occurred_at = std::nullopt;
};

// One field a line.
// clang-format off
inline constexpr auto kFeedEventFields = record_fields(
    "feed_event",
    field<&FeedEvent::seq>("seq"),
    field<&FeedEvent::type>("type"),
    field<&FeedEvent::object>("object_id"),
    field<&FeedEvent::record>("record"),
    field<&FeedEvent::account>("account_id"),
    field<&FeedEvent::organization>("organization_id"),
    field<&FeedEvent::status_before>("status_before"),
    field<&FeedEvent::status_after>("status_after"),
    field<&FeedEvent::version>("version"),
    field<&FeedEvent::recorded_at>("recorded_at"),
    field<&FeedEvent::is_test>("is_test"),
    field<&FeedEvent::occurred_at>("occurred_at"));
// clang-format on

/// Which events a reader sees; an absent member does not restrict.
struct FeedFilter {
  std::vector<FeedEventType> types = {};  ///< empty: all
  std::optional<AccountId> account = std::nullopt;
  std::optional<OrganizationId> organization = std::nullopt;  ///< whose accounts it has now
  bool is_test = false;  ///< test events and no others; else none of them (TEST-7)
};

/// Events in ascending order. A reader goes on behind `last` even if there were none for it.
struct FeedPage {
  std::vector<FeedEvent> events = {};
  std::int64_t last = 0;  ///< the highest number that was looked at
  bool has_more = false;  ///< there are events behind `last`
};

/// Gifts by the time of their last change.
struct ChangedGifts {
  std::vector<TransactionId> gifts = {};
  std::int64_t last = 0;  ///< the highest number that was looked at
  bool has_more = false;  ///< there are events behind `last`
};

/// What a reader's place means. A place of another epoch says nothing: the store was restored, or the feed
/// was off meanwhile.
struct FeedState {
  bool is_on = false;       ///< changes are marked
  std::int64_t epoch = 0;   ///< 0: the feed was never on
  UtcMillis began_at{};     ///< of the epoch, by the database's clock
  std::int64_t first = 1;   ///< the lowest number of the epoch
  std::int64_t oldest = 1;  ///< the lowest number of the epoch that is kept; latest + 1 if there is none
  std::int64_t latest = 0;  ///< the highest number that was given to an event
  /// Whether a reader that has seen everything up to `seq` misses nothing (API-12).
  bool is_place(std::int64_t of_epoch, std::int64_t seq) const {
    return of_epoch == epoch && epoch != 0 && seq >= oldest - 1 && seq <= latest;
  }
};

/// What of a gift was published.
struct PublishedState {
  Status status = Status::sent;
  std::uint64_t reached = 1;  ///< a bit for each status that it came to
  std::int64_t version = 1;
  bool has(Status one) const { return (reached >> static_cast<unsigned>(one) & 1) != 0; }
  void add(Status one) { reached |= std::uint64_t{1} << static_cast<unsigned>(one); }
  friend bool operator==(const PublishedState&, const PublishedState&) = default;
};
/// "opened 13 4": status, bits, version.
std::string to_text(const PublishedState& state);
/// Nullopt for an empty text, and for any other.
std::optional<PublishedState> published_state_from(std::string_view text);

/// A gift that something has marked.
struct MarkedGift {
  Gift gift;
  bool was_made = false;   ///< since its last event
  bool is_silent = false;  ///< it has changed in a way that its version does not tell
  std::optional<PublishedState> published = std::nullopt;  ///< null: nothing, it is older than the feed
  std::vector<ChangeSpan> spans = {};                      ///< its changes that count
  /// Those of them that were received before the feed began; of a gift of which nothing was published.
  std::vector<ChangeSpan> former_spans = {};
};

/// What is to be published of a gift.
struct GiftPublication {
  std::vector<FeedEvent> events = {};  ///< without number and time
  PublishedState published = {};
  std::optional<FoldedState> folded = std::nullopt;  ///< null: its row has this state
};
/// One for each gift, in order. It may run more than once.
using PublishFunction = std::function<std::vector<GiftPublication>(std::span<const MarkedGift> gifts)>;

struct PublishRun {
  std::size_t taken = 0;                 ///< marks
  std::size_t events = 0;                ///< that were inserted
  std::int64_t last = 0;                 ///< the highest object of the marks
  std::vector<FoldedState> folded = {};  ///< what was saved
};

/// What waits for the worker.
struct FeedBacklog {
  std::int64_t marks = 0;                             ///< bounded (bounded_count.h)
  std::optional<UtcMillis> oldest_at = std::nullopt;  ///< of the first 10,000 of them
};

/// Any thread. Throws DependencyError.
class Feed {
 public:
  explicit Feed(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  FeedState state();
  /// The feed is on from now on, or off. A new epoch begins when it is switched on again, since changes from
  /// meanwhile have no events; and once more by a call a minute later if another daemon was seen shortly
  /// before (API-12). Returns whether one began.
  bool switch_to(bool is_on);
  /// Begins a new epoch if the feed was ever on: the store was restored, so numbers are given a second time.
  bool begin_epoch();

  /// Publishes what at most `limit` marked gifts with an id above `after` have come to: one transaction,
  /// whose last statements allot the numbers of its events and insert them, so that no lower number becomes
  /// visible later than a higher one (API-10). Marks that a change in progress holds are left to the next
  /// run, and so are gifts that a request holds: nothing here waits for another transaction but for the turn
  /// of the numbers.
  PublishRun publish_gifts(std::int64_t after, std::size_t limit, const PublishFunction& publish);
  /// The same of held gift requests and of the transitions of request records, which are events as they are.
  PublishRun publish_requests(std::size_t limit);
  FeedBacklog backlog();

  /// The events of the filter behind `after`, ascending, at most `limit` of the next 5,000 of all.
  FeedPage list(const FeedFilter& filter, std::int64_t after, std::size_t limit);
  /// The gifts whose last event is behind `after`, in the order of those, at most `limit` of the next 5,000
  /// events. Of the filter count account, organization and test.
  ChangedGifts list_changed(const FeedFilter& filter, std::int64_t after, std::size_t limit);
  /// The events with these numbers, ascending; those that were deleted are missing.
  std::vector<FeedEvent> find(const std::vector<std::int64_t>& seqs);
  /// The number behind which the events begin that were recorded then or later.
  std::int64_t place_of(UtcMillis time);
  /// Deletes events that were recorded before then, the oldest first; returns how many.
  std::int64_t prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
