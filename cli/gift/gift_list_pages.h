// cli: the gifts of `gift list`, page by page, with their records in the CRM; and its filter.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.h"
#include "cli/gift/gift_list.h"

namespace giftsync::cli {

/// A gift with its record in the CRM, or with a draft of it. Records without a gift in the store have no
/// item, no sender and no sync_state.
struct ListedGift {
  GiftRecord record;        ///< without `has_record` as giftsync would write it
  bool has_record = false;  ///< not asked for in the listings of skipped and refused gifts
  bool is_gift = false;     ///< the store has it
  std::string item;
  GiftId item_id;
  std::string sender;
  std::string campaign;
  std::string key;
  std::optional<store::CrmSyncState> sync_state;
  std::string manual_links;            ///< the record's links if they differ from the decision
  bool has_id_conflict = false;        ///< giftsync did not write the record with this gift's id
  std::vector<std::string> conflicts;  ///< filled for --conflicting
  std::string external_id;             ///< its source's own id, if its Transaction Id was allotted

  void take_request(const store::Gift& gift);
  void clear_request();
};
using ListedGifts = std::vector<ListedGift>;

std::string text_of(const GiftRecord& record, GiftField field);
std::optional<UtcMillis> time_of(const GiftRecord& record, GiftField field);

enum class ListedOrder {
  by_id,        ///< ascending
  latest_sent,  ///< the latest sent first
};
/// The order of gifts_before_filter(). The listings that are short are by id, also for --newest.
ListedOrder order_of(const GiftListing& listing);

/// With --newest, a filter without an index searches the latest gifts only, so that a value that few gifts
/// have needs no look at all of them (OPS-34): this many, or fewer if it needs their records.
inline constexpr std::size_t kMaxSearched = 100'000;
inline constexpr std::size_t kMaxSearchedRecords = 10'000;
struct SearchBound {
  std::size_t gifts = 0;  ///< how many are searched at least
  UtcMillis sent_at;      ///< gifts that were sent before are not searched
};
/// None when all gifts of the listing are searched.
std::optional<SearchBound> search_bound(CliContext& ctx, const GiftListing& listing);

struct ListedPage {
  ListedGifts gifts;          ///< may be empty
  TransactionId searched_to;  ///< all gifts up to this id were searched, in a listing by id
};
/// The next page; nothing at the end.
using NextGifts = std::function<std::optional<ListedPage>()>;
/// All within the bound that may match; `listing` must outlive the result.
NextGifts gifts_before_filter(CliContext& ctx, const GiftListing& listing,
                              const std::optional<SearchBound>& bound);

bool matches_filter(const ListedGift& gift, const GiftListing& listing);

}  // namespace giftsync::cli
