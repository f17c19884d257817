#include "daemon/cli/gift_list.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "daemon/cli/gift_json.h"
#include "daemon/cli/gift_story.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "schema/address.h"
#include "sync/gift_record_draft.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {
namespace {

using schema::GiftField;
using schema::GiftRecord;
using schema::TransactionId;

/// A gift record with what the store knows of its gift; gifts that only the CRM knows have neither item nor
/// mirror.
struct ListedGift {
  GiftRecord record;
  std::string item;
  std::string campaign;
  std::optional<schema::GiftMirror> mirror;
  std::string linked_by_hand;               ///< what its record shows instead of what was decided
  bool is_strangers = false;                ///< its record is one that giftsync did not write, at a gift's id
  std::vector<std::string> contradictions;  ///< only when asked for
};

std::string text_of(const GiftRecord& record, GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<schema::UtcMillis> time_of(const GiftRecord& record, GiftField field) {
  const auto* time = std::get_if<schema::UtcMillis>(&record.get(field));
  return time ? std::optional(*time) : std::nullopt;
}

std::vector<TransactionId> ids_of(const std::vector<GiftRecord>& records) {
  std::vector<TransactionId> ids;
  for (const GiftRecord& record : records) ids.push_back(record.transaction());
  return ids;
}

/// The CRM computes these; a record that it does not have shows what it would.
void set_formulas(GiftRecord& record, const schema::StatusTimes& times) {
  const auto& delivered = times[schema::Status::delivered];
  const auto& undelivered = times[schema::Status::undelivered];
  record.set(GiftField::delivered, delivered && (!undelivered || *delivered >= *undelivered));
  record.set(GiftField::opened, times[schema::Status::opened].has_value());
  record.set(GiftField::redeemed, times[schema::Status::redeemed].has_value());
}

std::vector<std::string> contradictions_in(const std::vector<schema::StatusChange>& changes) {
  std::vector<std::string> found;
  for (const schema::StatusChange& change : changes) {
    const std::string contradiction = sync::contradiction(change, changes);
    if (!contradiction.empty())
      found.push_back(fmt::format("change {} of {}: {}", change.id.value, change.source, contradiction));
  }
  return found;
}

/// One batch after the other, by Transaction Id; an empty one is the end.
class GiftBatches {
 public:
  GiftBatches(Installation& place, const GiftListing& listing)
      : place_(place), listing_(listing), place_in_walk_{begins_with_newest() ? schema::kMaxId + 1 : 0} {}

  /// All gift records can be walked from either end; the other listings, which are short, from the oldest on.
  bool begins_with_newest() const {
    return listing_.newest && !listing_.skipped && !listing_.rematch_needed && !listing_.contradictory;
  }

  std::vector<ListedGift> next() {
    std::vector<ListedGift> batch = listing_.skipped          ? next_skipped()
                                    : listing_.rematch_needed ? next_rematch_needed()
                                    : listing_.contradictory  ? next_contradictory()
                                    : has_plain_address()     ? next_to_recipient()
                                    : begins_with_newest()    ? next_newest()
                                                              : next_records();
    if (!batch.empty()) place_in_walk_ = batch.back().record.transaction();
    return batch;
  }

 private:
  std::vector<ListedGift> next_records() {
    return with_gifts(place_.crm->gift_records(place_in_walk_, schema::kCrmBatch));
  }

  std::vector<ListedGift> next_newest() {
    for (TransactionId below = place_in_walk_;;) {
      const std::vector<TransactionId> ids = place_.crm->transaction_ids_below(below, schema::kCrmBatch);
      if (ids.empty()) return {};
      std::vector<ListedGift> batch = with_gifts(place_.crm->find_gift_records(ids));
      std::reverse(batch.begin(), batch.end());
      if (!batch.empty()) return batch;
      below = ids.back();
    }
  }

  /// A CRM finds these by itself; with other letters an address has spellings that only a walk can compare.
  bool has_plain_address() const {
    const std::string key = listing_.email_key.value_or("");
    const bool is_ascii = std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return !key.empty() && is_ascii && key.find("xn--") == std::string::npos;
  }

  std::vector<ListedGift> next_to_recipient() {
    if (!left_to_recipient_) {
      left_to_recipient_ = place_.crm->transaction_ids_to(*listing_.email_key);
      if (!listing_.newest) std::reverse(left_to_recipient_->begin(), left_to_recipient_->end());
    }
    std::vector<ListedGift> batch;
    while (batch.empty() && !left_to_recipient_->empty()) {
      const auto some = left_to_recipient_->end() -
                        static_cast<std::ptrdiff_t>(std::min(left_to_recipient_->size(), schema::kCrmBatch));
      batch = with_gifts(place_.crm->find_gift_records({some, left_to_recipient_->end()}));
      left_to_recipient_->erase(some, left_to_recipient_->end());
    }
    if (listing_.newest) std::reverse(batch.begin(), batch.end());
    return batch;
  }

  /// One whose record is gone meanwhile is passed over; an empty batch is the end all the same.
  std::vector<ListedGift> next_rematch_needed() {
    for (TransactionId after = place_in_walk_;;) {
      std::vector<TransactionId> ids;
      for (const schema::GiftMirror& mirror : place_.store.sync.mirrors_to_rematch(
               schema::RematchScope::needs_rematch, after, schema::kCrmBatch)) {
        ids.push_back(mirror.transaction);
      }
      if (ids.empty()) return {};
      std::vector<ListedGift> batch = with_gifts(place_.crm->find_gift_records(ids));
      if (!batch.empty()) return batch;
      after = ids.back();
    }
  }

  std::vector<ListedGift> with_gifts(std::vector<GiftRecord> records) {
    const std::vector<TransactionId> ids = ids_of(records);
    std::map<TransactionId, ListedGift> gifts;
    for (GiftRecord& record : records) gifts[record.transaction()].record = std::move(record);
    for (const schema::Gift& gift : place_.store.gifts.gifts(ids)) {
      gifts[gift.transaction.id].item = gift.request.item_name;
      gifts[gift.transaction.id].campaign = gift.request.utm_campaign_id.value_or("");
    }
    for (schema::GiftMirror& mirror : place_.store.sync.mirrors(ids)) {
      ListedGift& gift = gifts[mirror.transaction];
      gift.is_strangers = mirror.is_kept_out();
      if (gift.is_strangers) gift.item = gift.campaign = "";
      gift.linked_by_hand = linked_by_hand(*place_.crm, mirror, gift.record);
      gift.mirror = std::move(mirror);
    }
    std::vector<ListedGift> batch;
    for (auto& [id, gift] : gifts) batch.push_back(std::move(gift));
    return batch;
  }

  /// Their records; for those that have none, what it would be.
  std::vector<ListedGift> next_contradictory() {
    const std::vector<TransactionId> ids =
        place_.store.gifts.contradictory(place_in_walk_, schema::kCrmBatch);
    std::map<TransactionId, schema::GiftMirror> mirrors;
    for (schema::GiftMirror& mirror : place_.store.sync.mirrors(ids))
      mirrors[mirror.transaction] = std::move(mirror);
    std::map<TransactionId, std::vector<schema::StatusChange>> changes;
    for (schema::StatusChange& change : place_.store.changes.changes_of(ids))
      changes[change.transaction].push_back(std::move(change));
    std::vector<ListedGift> batch;
    for (const schema::Gift& gift : place_.store.gifts.gifts(ids)) {
      const TransactionId id = gift.transaction.id;
      batch.push_back(as_recorded(gift, mirrors[id]));
      batch.back().contradictions = contradictions_in(changes[id]);
    }
    return batch;
  }

  ListedGift as_recorded(const schema::Gift& gift, const schema::GiftMirror& mirror) {
    const TransactionId id = gift.transaction.id;
    std::vector<GiftRecord> records = place_.crm->gift_records({id.value - 1}, 1);
    if (records.empty() || records.front().transaction() != id) return as_drafted(gift, mirror);
    return {std::move(records.front()),
            gift.request.item_name,
            gift.request.utm_campaign_id.value_or(""),
            mirror,
            {},
            false,
            {}};
  }

  ListedGift as_drafted(const schema::Gift& gift, const schema::GiftMirror& mirror) {
    auto draft = sync::draft_gift_record(gift, mirror.decision, "", place_.settings.crm.integration_user);
    set_formulas(draft.record, gift.transaction.times);
    return {std::move(draft.record),
            gift.request.item_name,
            gift.request.utm_campaign_id.value_or(""),
            mirror,
            {},
            false,
            {}};
  }

  /// What their records would be.
  std::vector<ListedGift> next_skipped() {
    std::map<TransactionId, schema::GiftMirror> mirrors;
    std::vector<TransactionId> ids;
    for (schema::GiftMirror& mirror :
         place_.store.sync.mirrors_in(schema::MirrorState::skipped, place_in_walk_, schema::kCrmBatch)) {
      ids.push_back(mirror.transaction);
      mirrors[mirror.transaction] = std::move(mirror);
    }
    std::vector<ListedGift> batch;
    for (const schema::Gift& gift : place_.store.gifts.gifts(ids)) {
      batch.push_back(as_drafted(gift, mirrors[gift.transaction.id]));
    }
    return batch;
  }

  Installation& place_;
  const GiftListing& listing_;
  TransactionId place_in_walk_;
  std::optional<std::vector<TransactionId>> left_to_recipient_;  // the next ones at the end
};

class GiftLines {
 public:
  virtual ~GiftLines() = default;
  virtual void add(const ListedGift& gift) = 0;
  virtual void finish() = 0;
};

class JsonGifts final : public GiftLines {
 public:
  JsonGifts(std::ostream& out, bool contradictory) : list_(out), contradictory_(contradictory) {}
  void add(const ListedGift& gift) override {
    Json json = gift_record_json(gift.record);
    json["utm_campaign_id"] = gift.campaign.empty() ? Json(nullptr) : Json(gift.campaign);
    if (contradictory_) json["contradictions"] = gift.contradictions;
    list_.add(json);
  }
  void finish() override { list_.finish(); }

 private:
  JsonList list_;
  const bool contradictory_;
};

std::string to_whom(const GiftRecord& record) {
  std::string email = text_of(record, GiftField::recipient_email);
  return email.empty() ? text_of(record, GiftField::recipient_phone_number) : email;
}

std::string matched_to(const ListedGift& gift) {
  const std::string contact = text_of(gift.record, GiftField::recipient_contact);
  const std::string lead = text_of(gift.record, GiftField::recipient_lead);
  if (!contact.empty()) return "contact " + contact;
  if (!lead.empty()) return "lead " + lead;
  return gift.mirror && gift.mirror->state == schema::MirrorState::skipped ? "nobody: skipped" : "nobody";
}

class GiftTable final : public GiftLines {
 public:
  GiftTable(std::ostream& out, const GiftListing& listing)
      : listing_(listing),
        table_(out, {{"ID", TextTable::Kind::number},
                     {"STATUS"},
                     {"WHEN (UTC)"},
                     {"TO WHOM", TextTable::Kind::dear},
                     {"ITEM", TextTable::Kind::elastic},
                     {"CAMPAIGN", TextTable::Kind::elastic},
                     {"TOTAL", TextTable::Kind::number},
                     {"MATCHED TO", TextTable::Kind::dear}}) {}

  void add(const ListedGift& gift) override {
    const GiftRecord& record = gift.record;
    const std::string word = text_of(record, GiftField::status);
    const auto status = schema::status_from_word(word);
    const auto* total = std::get_if<schema::Money>(&record.get(GiftField::total_price));
    table_.add({std::to_string(record.transaction().value), word,
                status ? minute_text(time_of(record, time_field_of(*status))) : "", to_whom(record),
                gift.item, gift.campaign, total ? to_decimal(*total) : "", matched_to(gift)},
               below(gift));
  }
  void finish() override { table_.finish(); }

 private:
  std::string below(const ListedGift& gift) const {
    std::string text = fmt::format("{}", fmt::join(gift.contradictions, "; "));
    if (!gift.mirror) return text;
    const auto add = [&text](const std::string& sentence) {
      text.append(text.empty() || sentence.empty() ? "" : ". ").append(sentence);
    };
    if (gift.is_strangers) {
      add(fmt::format("Not a record of giftsync's; gift {} has none: see \"giftsyncctl gift show {}\"",
                      gift.record.transaction().value, gift.record.transaction().value));
    } else if (listing_.why) {
      if (!gift.linked_by_hand.empty())
        add("Linked by hand in the CRM to " + gift.linked_by_hand + ", against what was decided");
      add(gift.mirror->decision.reason);
    } else if (listing_.rematch_needed) {
      add(gift.mirror->decision.warnings);
    }
    return text;
  }

  const GiftListing& listing_;
  TextTable table_;
};

bool is_to(const ListedGift& gift, const std::string& email_key) {
  return schema::email_key(text_of(gift.record, GiftField::recipient_email)) == email_key;
}

bool is_wanted(const ListedGift& gift, const GiftListing& listing) {
  return (!listing.status || text_of(gift.record, GiftField::status) == to_word(*listing.status)) &&
         (!listing.campaign || gift.campaign == *listing.campaign) &&
         (!listing.email_key || is_to(gift, *listing.email_key));
}

void note_what_is_missing(const Console& console, Installation& place, const GiftListing& listing,
                          std::int64_t listed) {
  if (listed == 0) {
    console.note(listing.skipped          ? "No gift was skipped."
                 : listing.rematch_needed ? "No gift lost a lookup."
                 : listing.contradictory  ? "No gift has contradictory changes."
                                          : "No gift records.");
  }
  const std::int64_t waiting = place.store.sync.counts().waiting;
  if (waiting == 0 || listing.skipped || listing.rematch_needed) return;
  console.note(
      fmt::format("{} {} something that the CRM does not know yet; \"giftsyncctl status\" says more.",
                  counted(waiting, "gift"), verb_for(waiting, "has", "have")));
}

}  // namespace

int list_gifts(const Console& console, Installation& place, const GiftListing& listing) {
  std::unique_ptr<GiftLines> lines;
  if (listing.json)
    lines = std::make_unique<JsonGifts>(console.out, listing.contradictory);
  else
    lines = std::make_unique<GiftTable>(console.out, listing);
  GiftBatches batches(place, listing);
  std::int64_t listed = 0;
  const bool turns_round = listing.newest && !batches.begins_with_newest();
  std::deque<ListedGift> newest;  // of what was seen so far
  const auto full = [&] { return !turns_round && listing.limit > 0 && listed == listing.limit; };
  while (!full() && console.out) {
    const std::vector<ListedGift> batch = batches.next();
    if (batch.empty()) break;
    for (const ListedGift& gift : batch) {
      if (full() || !is_wanted(gift, listing)) continue;
      ++listed;
      if (!turns_round) {
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
  note_what_is_missing(console, place, listing, listed);
  return EX_OK;
}

}  // namespace giftsync::daemon
