#include "daemon/cli/change_list.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>

#include "daemon/cli/text_table.h"

namespace giftsync::daemon {
namespace {

using schema::StatusChange;

Json void_json(const StatusChange& change) {
  if (!change.voiding) return nullptr;
  return {{"at", json_time(change.voiding->at)},
          {"by", change.voiding->by},
          {"reason", change.voiding->reason.empty() ? Json(nullptr) : Json(change.voiding->reason)}};
}

Json reviews_json(const StatusChange& change) {
  Json json = Json::array();
  for (const schema::ChangeReview& review : change.reviews) {
    json.push_back({{"kind", to_word(review.kind)},
                    {"at", json_time(review.at)},
                    {"by", review.by},
                    {"reason", review.reason.empty() ? Json(nullptr) : Json(review.reason)}});
  }
  return json;
}

/// Of held changes, those whose gift has come but is another's: they never apply (design 3.1, a collision).
/// Whose it is, by change.
std::map<schema::ChangeId, std::string> collisions_in(schema::Store& store,
                                                      const std::vector<StatusChange>& page) {
  std::vector<schema::TransactionId> ids;
  for (const StatusChange& change : page) {
    if (change.held) ids.push_back(change.transaction);
  }
  std::map<schema::ChangeId, std::string> found;
  if (ids.empty()) return found;
  std::map<schema::TransactionId, std::string> origins;
  for (const schema::Gift& gift : store.gifts.gifts(ids))
    origins[gift.transaction.id] = gift.transaction.origin;
  for (const StatusChange& change : page) {
    const auto origin = origins.find(change.transaction);
    if (!change.held || origin == origins.end() || origin->second == change.origin ||
        origin->second == schema::kAdoptedOrigin)
      continue;
    found[change.id] = origin->second.empty() ? "giftsync" : origin->second;
  }
  return found;
}

/// Runs `add` over all that the listing asks for, as long as the output takes them, each with whose its gift
/// is when it never applies; returns how many those were.
template <class Add>
std::int64_t each_change(const Console& console, Installation& place, const ChangeListing& listing,
                         Add&& add) {
  std::int64_t listed = 0;
  std::optional<schema::ChangeId> after;
  while (console.out && (listing.limit == 0 || listed < listing.limit)) {
    std::size_t rows = TextTable::kPageRows;
    if (listing.limit > 0) rows = std::min(rows, static_cast<std::size_t>(listing.limit - listed));
    const auto page = place.store.changes.list(listing.filter, listing.order, after, rows);
    if (page.empty()) break;
    const auto collisions = collisions_in(place.store, page);
    for (const StatusChange& change : page) {
      const auto other = collisions.find(change.id);
      add(change, other == collisions.end() ? std::string() : other->second);
    }
    listed += static_cast<std::int64_t>(page.size());
    after = page.back().id;
  }
  return listed;
}

}  // namespace

Json change_json(const StatusChange& change) {
  return {
      {"id", change.id.value},
      {"recipient_transaction_id", change.transaction.value},
      {"source", change.source},
      {"status", to_word(change.status)},
      {"premise", change.premise == schema::Premise::none ? Json(nullptr) : Json(to_word(change.premise))},
      {"occurred_at", json_time(change.occurred_at)},
      {"received_at", json_time(change.received_at)},
      {"event_ids", change.event_ids},
      {"held", change.held},
      {"voided", void_json(change)},
      {"reviews", reviews_json(change)}};
}

std::string review_words(const StatusChange& change) {
  std::string words;
  for (const schema::ChangeReview& review : change.reviews) {
    if (!words.empty()) words += "; ";
    words += fmt::format("{} {} UTC by {}", to_word(review.kind), minute_text(review.at), review.by);
    if (!review.reason.empty()) words += ": " + review.reason;
  }
  return words;
}

std::string change_state(const StatusChange& change) {
  std::string reviews = review_words(change);
  if (!change.held) return reviews;
  return reviews.empty() ? "held" : "held; " + reviews;
}

int list_changes(const Console& console, Installation& place, const ChangeListing& listing) {
  if (listing.json) {
    JsonList list(console.out);
    each_change(console, place, listing, [&](const StatusChange& change, const std::string& others) {
      Json json = change_json(change);
      json["gift_of"] = others.empty() ? Json(nullptr) : Json(others);
      list.add(json);
    });
    list.finish();
    return EX_OK;
  }
  TextTable table(console.out, {{"ID", TextTable::Kind::number},
                                {"GIFT", TextTable::Kind::number},
                                {"STATUS"},
                                {"OCCURRED (UTC)"},
                                {"RECEIVED (UTC)"},
                                {"SOURCE", TextTable::Kind::elastic},
                                {"EVENTS", TextTable::Kind::elastic}});
  const auto note = [&](const StatusChange& change, const std::string& others) {
    if (!others.empty())
      return fmt::format("gift {} is of {}, so this never applies; \"change void {}\" ends it",
                         change.transaction.value, printable(others), change.id.value);
    return listing.filter.held_only ? review_words(change) : change_state(change);
  };
  const std::int64_t listed =
      each_change(console, place, listing, [&](const StatusChange& change, const std::string& others) {
        table.add({std::to_string(change.id.value), std::to_string(change.transaction.value),
                   std::string(to_word(change.status)), minute_text(change.occurred_at),
                   minute_text(change.received_at), change.source,
                   fmt::format("{}", fmt::join(change.event_ids, ", "))},
                  note(change, others));
      });
  table.finish();
  if (listed == 0 && console.out)
    console.note(listing.filter.held_only ? "No changes are held." : "No changes.");
  return EX_OK;
}

}  // namespace giftsync::daemon
