#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "cli/gift/gift_detail.h"
#include "cli/gift/gift_list.h"
#include "schema/contact_normalization.h"
#include "sync/crm/gift_record_draft.h"
#include "sync/status/status_rules.h"

namespace giftsync::cli {

std::string text_of(const GiftRecord& record, GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<UtcMillis> time_of(const GiftRecord& record, GiftField field) {
  const auto* time = std::get_if<UtcMillis>(&record.get(field));
  return time ? std::optional(*time) : std::nullopt;
}

void ListedGift::take_request(const store::Gift& gift) {
  item = gift.request.item_name;
  item_id = gift.request.gift;
  sender = gift.request.sender_email;
  campaign = gift.request.utm_campaign_id.value_or("");
  key = gift.request.credential_prefix;
  external_id = gift.transaction.external_id;
}

void ListedGift::clear_request() {
  item = sender = campaign = key = external_id = "";
  item_id = {};
}

namespace {

/// Sets the fields that the CRM computes, for a record that is not in the CRM.
void set_formulas(GiftRecord& record, const StatusTimes& times) {
  const auto& delivered = times[Status::delivered];
  const auto& undelivered = times[Status::undelivered];
  record.set(GiftField::delivered, delivered && (!undelivered || *delivered >= *undelivered));
  record.set(GiftField::opened, times[Status::opened].has_value());
  record.set(GiftField::redeemed, times[Status::redeemed].has_value());
}

std::vector<std::string> conflicts_in(const std::vector<store::StatusChange>& changes) {
  std::vector<std::string> found;
  for (const store::StatusChange& change : changes) {
    const std::string conflict = sync::conflict_reason(change, changes);
    if (!conflict.empty())
      found.push_back(fmt::format("change {} of {}: {}", change.id.value, change.source, conflict));
  }
  return found;
}

using Ids = std::vector<TransactionId>;

/// A draft of the record that a gift without one would get.
GiftRecord draft_record(CliContext& ctx, const store::Gift& gift, const store::CrmSyncState& sync_state) {
  auto draft = sync::draft_gift_record(gift, sync_state.decision, "", ctx.settings.crm.integration_user);
  set_formulas(draft.record, gift.transaction.times);
  return std::move(draft.record);
}

/// The records and the gifts with these ids, ascending: joined, with a draft for a gift without a record. An
/// id with neither is left out.
ListedGifts joined(CliContext& ctx, const GiftListing& listing, Ids ids, std::vector<GiftRecord> records) {
  std::map<TransactionId, ListedGift> listed;
  for (GiftRecord& record : records) {
    const TransactionId id = record.transaction();
    ids.push_back(id);
    listed[id].has_record = true;
    listed[id].record = std::move(record);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (store::CrmSyncState& sync_state : ctx.store.sync.find_states(ids))
    listed[sync_state.transaction].sync_state = std::move(sync_state);
  for (const store::Gift& gift : ctx.store.gifts.find(ids)) {
    ListedGift& listed_gift = listed[gift.transaction.id];
    listed_gift.take_request(gift);
    listed_gift.is_gift = true;
    if (!listed_gift.has_record)
      listed_gift.record = draft_record(ctx, gift, listed_gift.sync_state.value_or(store::CrmSyncState()));
  }
  std::map<TransactionId, std::vector<store::StatusChange>> changes;
  if (listing.conflicting) {
    for (store::StatusChange& change : ctx.store.changes.changes_of(ids))
      changes[change.transaction].push_back(std::move(change));
  }
  ListedGifts page;
  for (auto& [id, gift] : listed) {
    if (!gift.has_record && !gift.is_gift) continue;
    gift.conflicts = conflicts_in(changes[id]);
    if (gift.has_record && gift.sync_state) {
      gift.has_id_conflict = gift.sync_state->has_id_conflict();
      if (gift.has_id_conflict) gift.clear_request();
      gift.manual_links = manual_links(ctx.crm->gift_records(), *gift.sync_state, gift.record);
    }
    page.push_back(std::move(gift));
  }
  return page;
}

/// The CRM returns records in any order. Those that it no longer has are left out.
ListedGifts in_order_of(const Ids& ids, ListedGifts found) {
  std::map<TransactionId, ListedGift*> gifts;
  for (ListedGift& gift : found) gifts[gift.record.transaction()] = &gift;
  ListedGifts ordered;
  for (const TransactionId id : ids) {
    if (const auto gift = gifts.find(id); gift != gifts.end()) ordered.push_back(std::move(*gift->second));
  }
  return ordered;
}

Ids ids_of(const std::vector<store::CrmSyncState>& sync_states) {
  Ids ids;
  for (const store::CrmSyncState& sync_state : sync_states) ids.push_back(sync_state.transaction);
  return ids;
}

ListedGifts gifts_with(CliContext& ctx, const GiftListing& listing, const Ids& ids) {
  if (ids.empty()) return {};
  // A record that is refused may be there in an older state; the reason needs no call.
  const bool asks_crm = !listing.skipped && !listing.refused;
  auto records = asks_crm ? ctx.crm->gift_records().find(ids) : std::vector<GiftRecord>();
  return in_order_of(ids, joined(ctx, listing, ids, std::move(records)));
}

/// `next_ids` returns the ids after those that it returned before, none at the end.
template <class NextIds>
NextGifts gifts_of(CliContext& ctx, const GiftListing& listing, NextIds next_ids) {
  return [&ctx, &listing, next_ids]() mutable -> std::optional<ListedPage> {
    const Ids ids = next_ids();
    if (ids.empty()) return std::nullopt;
    return ListedPage{gifts_with(ctx, listing, ids), ids.back()};
  };
}

/// All of them are known at once: those of one recipient.
NextGifts gifts_with_ids(CliContext& ctx, const GiftListing& listing, Ids all) {
  return gifts_of(
      ctx, listing,
      [all = std::move(all), at = std::size_t{0}, rows = ctx.crm->pace().rows_per_read]() mutable {
        const std::span<const TransactionId> left = std::span(all).subspan(at);
        const auto some = left.first(std::min(left.size(), rows));
        at += some.size();
        return Ids(some.begin(), some.end());
      });
}

/// The CRM can search for ASCII addresses; others have several spellings, which are compared row by row.
bool is_ascii_address(const std::string& key) {
  const bool is_ascii = std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return !key.empty() && is_ascii && key.find("xn--") == std::string::npos;
}

/// All gifts and records by id, or those in a status. Store and CRM are read side by side.
class AllGifts {
 public:
  AllGifts(CliContext& ctx, const GiftListing& listing) : ctx_(ctx), listing_(listing) {
    filter_.status = listing.status;
  }

  std::optional<ListedPage> operator()() {
    if (is_done_) return std::nullopt;
    read_records();
    const store::GiftPage stored = ctx_.store.gifts.list(filter_, after_, rows_);
    // Both are complete up to here.
    const TransactionId end = std::min(stored.next.value_or(kEnd), ahead_.empty() ? kEnd : read_to_);
    is_done_ = end == kEnd;
    const auto first_later = std::find_if(ahead_.begin(), ahead_.end(),
                                          [&](const auto& record) { return record.transaction() > end; });
    std::vector<GiftRecord> records(std::make_move_iterator(ahead_.begin()),
                                    std::make_move_iterator(first_later));
    ahead_.erase(ahead_.begin(), first_later);
    Ids ids;
    for (const store::Gift& gift : stored.gifts)
      if (gift.transaction.id <= end) ids.push_back(gift.transaction.id);
    add_records_in_other_status(ids, records);
    after_ = end;
    return ListedPage{joined(ctx_, listing_, std::move(ids), std::move(records)), end};
  }

 private:
  static constexpr TransactionId kEnd{kMaxId};

  void read_records() {
    if (!ahead_.empty() || read_to_ == kEnd) return;
    crm::GiftRecords& records = ctx_.crm->gift_records();
    ahead_ = listing_.status ? records.page_in_status(*listing_.status, read_to_, rows_)
                             : records.page(read_to_, rows_);
    read_to_ = ahead_.empty() ? kEnd : ahead_.back().transaction();
  }
  /// For gifts whose record is not in the page that was read, because it has another status.
  void add_records_in_other_status(const Ids& ids, std::vector<GiftRecord>& records) {
    if (!listing_.status) return;
    Ids missing;
    for (const TransactionId id : ids) {
      if (std::none_of(records.begin(), records.end(),
                       [&](const auto& record) { return record.transaction() == id; }))
        missing.push_back(id);
    }
    if (missing.empty()) return;
    for (GiftRecord& record : ctx_.crm->gift_records().find(missing)) records.push_back(std::move(record));
  }

  CliContext& ctx_;
  const GiftListing& listing_;
  const std::size_t rows_ = ctx_.crm->pace().rows_per_read;
  store::GiftFilter filter_;
  TransactionId after_{0};
  std::vector<GiftRecord> ahead_;  ///< records that were read and not returned yet
  TransactionId read_to_{0};       ///< of the CRM
  bool is_done_ = false;
};

/// The gifts of the CRM's records and of the store, where a gift may have no record.
Ids ids_by_email(CliContext& ctx, const std::string& email_key) {
  Ids ids = ctx.crm->gift_records().transaction_ids_by_email(email_key);
  store::ConsoleGiftFilter filter;
  filter.recipient = email_key;
  std::optional<TransactionId> before;
  do {
    const auto page = ctx.store.console_gifts.list(store::Viewer::of_command_line(), filter, before,
                                                   ctx.crm->pace().rows_per_read);
    for (const store::ConsoleGift& gift : page.gifts) ids.push_back(gift.gift.transaction.id);
    before = page.next_before;
  } while (before);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// What the store can filter by; status and links are the record's, which may be older or corrected.
store::GiftFilter store_filter(const GiftListing& listing) {
  store::GiftFilter filter;
  if (!listing.status) filter.since = listing.since;
  filter.campaign = listing.campaign;
  filter.sender = listing.sender;
  filter.item = listing.item;
  filter.key = listing.key;
  filter.test = listing.test;
  return filter;
}

NextGifts latest_sent(CliContext& ctx, const GiftListing& listing, const std::optional<SearchBound>& bound) {
  store::GiftFilter filter = store_filter(listing);
  if (bound) filter.since = bound->sent_at;
  return gifts_of(
      ctx, listing, [&ctx, filter = std::move(filter), below = store::SentPosition::end()]() mutable {
        const auto found = ctx.store.gifts.list_latest(filter, below, ctx.crm->pace().rows_per_read);
        Ids ids;
        for (const store::SentPosition& gift : found) ids.push_back(gift.id);
        if (!found.empty()) below = found.back();
        return ids;
      });
}

NextGifts filtered_by_store(CliContext& ctx, const GiftListing& listing) {
  return [&ctx, &listing, filter = store_filter(listing),
          after = std::optional(TransactionId{0})]() mutable -> std::optional<ListedPage> {
    if (!after) return std::nullopt;
    const auto found = ctx.store.gifts.list(filter, *after, ctx.crm->pace().rows_per_read);
    Ids ids;
    for (const store::Gift& gift : found.gifts) ids.push_back(gift.transaction.id);
    after = found.next;
    return ListedPage{gifts_with(ctx, listing, ids), after.value_or(TransactionId{})};
  };
}

/// The listings of gifts in a state that only the store knows.
NextGifts gifts_in_state(CliContext& ctx, const GiftListing& listing) {
  return gifts_of(ctx, listing, [&ctx, &listing, after = TransactionId{0}]() mutable {
    const std::size_t rows = ctx.crm->pace().rows_per_read;
    store::SyncQueue& sync = ctx.store.sync;
    Ids ids = listing.skipped   ? ids_of(sync.list_states_in(store::CrmSyncStatus::skipped, after, rows))
              : listing.refused ? ids_of(sync.list_states_in(store::CrmSyncStatus::rejected, after, rows))
              : listing.needs_relink
                  ? ids_of(sync.list_states_to_rematch(store::RematchScope::needs_relink, after, rows))
                  : ctx.store.gifts.list_conflicting(after, rows);
    if (!ids.empty()) after = ids.back();
    return ids;
  });
}

bool is_sent_to(const ListedGift& gift, const std::string& email_key) {
  return giftsync::email_key(text_of(gift.record, GiftField::recipient_email)) == email_key;
}

bool is_since(const ListedGift& gift, const GiftListing& listing) {
  const auto time = time_of(gift.record, time_field_of(listing.status.value_or(Status::sent)));
  return time && *time >= *listing.since;
}

bool is_item(const ListedGift& gift, const std::string& item) {
  return gift.item == item || std::to_string(gift.item_id.value) == item;
}

}  // namespace

ListedOrder order_of(const GiftListing& listing) {
  if (!listing.newest) return ListedOrder::by_id;
  const bool is_short = listing.skipped || listing.refused || listing.needs_relink || listing.conflicting ||
                        listing.contact || is_ascii_address(listing.email_key.value_or(""));
  return is_short ? ListedOrder::by_id : ListedOrder::latest_sent;
}

std::optional<SearchBound> search_bound(CliContext& ctx, const GiftListing& listing) {
  const bool needs_records = listing.status || listing.email_key;
  const bool is_filtered = needs_records || listing.campaign || listing.sender || listing.item || listing.key;
  if (!listing.newest || order_of(listing) != ListedOrder::latest_sent || !is_filtered) return std::nullopt;
  const std::size_t gifts = needs_records ? kMaxSearchedRecords : kMaxSearched;
  const auto sent_at = ctx.store.gifts.sent_at_of_latest(gifts);
  if (!sent_at || (!listing.status && listing.since && *listing.since >= *sent_at)) return std::nullopt;
  return SearchBound{gifts, *sent_at};
}

NextGifts gifts_before_filter(CliContext& ctx, const GiftListing& listing,
                              const std::optional<SearchBound>& bound) {
  // The CRM has no records of these.
  if (listing.test)
    return listing.newest ? latest_sent(ctx, listing, bound) : filtered_by_store(ctx, listing);
  if (listing.skipped || listing.refused || listing.needs_relink || listing.conflicting)
    return gifts_in_state(ctx, listing);
  if (is_ascii_address(listing.email_key.value_or("")))
    return gifts_with_ids(ctx, listing, ids_by_email(ctx, *listing.email_key));
  if (listing.contact)
    return gifts_with_ids(ctx, listing, ctx.crm->gift_records().transaction_ids_by_contact(*listing.contact));
  if (listing.newest) return latest_sent(ctx, listing, bound);
  // The time of a status is the record's.
  const bool has_sent_since = listing.since && !listing.status;
  const bool is_filtered =
      listing.campaign || listing.sender || listing.item || listing.key || has_sent_since;
  if (is_filtered) return filtered_by_store(ctx, listing);
  return AllGifts(ctx, listing);
}

bool matches_filter(const ListedGift& gift, const GiftListing& listing) {
  return (!listing.status || text_of(gift.record, GiftField::status) == to_word(*listing.status)) &&
         (!listing.campaign || gift.campaign == *listing.campaign) &&
         (!listing.email_key || is_sent_to(gift, *listing.email_key)) &&
         (!listing.since || is_since(gift, listing)) &&
         (!listing.sender || giftsync::email_key(gift.sender) == giftsync::email_key(*listing.sender)) &&
         (!listing.key || gift.key == *listing.key) && (!listing.item || is_item(gift, *listing.item)) &&
         (!listing.contact || text_of(gift.record, GiftField::recipient_contact) == *listing.contact);
}

}  // namespace giftsync::cli
