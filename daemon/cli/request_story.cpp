#include "daemon/cli/request_story.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include "daemon/cli/text_table.h"
#include "daemon/crypto/link_token.h"
#include "daemon/http/handed_links.h"
#include "daemon/secret_of_store.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/unusable_settings.h"
#include "sync/request_moves.h"

namespace giftsync::daemon {
namespace {

using F = schema::RequestField;

Json value_json(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* yes = std::get_if<bool>(&value)) return *yes;
  if (const auto* time = std::get_if<schema::UtcMillis>(&value)) return json_time(*time);
  return nullptr;
}

std::string value_text(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* yes = std::get_if<bool>(&value)) return *yes ? "yes" : "no";
  if (const auto* time = std::get_if<schema::UtcMillis>(&value)) return schema::to_rfc3339(*time);
  return {};
}

/// What the store knows of it, if anything.
struct Story {
  std::optional<schema::KnownRequest> known;
  std::vector<schema::RequestMove> moves;
  std::optional<schema::SentRequest> sent;
  std::vector<schema::RecipientTransaction> gifts;
  std::optional<HandedLinks> links;  ///< of a gift that was asked for as URLs
  std::string no_links;              ///< why such a gift shows none
};

void add_links(Installation& place, const schema::RecipientTransaction& gift, Story& story) {
  if (const auto end = end_of_links(place.store, gift)) {
    story.no_links = fmt::format("none any more: the gift was {}", to_word(*end));
    return;
  }
  try {
    const LinkSigner signer(secret_of_store(place.settings, place.store));
    story.links = handed_links(GiftLinks(place.settings.server.base_url, signer), gift);
  } catch (const UnusableSettings& fault) {
    // Only the service's user and root can read the secret.
    story.no_links = fmt::format("not shown: {}", fault.what());
  }
}

Story story_of(Installation& place, const std::string& id) {
  Story story;
  const std::span key(&id, 1);
  const auto known = place.store.requests.find(key);
  if (!known.empty()) story.known = known.front();
  story.moves = place.store.requests.moves(id);
  const auto sent = place.store.requests.sent(key);
  if (sent.empty()) return story;
  story.sent = sent.front();
  story.gifts = place.store.gifts.recipients(sent.front().gift_request);
  const auto request = place.store.gifts.request(sent.front().gift_request);
  if (request && request->mode == schema::SendMode::urls && !story.gifts.empty())
    add_links(place, story.gifts.front(), story);
  return story;
}

/// What is left of a request that was deleted in the CRM: what the store knows of it.
std::optional<schema::RequestRecord> deleted_request(Installation& place, const std::string& number) {
  const auto known = place.store.requests.named(number);
  if (!known) return std::nullopt;
  schema::RequestRecord row;
  row.id = known->key;
  row.set(F::number, known->number);
  row.set(F::status, std::string(to_word(sync::shown_status(known->state))));
  if (!known->error.empty()) row.set(F::error_log, known->error);
  return row;
}

Json story_json(const schema::RequestRecord& row, const Story& story) {
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  Json json = request_json(row);
  json["deleted"] = story.known && story.known->deleted;
  json["state"] = story.known ? Json(to_word(story.known->state)) : Json(nullptr);
  json["asked_by"] = story.known ? text(story.known->asked_by) : Json(nullptr);
  json["approved_by"] = story.known ? text(story.known->approved_by) : Json(nullptr);
  json["next_try_at"] =
      story.known && story.known->failures > 0 ? json_time(story.known->due_at) : Json(nullptr);
  Json moves = Json::array();
  for (const schema::RequestMove& move : story.moves) {
    moves.push_back({{"at", json_time(move.at)},
                     {"who", move.who},
                     {"from", text(move.from)},
                     {"to", move.to},
                     {"comment", text(move.comment)}});
  }
  json["moves"] = std::move(moves);
  json["gift_request_id"] = story.sent ? Json(story.sent->gift_request.value) : Json(nullptr);
  Json gifts = Json::array();
  for (const auto& gift : story.gifts) gifts.push_back(gift.id.value);
  json["recipient_transaction_ids"] = std::move(gifts);
  json["gift_redemption_url"] = story.links ? Json(story.links->redemption_url) : Json(nullptr);
  json["gift_donation_url"] = story.links ? Json(story.links->donation_url) : Json(nullptr);
  return json;
}

void print_text(const Console& console, const schema::RequestRecord& row, const Story& story) {
  std::size_t width = 0;
  for (const schema::RecordField& field : schema::kRequestFields) width = std::max(width, field.label.size());
  for (std::size_t i = 0; i < schema::kRequestFieldCount; ++i) {
    const std::string value = value_text(row.get(static_cast<F>(i)));
    if (!value.empty())
      fmt::print(console.out, "{:<{}}  {}\n", schema::kRequestFields[i].label, width, value);
  }
  if (story.known && !story.known->asked_by.empty())
    fmt::print(console.out, "{:<{}}  {}\n", "Asked for by", width, printable(story.known->asked_by));
  if (story.known && story.known->deleted)
    fmt::print(console.out, "{:<{}}  {}\n", "Deleted", width,
               "in the CRM; this is what giftsync knows of it");
  if (story.sent)
    fmt::print(console.out, "{:<{}}  {}\n", "Gift request", width, story.sent->gift_request.value);
  for (const auto& gift : story.gifts)
    fmt::print(console.out, "{:<{}}  {} (giftsyncctl gift show {})\n", "Gift", width, gift.id.value,
               gift.id.value);
  if (story.links) {
    fmt::print(console.out, "{:<{}}  {}\n", "Redemption URL", width, story.links->redemption_url);
    fmt::print(console.out, "{:<{}}  {}\n", "Donation URL", width, story.links->donation_url);
  }
  if (!story.no_links.empty())
    fmt::print(console.out, "{:<{}}  {}\n", "URLs", width, printable(story.no_links));
  fmt::print(console.out, "\n");
  TextTable table(console.out, {{"WHEN"}, {"FROM"}, {"TO"}, {"WHO", TextTable::Kind::elastic}});
  for (const schema::RequestMove& move : story.moves)
    table.add({schema::to_rfc3339(move.at), move.from, move.to, printable(move.who)},
              printable(move.comment));
  table.finish();
}

}  // namespace

Json request_json(const schema::RequestRecord& record) {
  Json json{{"Id", record.id}};
  for (std::size_t i = 0; i < schema::kRequestFieldCount; ++i)
    json[std::string(schema::kRequestFields[i].name)] = value_json(record.get(static_cast<F>(i)));
  return json;
}

Json request_summary(const schema::RequestRecord& record) {
  return {{"Id", record.id}, {"Name", record.text(F::number)}, {"Request_Status", record.text(F::status)}};
}

int show_request(const Console& console, Installation& place, const std::string& number, bool json) {
  auto row = place.crm->find_request(number);
  if (!row) row = deleted_request(place, number);
  if (!row) {
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no request {}; \"giftsyncctl request list\" shows them", in_quotes(number)));
  }
  const Story story = story_of(place, row->id);
  if (json) {
    fmt::print(console.out, "{}\n", json_text(story_json(*row, story), 2));
    if (!story.no_links.empty()) console.note("The gift's URLs: " + story.no_links + ".");
  } else {
    print_text(console, *row, story);
  }
  return EX_OK;
}

}  // namespace giftsync::daemon
