#include "cli/gift_list.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <span>

#include "cli/gift_detail.h"
#include "cli/gift_json.h"
#include "cli/listing.h"
#include "platform/plural.h"
#include "schema/contact_normalization.h"
#include "sync/gift_record_draft.h"
#include "sync/status_rules.h"

namespace giftsync::cli {
namespace {

/// A gift record with its gift in the store. Records without a gift in the store have no item and no
/// sync_state.
struct ListedGift {
  schema::GiftRecord record;
  std::string item;
  std::string campaign;
  std::optional<schema::store::CrmSyncState> sync_state;
  std::string manual_links;            ///< the record's links if they differ from the decision
  bool has_id_conflict = false;        ///< giftsync did not write the record with this gift's id
  std::vector<std::string> conflicts;  ///< filled for --conflicting
  std::string external_id = {};        ///< its source's own id, if its Transaction Id was allotted
};

std::string text_of(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<platform::UtcMillis> time_of(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* time = std::get_if<platform::UtcMillis>(&record.get(field));
  return time ? std::optional(*time) : std::nullopt;
}

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

using Page = std::vector<ListedGift>;
using Ids = std::vector<schema::TransactionId>;

/// Only the listing of all gift records can start with the newest; the other, shorter ones start with the
/// oldest.
bool begins_with_newest(const GiftListing& listing) {
  return listing.newest && !listing.skipped && !listing.needs_relink && !listing.conflicting;
}

/// The gift records by Transaction Id, with their gifts.
Page with_gifts(CliContext& ctx, std::vector<schema::GiftRecord> records) {
  Ids ids;
  std::map<schema::TransactionId, ListedGift> gifts;
  for (schema::GiftRecord& record : records) {
    ids.push_back(record.transaction());
    gifts[ids.back()].record = std::move(record);
  }
  for (const schema::store::Gift& gift : ctx.store.gifts.find(ids)) {
    gifts[gift.transaction.id].item = gift.request.item_name;
    gifts[gift.transaction.id].campaign = gift.request.utm_campaign_id.value_or("");
    gifts[gift.transaction.id].external_id = gift.transaction.external_id;
  }
  for (schema::store::CrmSyncState& sync_state : ctx.store.sync.find_states(ids)) {
    ListedGift& gift = gifts[sync_state.transaction];
    gift.has_id_conflict = sync_state.has_id_conflict();
    if (gift.has_id_conflict) gift.item = gift.campaign = gift.external_id = "";
    gift.manual_links = manual_links(ctx.crm->gift_records(), sync_state, gift.record);
    gift.sync_state = std::move(sync_state);
  }
  Page page;
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
Page with_records(CliContext& ctx, const GiftListing& listing, const Ids& ids) {
  std::map<schema::TransactionId, schema::store::CrmSyncState> sync_states;
  for (schema::store::CrmSyncState& sync_state : ctx.store.sync.find_states(ids))
    sync_states[sync_state.transaction] = std::move(sync_state);
  std::map<schema::TransactionId, std::vector<schema::store::StatusChange>> changes;
  if (listing.conflicting) {
    for (schema::store::StatusChange& change : ctx.store.changes.changes_of(ids))
      changes[change.transaction].push_back(std::move(change));
  }
  Page page;
  for (const schema::store::Gift& gift : ctx.store.gifts.find(ids)) {
    const schema::TransactionId id = gift.transaction.id;
    auto record = listing.skipped ? std::nullopt : find_gift_record(ctx.crm->gift_records(), id);
    if (!record) record = draft_record(ctx, gift, sync_states[id]);
    page.push_back({std::move(*record),
                    gift.request.item_name,
                    gift.request.utm_campaign_id.value_or(""),
                    sync_states[id],
                    {},
                    false,
                    conflicts_in(changes[id]),
                    gift.transaction.external_id});
  }
  return page;
}

Ids ids_of(const std::vector<schema::store::CrmSyncState>& sync_states) {
  Ids ids;
  for (const schema::store::CrmSyncState& sync_state : sync_states) ids.push_back(sync_state.transaction);
  return ids;
}

/// The next page; nothing at the end. A page is empty if its records were deleted meanwhile.
using NextPage = std::function<std::optional<Page>()>;

/// `next_ids` returns the ids after those that it returned before.
template <class NextIds>
NextPage pages_of(CliContext& ctx, const GiftListing& listing, NextIds next_ids) {
  return [&ctx, &listing, next_ids]() mutable -> std::optional<Page> {
    const Ids ids = next_ids();
    if (ids.empty()) return std::nullopt;
    if (listing.skipped || listing.conflicting) return with_records(ctx, listing, ids);
    Page page = with_gifts(ctx, ctx.crm->gift_records().find(ids));
    if (begins_with_newest(listing)) std::reverse(page.begin(), page.end());
    return page;
  };
}

NextPage pages_to_recipient(CliContext& ctx, const GiftListing& listing) {
  Ids all = ctx.crm->gift_records().transaction_ids_by_email(*listing.email_key);
  if (listing.newest) std::reverse(all.begin(), all.end());
  return pages_of(ctx, listing, [all, at = std::size_t{0}, rows = ctx.crm->pace().rows_per_read]() mutable {
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

NextPage all_records(CliContext& ctx) {
  return [&ctx, after = schema::TransactionId{0}]() mutable -> std::optional<Page> {
    auto records = ctx.crm->gift_records().page(after, ctx.crm->pace().rows_per_read);
    if (records.empty()) return std::nullopt;
    after = records.back().transaction();
    return with_gifts(ctx, std::move(records));
  };
}

/// The listed gifts before the filter.
NextPage pages_of(CliContext& ctx, const GiftListing& listing) {
  const bool in_store = listing.skipped || listing.needs_relink || listing.conflicting;
  if (!in_store && is_ascii_address(listing.email_key.value_or(""))) return pages_to_recipient(ctx, listing);
  if (!in_store && !listing.newest) return all_records(ctx);
  const schema::TransactionId first{in_store ? 0 : schema::kMaxId + 1};
  return pages_of(ctx, listing, [&ctx, &listing, cursor = first]() mutable {
    const std::size_t rows = ctx.crm->pace().rows_per_read;
    schema::store::SyncQueue& sync = ctx.store.sync;
    Ids ids =
        listing.skipped ? ids_of(sync.list_states_in(schema::store::CrmSyncStatus::skipped, cursor, rows))
        : listing.needs_relink
            ? ids_of(sync.list_states_to_rematch(schema::store::RematchScope::needs_relink, cursor, rows))
        : listing.conflicting ? ctx.store.gifts.list_conflicting(cursor, rows)
                              : ctx.crm->gift_records().transaction_ids_below(cursor, rows);
    if (!ids.empty()) cursor = ids.back();
    return ids;
  });
}

Json json_of(const ListedGift& gift, const GiftListing& listing) {
  Json json = gift_record_json(gift.record);
  json["utm_campaign_id"] = text_or_null(gift.campaign);
  json["external_id"] = text_or_null(gift.external_id);
  if (listing.conflicting) json["conflicts"] = gift.conflicts;
  return json;
}

std::string recipient_of(const schema::GiftRecord& record) {
  std::string email = text_of(record, schema::GiftField::recipient_email);
  return email.empty() ? text_of(record, schema::GiftField::recipient_phone_number) : email;
}

std::string matched_to(const ListedGift& gift) {
  const std::string contact = text_of(gift.record, schema::GiftField::recipient_contact);
  const std::string lead = text_of(gift.record, schema::GiftField::recipient_lead);
  if (!contact.empty()) return "contact " + contact;
  if (!lead.empty()) return "lead " + lead;
  return gift.sync_state && gift.sync_state->state == schema::store::CrmSyncStatus::skipped
             ? "no match (skipped)"
             : "no match";
}

/// The line below the row.
std::string remark_on(const ListedGift& gift, const GiftListing& listing) {
  std::string text = fmt::format("{}", fmt::join(gift.conflicts, "; "));
  if (!gift.sync_state) return text;
  const auto add = [&text](const std::string& sentence) {
    text.append(text.empty() || sentence.empty() ? "" : ". ").append(sentence);
  };
  if (gift.has_id_conflict) {
    add(
        fmt::format("Id conflict: giftsync did not write this record, gift {0} has none; see \"giftsyncctl "
                    "gift show {0}\"",
                    gift.record.transaction().value));
  } else if (listing.explain) {
    if (!gift.manual_links.empty())
      add("Links corrected in the CRM to " + gift.manual_links + ", which differs from the match");
    add(gift.sync_state->decision.reason);
  } else if (listing.needs_relink) {
    add(gift.sync_state->decision.warnings);
  }
  return text;
}

/// Sources whose gifts have ids of their own beside the Transaction Id.
bool has_external_ids(const CliContext& ctx) {
  const auto& sources = ctx.settings.sources;
  return std::any_of(sources.begin(), sources.end(), [](const auto& source) { return source.allots_ids; });
}

std::vector<TextTable::Column> columns_of(const CliContext& ctx) {
  using Kind = TextTable::Kind;
  std::vector<TextTable::Column> columns = {{"ID", Kind::number},    {"STATUS"},
                                            {"SINCE (UTC)"},         {"RECIPIENT", Kind::elastic_last},
                                            {"ITEM", Kind::elastic}, {"CAMPAIGN", Kind::elastic},
                                            {"TOTAL", Kind::number}, {"MATCHED TO", Kind::elastic_last}};
  if (has_external_ids(ctx)) columns.insert(columns.begin() + 1, {"EXTERNAL ID", Kind::elastic});
  return columns;
}

TextTable::Row row_of(const ListedGift& gift, const GiftListing& listing, bool with_external_id) {
  const schema::GiftRecord& record = gift.record;
  const std::string word = text_of(record, schema::GiftField::status);
  const auto status = schema::status_from_word(word);
  const auto* total = std::get_if<schema::Money>(&record.get(schema::GiftField::total_price));
  TextTable::Row row = {
      {std::to_string(record.transaction().value), word,
       status ? minute_text(time_of(record, schema::time_field_of(*status))) : "", recipient_of(record),
       gift.item, gift.campaign, total ? schema::to_decimal(*total) : "", matched_to(gift)},
      remark_on(gift, listing)};
  if (with_external_id) row.cells.insert(row.cells.begin() + 1, gift.external_id);
  return row;
}

bool is_sent_to(const ListedGift& gift, const std::string& email_key) {
  return schema::email_key(text_of(gift.record, schema::GiftField::recipient_email)) == email_key;
}

bool matches_filter(const ListedGift& gift, const GiftListing& listing) {
  return (!listing.status || text_of(gift.record, schema::GiftField::status) == to_word(*listing.status)) &&
         (!listing.campaign || gift.campaign == *listing.campaign) &&
         (!listing.email_key || is_sent_to(gift, *listing.email_key));
}

void print_missing(const Console& console, CliContext& ctx, const GiftListing& listing, std::int64_t listed) {
  if (listed == 0) {
    console.info(listing.skipped        ? "No gift was skipped."
                 : listing.needs_relink ? "No gift lost a lookup."
                 : listing.conflicting  ? "No gift has conflicting changes."
                                        : "No gift records.");
  }
  const std::int64_t waiting = ctx.store.sync.counts().waiting;
  if (waiting == 0 || listing.skipped || listing.needs_relink) return;
  console.info(fmt::format("{} {} changes that are not in the CRM yet; see \"giftsyncctl status\".",
                           platform::pluralize(waiting, "gift"),
                           platform::plural_verb(waiting, "has", "have")));
}

}  // namespace

int list_gifts(const Console& console, CliContext& ctx, const GiftListing& listing) {
  Listing list(console.out, listing.json, columns_of(ctx));
  const auto print = [&](const ListedGift& gift) {
    list.add([&] { return json_of(gift, listing); },
             [&] { return row_of(gift, listing, has_external_ids(ctx)); });
  };
  const auto next_matching = [&, next_page = pages_of(ctx, listing)] {
    while (auto page = next_page()) {
      std::erase_if(*page, [&](const ListedGift& gift) { return !matches_filter(gift, listing); });
      if (!page->empty()) return *page;
    }
    return Page{};
  };
  const bool is_reversed = listing.newest && !begins_with_newest(listing);
  std::deque<ListedGift> newest;  // the newest so far
  const std::int64_t listed =
      each_row(console, is_reversed ? 0 : listing.limit, next_matching, [&](const ListedGift& gift) {
        if (!is_reversed) return print(gift);
        newest.push_front(gift);
        if (listing.limit > 0 && newest.size() > static_cast<std::size_t>(listing.limit)) newest.pop_back();
      });
  for (const ListedGift& gift : newest) print(gift);
  list.finish();
  if (console.out) print_missing(console, ctx, listing, listed);
  return EX_OK;
}

}  // namespace giftsync::cli
