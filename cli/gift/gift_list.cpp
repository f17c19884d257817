#include "cli/gift/gift_list.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/gift/gift_detail.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "sync/attention.h"

namespace giftsync::cli {
namespace {

using State = store::CrmSyncStatus;
using sync::count_text;

/// One that was not asked for is there in an older state if it was ever written.
bool has_record(const ListedGift& gift) {
  return gift.has_record || (gift.sync_state && gift.sync_state->written_version > 0 &&
                             gift.sync_state->state == State::rejected);
}

/// The state of the gift's record in the CRM.
std::string_view record_word(const ListedGift& gift) {
  const State state = gift.sync_state ? gift.sync_state->state : State::decided;
  if (state == State::rejected) return has_record(gift) ? "refused" : "none, refused";
  if (gift.has_id_conflict) return "not giftsync's";
  if (has_record(gift)) return "written";
  return state == State::skipped ? "none, no match" : state == State::deleted ? "none, deleted" : "none yet";
}

Json json_of(const ListedGift& gift, const GiftListing& listing, const std::string& currency) {
  Json json = gift_record_json(gift.record);
  // One member: many readers of JSON take names that differ by case as one.
  json.erase(std::string(descriptor_of(GiftField::utm_campaign_id).name));
  const bool is_of_record = gift.campaign.empty();
  json["utm_campaign_id"] =
      text_or_null(is_of_record ? text_of(gift.record, GiftField::utm_campaign_id) : gift.campaign);
  json["external_id"] = text_or_null(gift.external_id);
  json["crm_state"] = gift.sync_state ? Json(to_word(gift.sync_state->state)) : Json(nullptr);
  json["has_record"] = has_record(gift);
  if (listing.conflicting) json["conflicts"] = gift.conflicts;
  if (listing.refused) json["refusal"] = text_or_null(gift.sync_state ? gift.sync_state->error : "");
  add_currency(json, currency);
  return json;
}

std::string recipient_of(const GiftRecord& record) {
  std::string email = text_of(record, GiftField::recipient_email);
  return email.empty() ? text_of(record, GiftField::recipient_phone_number) : email;
}

std::string matched_to(const ListedGift& gift) {
  const std::string contact = text_of(gift.record, GiftField::recipient_contact);
  const std::string lead = text_of(gift.record, GiftField::recipient_lead);
  if (!contact.empty()) return "contact " + contact;
  if (!lead.empty()) return "lead " + lead;
  return gift.sync_state && gift.sync_state->state == store::CrmSyncStatus::skipped ? "no match (skipped)"
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
  } else if (listing.refused) {
    add(gift.sync_state->error);
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

void describe(ListedRow& row, const ListedGift& gift, const GiftListing& listing, const CliContext& ctx) {
  if (row.is_json()) return row.set_json(json_of(gift, listing, ctx.settings.catalogue.currency));
  using Kind = TextTable::Kind;
  const GiftRecord& record = gift.record;
  const std::string word = text_of(record, GiftField::status);
  const auto status = status_from_word(word);
  const auto* total = std::get_if<Money>(&record.get(GiftField::total_price));
  row.add_cell({"ID", Kind::number}, std::to_string(record.transaction().value));
  if (has_external_ids(ctx)) row.add_cell({"EXTERNAL ID", Kind::elastic}, gift.external_id);
  row.add_cell({"STATUS"}, word);
  row.add_cell({"SINCE (UTC)"}, status ? minute_text(time_of(record, time_field_of(*status))) : "");
  row.add_cell({"RECIPIENT", Kind::elastic_last}, recipient_of(record));
  row.add_cell({"ITEM", Kind::elastic}, gift.item);
  row.add_cell({"CAMPAIGN", Kind::elastic}, gift.campaign);
  row.add_cell({"TOTAL", Kind::number}, total ? to_decimal(*total) : "");
  row.add_cell({"MATCHED TO", Kind::elastic_last}, matched_to(gift));
  row.add_cell({"RECORD"}, std::string(record_word(gift)));
  row.set_below(remark_on(gift, listing));
}

UtcMillis sent_at(const ListedGift& gift) {
  return time_of(gift.record, time_field_of(Status::sent)).value_or(UtcMillis{0});
}

struct IsSentLater {
  bool operator()(const ListedGift& a, const ListedGift& b) const {
    return std::pair(sent_at(a), a.record.transaction()) > std::pair(sent_at(b), b.record.transaction());
  }
};

/// Keeps the latest sent of all that are added.
class NewestGifts {
 public:
  explicit NewestGifts(std::int64_t limit) : limit_(static_cast<std::size_t>(limit)) {}
  void add(const ListedGift& gift) {
    gifts_.insert(gift);
    if (gifts_.size() > limit_) gifts_.erase(std::prev(gifts_.end()));
  }
  const std::set<ListedGift, IsSentLater>& gifts() const { return gifts_; }

 private:
  const std::size_t limit_;
  std::set<ListedGift, IsSentLater> gifts_;
};

/// How many of the listed gifts have no record, by the reason.
class MissingRecords {
 public:
  void add(const ListedGift& gift) {
    if (has_record(gift) || !gift.sync_state) return;
    skipped_ += gift.sync_state->state == State::skipped ? 1 : 0;
    deleted_ += gift.sync_state->state == State::deleted ? 1 : 0;
    refused_ += gift.sync_state->state == State::rejected ? 1 : 0;
  }
  void print(const Console& console) const {
    const auto say = [&](std::int64_t count, std::string_view why) {
      if (count > 0)
        console.info(fmt::format("{} {} no record, since {}.", pluralize(count, "gift"),
                                 plural_verb(count, "has", "have"), why));
    };
    say(skipped_, "nothing matched");
    say(deleted_, "it was deleted in the CRM");
    say(refused_, "the CRM refuses it; \"giftsyncctl gift list --refused\" tells why");
  }

 private:
  std::int64_t skipped_ = 0;
  std::int64_t deleted_ = 0;
  std::int64_t refused_ = 0;
};

bool has_gift(CliContext& ctx, GiftListing listing) {
  if (listing.skipped || listing.refused || listing.needs_relink || listing.conflicting) return false;
  listing.newest = false;
  const NextGifts next_page = gifts_before_filter(ctx, listing, std::nullopt);
  while (const auto page = next_page())
    if (std::ranges::any_of(page->gifts, [&](const auto& gift) { return matches_filter(gift, listing); }))
      return true;
  return false;
}

void print_missing(const Console& console, CliContext& ctx, const GiftListing& listing, std::int64_t listed,
                   const MissingRecords& missing) {
  if (listed == 0) {
    console.info(listing.skipped        ? "No gift was skipped."
                 : listing.refused      ? "The CRM refuses no gift record."
                 : listing.needs_relink ? "The CRM has refused no lookup of a gift."
                 : listing.conflicting  ? "No gift has conflicting changes."
                                        : "No gifts.");
    tell_of_left_out_tests(console, ctx, listing, "Test gifts", "gift list --test",
                           [&ctx](const GiftListing& tests) { return has_gift(ctx, tests); });
  }
  if (listing.skipped || listing.refused || listing.needs_relink) return;
  missing.print(console);
  const std::int64_t waiting = ctx.store.sync.counts().waiting;
  if (waiting == 0) return;
  console.info(fmt::format("{} {} changes that are not in the CRM yet; see \"giftsyncctl status\".",
                           count_text(waiting, "gift"), plural_verb(waiting, "has", "have")));
}

}  // namespace

int list_gifts(const Console& console, CliContext& ctx, const GiftListing& listing) {
  Listing list(console.out, listing.json);
  MissingRecords missing;
  const auto print = [&](const ListedGift& gift) {
    missing.add(gift);
    list.add([&](ListedRow& row) { describe(row, gift, listing, ctx); });
  };
  const std::optional<SearchBound> bound = search_bound(ctx, listing);
  const auto next_matching = [&, next_page = gifts_before_filter(ctx, listing, bound)] {
    SearchProgress progress(console);
    while (auto page = next_page()) {
      std::erase_if(page->gifts, [&](const ListedGift& gift) { return !matches_filter(gift, listing); });
      if (!page->gifts.empty()) return page->gifts;
      if (order_of(listing) == ListedOrder::by_id) progress.update(page->searched_to.value);
    }
    return ListedGifts{};
  };
  const bool is_sorted_here = listing.newest && order_of(listing) == ListedOrder::by_id;
  NewestGifts newest(listing.limit);
  const std::int64_t listed =
      each_row(console, is_sorted_here ? 0 : listing.limit, next_matching,
               [&](const ListedGift& gift) { is_sorted_here ? newest.add(gift) : print(gift); });
  for (const ListedGift& gift : newest.gifts()) print(gift);
  list.finish();
  if (bound && listed < listing.limit)
    console.info(
        fmt::format("Only the latest {} gifts were searched, sent since {}; without --newest and "
                    "--limit all are searched.",
                    bound->gifts, to_rfc3339(bound->sent_at)));
  if (console.out) print_missing(console, ctx, listing, listed, missing);
  return EX_OK;
}

}  // namespace giftsync::cli
