// cli: `gift list`: the gifts of the store and the gift records of the CRM, joined. Reads in batches, so
// that memory holds one batch only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.h"
#include "cli/console.h"

namespace giftsync::cli {

struct GiftListing {
  bool json = false;
  bool skipped = false;       ///< gifts without a match that have no record by the settings
  bool needs_relink = false;  ///< gifts whose lookup the CRM refused
  bool refused = false;       ///< gifts whose record the CRM refuses, with the reason
  bool conflicting = false;   ///< gifts with conflicting changes, with the conflicts
  bool explain = false;       ///< text output only: print the reason of the match
  std::optional<Status> status;
  std::optional<std::string> campaign;   ///< utm_campaign_id
  std::optional<std::string> email_key;  ///< the recipient's
  std::optional<UtcMillis> since;        ///< sent then or later; with `status`, that came to it then
  std::optional<std::string> sender;     ///< an e-mail address
  std::optional<std::string> contact;    ///< the CRM's id of the contact that the record is linked to
  std::optional<std::string> item;       ///< the item's number or its exact name
  std::optional<std::string> key;        ///< the first characters of the API key or token that asked for it
  std::int64_t limit = 0;                ///< 0: all
  bool newest = false;                   ///< the latest sent first; `limit` keeps them
  bool test = false;                     ///< test gifts alone
};

/// Lists by Transaction Id, or the latest sent first. Returns an exit code.
int list_gifts(const Console& console, CliContext& ctx, const GiftListing& listing);

// The gifts page by page, with their records in the CRM; and the filter.

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
