#include "cli/gift/change_list.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <map>

#include "cli/listing.h"

namespace giftsync::cli {
namespace {

Json void_json(const store::StatusChange& change) {
  if (!change.voiding) return nullptr;
  return {{"at", json_time(change.voiding->at)},
          {"by", change.voiding->by},
          {"reason", text_or_null(change.voiding->reason)}};
}

Json audit_json(const store::StatusChange& change) {
  Json json = Json::array();
  for (const store::ChangeAuditEntry& entry : change.audit) {
    json.push_back({{"kind", to_word(entry.kind)},
                    {"at", json_time(entry.at)},
                    {"by", entry.by},
                    {"reason", text_or_null(entry.reason)}});
  }
  return json;
}

/// Orphaned changes whose gift exists but belongs to another source, so that they never apply (STATUS-29).
/// The value is the gift's source.
std::map<ChangeId, std::string> collisions_in(store::Store& store,
                                              const std::vector<store::StatusChange>& page) {
  std::vector<TransactionId> ids;
  for (const store::StatusChange& change : page) {
    if (change.orphaned) ids.push_back(change.transaction);
  }
  std::map<ChangeId, std::string> found;
  if (ids.empty()) return found;
  std::map<TransactionId, std::string> origins;
  for (const store::Gift& gift : store.gifts.find(ids))
    origins[gift.transaction.id] = gift.transaction.gift_source;
  for (const store::StatusChange& change : page) {
    const auto origin = origins.find(change.transaction);
    if (!change.orphaned || origin == origins.end() || origin->second == change.gift_source ||
        origin->second == store::kAdoptedGiftSource)
      continue;
    found[change.id] = origin->second.empty() ? "giftsync" : origin->second;
  }
  return found;
}

std::map<TransactionId, std::string> external_ids_in(store::Store& store,
                                                     const std::vector<store::StatusChange>& page) {
  std::vector<TransactionId> ids;
  for (const store::StatusChange& change : page) {
    if (!change.gift_source.empty()) ids.push_back(change.transaction);
  }
  return store.external_ids.of(ids);
}

}  // namespace

Json change_json(const store::StatusChange& change) {
  return {{"id", change.id.value},
          {"recipient_transaction_id", change.transaction.value},
          {"source", change.source},
          {"status", to_word(change.status)},
          {"premise", change.premise == Premise::none ? Json(nullptr) : Json(to_word(change.premise))},
          {"occurred_at", json_time(change.occurred_at)},
          {"received_at", json_time(change.received_at)},
          {"event_ids", change.event_ids},
          {"orphaned", change.orphaned},
          {"voided", void_json(change)},
          {"audit", audit_json(change)}};
}

std::string audit_text(const store::StatusChange& change) {
  std::string text;
  for (const store::ChangeAuditEntry& entry : change.audit) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {} UTC by {}", to_word(entry.kind), minute_text(entry.at), entry.by);
    if (!entry.reason.empty()) text += ": " + entry.reason;
  }
  return text;
}

std::string change_annotations(const store::StatusChange& change) {
  std::string audit = audit_text(change);
  if (!change.orphaned) return audit;
  return audit.empty() ? "orphaned" : "orphaned; " + audit;
}

int list_changes(const Console& console, CliContext& ctx, const ChangeListing& listing) {
  Listing list(console.out, listing.json,
               {{"ID", TextTable::Kind::number},
                {"GIFT", TextTable::Kind::number},
                {"STATUS"},
                {"OCCURRED (UTC)"},
                {"RECEIVED (UTC)"},
                {"SOURCE", TextTable::Kind::elastic},
                {"EVENTS", TextTable::Kind::elastic}});
  std::map<ChangeId, std::string> collisions;  // of the current page
  std::map<TransactionId, std::string> external_ids;
  const auto next_page = [&, after = std::optional<ChangeId>()]() mutable {
    auto page = ctx.store.changes.list(listing.filter, listing.order, after, TextTable::kPageRows);
    if (!page.empty()) after = page.back().id;
    collisions = collisions_in(ctx.store, page);
    external_ids = external_ids_in(ctx.store, page);
    return page;
  };
  const auto remark = [&](const store::StatusChange& change) {
    if (collisions.contains(change.id))
      return fmt::format("gift {} belongs to {}, so this never applies; \"change void {}\" removes it",
                         change.transaction.value, printable(collisions[change.id]), change.id.value);
    std::string text = listing.filter.orphaned_only ? audit_text(change) : change_annotations(change);
    // `gift show` tells it of a known gift.
    if (!change.orphaned || !external_ids.contains(change.transaction)) return text;
    return fmt::format("external id {}{}{}", printable(external_ids[change.transaction]),
                       text.empty() ? "" : "; ", text);
  };
  const auto json_of = [&](const store::StatusChange& change) {
    Json json = change_json(change);
    const auto external_id = external_ids.find(change.transaction);
    json["external_id"] = external_id == external_ids.end() ? Json(nullptr) : Json(external_id->second);
    json["gift_of"] = collisions.contains(change.id) ? Json(collisions[change.id]) : Json(nullptr);
    return json;
  };
  const std::int64_t listed =
      each_row(console, listing.limit, next_page, [&](const store::StatusChange& change) {
        list.add([&] { return json_of(change); },
                 [&]() -> TextTable::Row {
                   return {{std::to_string(change.id.value), std::to_string(change.transaction.value),
                            std::string(to_word(change.status)), minute_text(change.occurred_at),
                            minute_text(change.received_at), change.source,
                            fmt::format("{}", fmt::join(change.event_ids, ", "))},
                           remark(change)};
                 });
      });
  list.finish();
  if (listed == 0 && console.out && !listing.json)
    console.info(listing.filter.orphaned_only ? "No orphaned changes." : "No changes.");
  return EX_OK;
}

}  // namespace giftsync::cli
