#include "cli/gift_list.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "cli/gift_detail.h"
#include "cli/gift_json.h"
#include "cli/text_table.h"
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
};

std::string text_of(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<platform::UtcMillis> time_of(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* time = std::get_if<platform::UtcMillis>(&record.get(field));
  return time ? std::optional(*time) : std::nullopt;
}

std::vector<schema::TransactionId> ids_of(const std::vector<schema::GiftRecord>& records) {
  std::vector<schema::TransactionId> ids;
  for (const schema::GiftRecord& record : records) ids.push_back(record.transaction());
  return ids;
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

/// Reads batches by Transaction Id; an empty batch is the end.
class GiftBatches {
 public:
  GiftBatches(CliContext& ctx, const GiftListing& listing)
      : ctx_(ctx), listing_(listing), cursor_{begins_with_newest() ? schema::kMaxId + 1 : 0} {}

  /// Only the listing of all gift records can start with the newest; the other, shorter ones start with the
  /// oldest.
  bool begins_with_newest() const {
    return listing_.newest && !listing_.skipped && !listing_.needs_relink && !listing_.conflicting;
  }

  std::vector<ListedGift> next() {
    std::vector<ListedGift> batch = listing_.skipped        ? next_skipped()
                                    : listing_.needs_relink ? next_needing_relink()
                                    : listing_.conflicting  ? next_conflicting()
                                    : has_ascii_address()   ? next_to_recipient()
                                    : begins_with_newest()  ? next_newest()
                                                            : next_records();
    if (!batch.empty()) cursor_ = batch.back().record.transaction();
    return batch;
  }

 private:
  std::size_t rows_per_page() const { return ctx_.crm->pace().rows_per_read; }

  std::vector<ListedGift> next_records() {
    return with_gifts(ctx_.crm->gift_records().page(cursor_, rows_per_page()));
  }

  std::vector<ListedGift> next_newest() {
    for (schema::TransactionId below = cursor_;;) {
      const std::vector<schema::TransactionId> ids =
          ctx_.crm->gift_records().transaction_ids_below(below, rows_per_page());
      if (ids.empty()) return {};
      std::vector<ListedGift> batch = with_gifts(ctx_.crm->gift_records().find(ids));
      std::reverse(batch.begin(), batch.end());
      if (!batch.empty()) return batch;
      below = ids.back();
    }
  }

  /// The CRM can search for ASCII addresses; others have several spellings, which are compared row by row.
  bool has_ascii_address() const {
    const std::string key = listing_.email_key.value_or("");
    const bool is_ascii = std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return !key.empty() && is_ascii && key.find("xn--") == std::string::npos;
  }

  std::vector<ListedGift> next_to_recipient() {
    if (!left_to_recipient_) {
      left_to_recipient_ = ctx_.crm->gift_records().transaction_ids_by_email(*listing_.email_key);
      if (!listing_.newest) std::reverse(left_to_recipient_->begin(), left_to_recipient_->end());
    }
    std::vector<ListedGift> batch;
    while (batch.empty() && !left_to_recipient_->empty()) {
      const auto some = left_to_recipient_->end() -
                        static_cast<std::ptrdiff_t>(std::min(left_to_recipient_->size(), rows_per_page()));
      batch = with_gifts(ctx_.crm->gift_records().find({some, left_to_recipient_->end()}));
      left_to_recipient_->erase(some, left_to_recipient_->end());
    }
    if (listing_.newest) std::reverse(batch.begin(), batch.end());
    return batch;
  }

  /// Skips gifts whose record was deleted meanwhile; returns an empty batch only at the end.
  std::vector<ListedGift> next_needing_relink() {
    for (schema::TransactionId after = cursor_;;) {
      std::vector<schema::TransactionId> ids;
      for (const schema::store::CrmSyncState& sync_state : ctx_.store.sync.list_states_to_rematch(
               schema::store::RematchScope::needs_relink, after, rows_per_page())) {
        ids.push_back(sync_state.transaction);
      }
      if (ids.empty()) return {};
      std::vector<ListedGift> batch = with_gifts(ctx_.crm->gift_records().find(ids));
      if (!batch.empty()) return batch;
      after = ids.back();
    }
  }

  std::vector<ListedGift> with_gifts(std::vector<schema::GiftRecord> records) {
    const std::vector<schema::TransactionId> ids = ids_of(records);
    std::map<schema::TransactionId, ListedGift> gifts;
    for (schema::GiftRecord& record : records) gifts[record.transaction()].record = std::move(record);
    for (const schema::store::Gift& gift : ctx_.store.gifts.find(ids)) {
      gifts[gift.transaction.id].item = gift.request.item_name;
      gifts[gift.transaction.id].campaign = gift.request.utm_campaign_id.value_or("");
    }
    for (schema::store::CrmSyncState& sync_state : ctx_.store.sync.find_states(ids)) {
      ListedGift& gift = gifts[sync_state.transaction];
      gift.has_id_conflict = sync_state.has_id_conflict();
      if (gift.has_id_conflict) gift.item = gift.campaign = "";
      gift.manual_links = manual_links(ctx_.crm->gift_records(), sync_state, gift.record);
      gift.sync_state = std::move(sync_state);
    }
    std::vector<ListedGift> batch;
    for (auto& [id, gift] : gifts) batch.push_back(std::move(gift));
    return batch;
  }

  /// The records of conflicting gifts; a draft for a gift without record.
  std::vector<ListedGift> next_conflicting() {
    const std::vector<schema::TransactionId> ids =
        ctx_.store.gifts.list_conflicting(cursor_, rows_per_page());
    std::map<schema::TransactionId, schema::store::CrmSyncState> sync_states;
    for (schema::store::CrmSyncState& sync_state : ctx_.store.sync.find_states(ids))
      sync_states[sync_state.transaction] = std::move(sync_state);
    std::map<schema::TransactionId, std::vector<schema::store::StatusChange>> changes;
    for (schema::store::StatusChange& change : ctx_.store.changes.changes_of(ids))
      changes[change.transaction].push_back(std::move(change));
    std::vector<ListedGift> batch;
    for (const schema::store::Gift& gift : ctx_.store.gifts.find(ids)) {
      const schema::TransactionId id = gift.transaction.id;
      batch.push_back(from_record(gift, sync_states[id]));
      batch.back().conflicts = conflicts_in(changes[id]);
    }
    return batch;
  }

  ListedGift from_record(const schema::store::Gift& gift, const schema::store::CrmSyncState& sync_state) {
    const schema::TransactionId id = gift.transaction.id;
    std::vector<schema::GiftRecord> records = ctx_.crm->gift_records().page({id.value - 1}, 1);
    if (records.empty() || records.front().transaction() != id) return from_draft(gift, sync_state);
    return {std::move(records.front()),
            gift.request.item_name,
            gift.request.utm_campaign_id.value_or(""),
            sync_state,
            {},
            false,
            {}};
  }

  ListedGift from_draft(const schema::store::Gift& gift, const schema::store::CrmSyncState& sync_state) {
    auto draft = sync::draft_gift_record(gift, sync_state.decision, "", ctx_.settings.crm.integration_user);
    set_formulas(draft.record, gift.transaction.times);
    return {std::move(draft.record),
            gift.request.item_name,
            gift.request.utm_campaign_id.value_or(""),
            sync_state,
            {},
            false,
            {}};
  }

  /// Drafts of the records of skipped gifts.
  std::vector<ListedGift> next_skipped() {
    std::map<schema::TransactionId, schema::store::CrmSyncState> sync_states;
    std::vector<schema::TransactionId> ids;
    for (schema::store::CrmSyncState& sync_state :
         ctx_.store.sync.list_states_in(schema::store::CrmSyncStatus::skipped, cursor_, rows_per_page())) {
      ids.push_back(sync_state.transaction);
      sync_states[sync_state.transaction] = std::move(sync_state);
    }
    std::vector<ListedGift> batch;
    for (const schema::store::Gift& gift : ctx_.store.gifts.find(ids)) {
      batch.push_back(from_draft(gift, sync_states[gift.transaction.id]));
    }
    return batch;
  }

  CliContext& ctx_;
  const GiftListing& listing_;
  schema::TransactionId cursor_;
  std::optional<std::vector<schema::TransactionId>> left_to_recipient_;  // the next ids are at the end
};

class GiftListWriter {
 public:
  virtual ~GiftListWriter() = default;
  virtual void add(const ListedGift& gift) = 0;
  virtual void finish() = 0;
};

class JsonGiftWriter final : public GiftListWriter {
 public:
  JsonGiftWriter(std::ostream& out, bool with_conflicts) : list_(out), with_conflicts_(with_conflicts) {}
  void add(const ListedGift& gift) override {
    Json json = gift_record_json(gift.record);
    json["utm_campaign_id"] = gift.campaign.empty() ? Json(nullptr) : Json(gift.campaign);
    if (with_conflicts_) json["conflicts"] = gift.conflicts;
    list_.add(json);
  }
  void finish() override { list_.finish(); }

 private:
  JsonArrayWriter list_;
  const bool with_conflicts_;
};

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

class TableGiftWriter final : public GiftListWriter {
 public:
  TableGiftWriter(std::ostream& out, const GiftListing& listing)
      : listing_(listing),
        table_(out, {{"ID", TextTable::Kind::number},
                     {"STATUS"},
                     {"SINCE (UTC)"},
                     {"RECIPIENT", TextTable::Kind::elastic_last},
                     {"ITEM", TextTable::Kind::elastic},
                     {"CAMPAIGN", TextTable::Kind::elastic},
                     {"TOTAL", TextTable::Kind::number},
                     {"MATCHED TO", TextTable::Kind::elastic_last}}) {}

  void add(const ListedGift& gift) override {
    const schema::GiftRecord& record = gift.record;
    const std::string word = text_of(record, schema::GiftField::status);
    const auto status = schema::status_from_word(word);
    const auto* total = std::get_if<schema::Money>(&record.get(schema::GiftField::total_price));
    table_.add(
        {std::to_string(record.transaction().value), word,
         status ? minute_text(time_of(record, schema::time_field_of(*status))) : "", recipient_of(record),
         gift.item, gift.campaign, total ? schema::to_decimal(*total) : "", matched_to(gift)},
        below(gift));
  }
  void finish() override { table_.finish(); }

 private:
  std::string below(const ListedGift& gift) const {
    std::string text = fmt::format("{}", fmt::join(gift.conflicts, "; "));
    if (!gift.sync_state) return text;
    const auto add = [&text](const std::string& sentence) {
      text.append(text.empty() || sentence.empty() ? "" : ". ").append(sentence);
    };
    if (gift.has_id_conflict) {
      add(
          fmt::format("Id conflict: giftsync did not write this record, gift {} has none; see \"giftsyncctl "
                      "gift show {}\"",
                      gift.record.transaction().value, gift.record.transaction().value));
    } else if (listing_.explain) {
      if (!gift.manual_links.empty())
        add("Links corrected in the CRM to " + gift.manual_links + ", which differs from the match");
      add(gift.sync_state->decision.reason);
    } else if (listing_.needs_relink) {
      add(gift.sync_state->decision.warnings);
    }
    return text;
  }

  const GiftListing& listing_;
  TextTable table_;
};

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
  std::unique_ptr<GiftListWriter> lines;
  if (listing.json)
    lines = std::make_unique<JsonGiftWriter>(console.out, listing.conflicting);
  else
    lines = std::make_unique<TableGiftWriter>(console.out, listing);
  GiftBatches batches(ctx, listing);
  std::int64_t listed = 0;
  const bool is_reversed = listing.newest && !batches.begins_with_newest();
  std::deque<ListedGift> newest;  // the newest so far
  const auto full = [&] { return !is_reversed && listing.limit > 0 && listed == listing.limit; };
  while (!full() && console.out) {
    const std::vector<ListedGift> batch = batches.next();
    if (batch.empty()) break;
    for (const ListedGift& gift : batch) {
      if (full() || !matches_filter(gift, listing)) continue;
      ++listed;
      if (!is_reversed) {
        lines->add(gift);
        continue;
      }
      newest.push_front(gift);
      if (listing.limit > 0 && newest.size() > static_cast<std::size_t>(listing.limit)) newest.pop_back();
    }
  }
  for (const ListedGift& gift : newest) lines->add(gift);
  lines->finish();
  if (!console.out) return EX_OK;
  print_missing(console, ctx, listing, listed);
  return EX_OK;
}

}  // namespace giftsync::cli
