#include "cli/gift_list_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "cli/gift_detail.h"
#include "schema/contact_normalization.h"
#include "sync/gift_record_draft.h"
#include "sync/status_rules.h"

namespace giftsync::cli {

std::string text_of(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<platform::UtcMillis> time_of(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* time = std::get_if<platform::UtcMillis>(&record.get(field));
  return time ? std::optional(*time) : std::nullopt;
}

void ListedGift::take_request(const schema::store::Gift& gift) {
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
void set_formulas(schema::GiftRecord& record, const schema::StatusTimes& times) {
  const auto& delivered = times[schema::Status::delivered];
  const auto& undelivered = times[schema::Status::undelivered];
  record.set(schema::GiftField::delivered, delivered && (!undelivered || *delivered >= *undelivered));
  record.set(schema::GiftField::opened, times[schema::Status::opened].has_value());
  record.set(schema::GiftField::redeemed, times[schema::Status::redeemed].has_value());
}

std::vector<std::string> conflicts_in(const std::vector<schema::store::StatusChange>& changes) {
  std::vector<std::string> found;
  for (const schema::store::StatusChange& change : changes) {
    const std::string conflict = sync::conflict_reason(change, changes);
    if (!conflict.empty())
      found.push_back(fmt::format("change {} of {}: {}", change.id.value, change.source, conflict));
  }
  return found;
}

using Ids = std::vector<schema::TransactionId>;

/// The gift records by Transaction Id, with their gifts.
ListedGifts with_gifts(CliContext& ctx, std::vector<schema::GiftRecord> records) {
  Ids ids;
  std::map<schema::TransactionId, ListedGift> gifts;
  for (schema::GiftRecord& record : records) {
    ids.push_back(record.transaction());
    gifts[ids.back()].record = std::move(record);
  }
  for (const schema::store::Gift& gift : ctx.store.gifts.find(ids)) {
    gifts[gift.transaction.id].take_request(gift);
  }
  for (schema::store::CrmSyncState& sync_state : ctx.store.sync.find_states(ids)) {
    ListedGift& gift = gifts[sync_state.transaction];
    gift.has_id_conflict = sync_state.has_id_conflict();
    if (gift.has_id_conflict) gift.clear_request();
    gift.manual_links = manual_links(ctx.crm->gift_records(), sync_state, gift.record);
    gift.sync_state = std::move(sync_state);
  }
  ListedGifts page;
  for (auto& [id, gift] : gifts) page.push_back(std::move(gift));
  return page;
}

/// A draft of the record that a gift without one would get.
schema::GiftRecord draft_record(CliContext& ctx, const schema::store::Gift& gift,
                                const schema::store::CrmSyncState& sync_state) {
  auto draft = sync::draft_gift_record(gift, sync_state.decision, "", ctx.settings.crm.integration_user);
  set_formulas(draft.record, gift.transaction.times);
  return std::move(draft.record);
}

/// Gifts with their records; a draft for a gift without record. Skipped gifts have none.
ListedGifts with_records(CliContext& ctx, const GiftListing& listing, const Ids& ids) {
  std::map<schema::TransactionId, schema::store::CrmSyncState> sync_states;
  for (schema::store::CrmSyncState& sync_state : ctx.store.sync.find_states(ids))
    sync_states[sync_state.transaction] = std::move(sync_state);
  std::map<schema::TransactionId, std::vector<schema::store::StatusChange>> changes;
  if (listing.conflicting) {
    for (schema::store::StatusChange& change : ctx.store.changes.changes_of(ids))
      changes[change.transaction].push_back(std::move(change));
  }
  ListedGifts page;
  for (const schema::store::Gift& gift : ctx.store.gifts.find(ids)) {
    const schema::TransactionId id = gift.transaction.id;
    // A record that is refused may be there in an older state; the reason needs no call.
    auto record =
        listing.skipped || listing.refused ? std::nullopt : find_gift_record(ctx.crm->gift_records(), id);
    if (!record) record = draft_record(ctx, gift, sync_states[id]);
    ListedGift listed;
    listed.record = std::move(*record);
    listed.take_request(gift);
    listed.sync_state = sync_states[id];
    listed.conflicts = conflicts_in(changes[id]);
    page.push_back(std::move(listed));
  }
  return page;
}

/// The CRM returns records in any order. Those that it no longer has are left out.
ListedGifts in_order_of(const Ids& ids, ListedGifts found) {
  std::map<schema::TransactionId, ListedGift*> gifts;
  for (ListedGift& gift : found) gifts[gift.record.transaction()] = &gift;
  ListedGifts ordered;
  for (const schema::TransactionId id : ids) {
    if (const auto gift = gifts.find(id); gift != gifts.end()) ordered.push_back(std::move(*gift->second));
  }
  return ordered;
}

Ids ids_of(const std::vector<schema::store::CrmSyncState>& sync_states) {
  Ids ids;
  for (const schema::store::CrmSyncState& sync_state : sync_states) ids.push_back(sync_state.transaction);
  return ids;
}

ListedGifts gifts_with(CliContext& ctx, const GiftListing& listing, const Ids& ids) {
  if (ids.empty()) return {};
  if (listing.skipped || listing.refused || listing.conflicting) return with_records(ctx, listing, ids);
  return in_order_of(ids, with_gifts(ctx, ctx.crm->gift_records().find(ids)));
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
        const std::span<const schema::TransactionId> left = std::span(all).subspan(at);
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

NextGifts all_records(CliContext& ctx, const std::optional<schema::Status>& status) {
  return [&ctx, status, after = schema::TransactionId{0}]() mutable -> std::optional<ListedPage> {
    schema::crm::GiftRecords& records = ctx.crm->gift_records();
    const std::size_t limit = ctx.crm->pace().rows_per_read;
    auto page = status ? records.page_in_status(*status, after, limit) : records.page(after, limit);
    if (page.empty()) return std::nullopt;
    after = page.back().transaction();
    return ListedPage{with_gifts(ctx, std::move(page)), after};
  };
}

/// What the store can filter by; status and links are the record's, which may be older or corrected.
schema::store::GiftFilter store_filter(const GiftListing& listing) {
  schema::store::GiftFilter filter;
  if (!listing.status) filter.since = listing.since;
  filter.campaign = listing.campaign;
  filter.sender = listing.sender;
  filter.item = listing.item;
  filter.key = listing.key;
  return filter;
}

NextGifts latest_sent(CliContext& ctx, const GiftListing& listing, const std::optional<SearchBound>& bound) {
  schema::store::GiftFilter filter = store_filter(listing);
  if (bound) filter.since = bound->sent_at;
  return gifts_of(
      ctx, listing, [&ctx, filter = std::move(filter), below = schema::store::SentPosition::end()]() mutable {
        const auto found = ctx.store.gifts.list_latest(filter, below, ctx.crm->pace().rows_per_read);
        Ids ids;
        for (const schema::store::SentPosition& gift : found) ids.push_back(gift.id);
        if (!found.empty()) below = found.back();
        return ids;
      });
}

NextGifts filtered_by_store(CliContext& ctx, const GiftListing& listing) {
  return [&ctx, &listing, filter = store_filter(listing),
          after = std::optional(schema::TransactionId{0})]() mutable -> std::optional<ListedPage> {
    if (!after) return std::nullopt;
    const auto found = ctx.store.gifts.list(filter, *after, ctx.crm->pace().rows_per_read);
    Ids ids;
    for (const schema::store::Gift& gift : found.gifts) ids.push_back(gift.transaction.id);
    after = found.next;
    return ListedPage{gifts_with(ctx, listing, ids), after.value_or(schema::TransactionId{})};
  };
}

/// The listings of gifts in a state that only the store knows.
NextGifts gifts_in_state(CliContext& ctx, const GiftListing& listing) {
  return gifts_of(ctx, listing, [&ctx, &listing, after = schema::TransactionId{0}]() mutable {
    const std::size_t rows = ctx.crm->pace().rows_per_read;
    schema::store::SyncQueue& sync = ctx.store.sync;
    Ids ids =
        listing.skipped   ? ids_of(sync.list_states_in(schema::store::CrmSyncStatus::skipped, after, rows))
        : listing.refused ? ids_of(sync.list_states_in(schema::store::CrmSyncStatus::rejected, after, rows))
        : listing.needs_relink
            ? ids_of(sync.list_states_to_rematch(schema::store::RematchScope::needs_relink, after, rows))
            : ctx.store.gifts.list_conflicting(after, rows);
    if (!ids.empty()) after = ids.back();
    return ids;
  });
}

bool is_sent_to(const ListedGift& gift, const std::string& email_key) {
  return schema::email_key(text_of(gift.record, schema::GiftField::recipient_email)) == email_key;
}

bool is_since(const ListedGift& gift, const GiftListing& listing) {
  const auto time =
      time_of(gift.record, schema::time_field_of(listing.status.value_or(schema::Status::sent)));
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
  if (listing.skipped || listing.refused || listing.needs_relink || listing.conflicting)
    return gifts_in_state(ctx, listing);
  schema::crm::GiftRecords& records = ctx.crm->gift_records();
  if (is_ascii_address(listing.email_key.value_or("")))
    return gifts_with_ids(ctx, listing, records.transaction_ids_by_email(*listing.email_key));
  if (listing.contact)
    return gifts_with_ids(ctx, listing, records.transaction_ids_by_contact(*listing.contact));
  if (listing.newest) return latest_sent(ctx, listing, bound);
  // The time of a status is the record's.
  const bool has_sent_since = listing.since && !listing.status;
  const bool is_filtered =
      listing.campaign || listing.sender || listing.item || listing.key || has_sent_since;
  return is_filtered ? filtered_by_store(ctx, listing) : all_records(ctx, listing.status);
}

bool matches_filter(const ListedGift& gift, const GiftListing& listing) {
  return (!listing.status || text_of(gift.record, schema::GiftField::status) == to_word(*listing.status)) &&
         (!listing.campaign || gift.campaign == *listing.campaign) &&
         (!listing.email_key || is_sent_to(gift, *listing.email_key)) &&
         (!listing.since || is_since(gift, listing)) &&
         (!listing.sender || schema::email_key(gift.sender) == schema::email_key(*listing.sender)) &&
         (!listing.key || gift.key == *listing.key) && (!listing.item || is_item(gift, *listing.item)) &&
         (!listing.contact || text_of(gift.record, schema::GiftField::recipient_contact) == *listing.contact);
}

}  // namespace giftsync::cli
