#include "daemon/handlers/gift_read_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "daemon/exports/gift_detail.h"
#include "daemon/handlers/gift_request_json.h"
#include "daemon/http/problem.h"
#include "platform/text.h"
#include "sync/access/credential.h"

namespace giftsync::handlers {
namespace {

constexpr std::int64_t kMaxStreamedRows = 1'000'000;
constexpr std::int64_t kStreamRetrySeconds = 60;

template <class Id>
std::optional<Id> place_of(const std::optional<std::string>& place) {
  const auto number = place ? parse_number<std::int64_t>(*place) : std::nullopt;
  return number ? std::optional(Id{*number}) : std::nullopt;
}

template <class Id>
std::optional<std::string> place_text(const std::optional<Id>& id) {
  return id ? std::optional(std::to_string(id->value)) : std::nullopt;
}

/// "1795264267000.501": when a gift was sent, and its id.
std::optional<store::SentPosition> sent_place_of(const std::optional<std::string>& place) {
  if (!place) return std::nullopt;
  const std::size_t dot = std::min(place->find('.'), place->size());
  const auto sent_at = parse_number<std::int64_t>(std::string_view(*place).substr(0, dot));
  const auto id =
      parse_number<std::int64_t>(std::string_view(*place).substr(std::min(dot + 1, place->size())));
  return sent_at && id ? std::optional(store::SentPosition{{*sent_at}, {*id}}) : std::nullopt;
}

std::optional<std::string> sent_place_text(const std::optional<store::SentPosition>& place) {
  return place ? std::optional(fmt::format("{}.{}", place->sent_at.value, place->id.value)) : std::nullopt;
}

/// Who may go on with a cursor.
std::string describe(const store::Viewer& viewer) {
  return fmt::format("{} {} {}{}", viewer.account ? viewer.account->value : 0,
                     viewer.organization ? viewer.organization->value : 0,
                     viewer.sees_all_senders() ? "report" : "own", viewer.test ? " test" : "");
}

/// All rows of a list, one page after the other, each in a transaction of its own, while the client takes
/// them and its key may read (API-9).
struct RowStream {
  ListSource source;
  std::function<bool()> may_go_on;
  std::function<std::string(const std::string& place)> seal;
  http::InflightKeys::Guard only_one;  ///< of the key
  std::optional<std::string> place;
  std::int64_t rows = 0;
  bool has_begun = false;
  bool has_ended = false;

  std::string next() {
    std::string text;
    while (text.empty() && !has_ended) {
      // The body then ends without its last chunk.
      if (has_begun && !may_go_on()) throw std::runtime_error("the key of this stream may not read on");
      has_begun = true;
      const ListedRows page = source(place, kMaxPageRows);
      for (const Json& row : page.rows) text += http::json_text(row) + "\n";
      rows += static_cast<std::int64_t>(page.rows.size());
      place = page.next;
      if (place && rows < kMaxStreamedRows) continue;
      has_ended = true;
      text += http::json_text(
                  {{"end", true}, {"rows", rows}, {"next", place ? Json(seal(*place)) : Json(nullptr)}}) +
              "\n";
      only_one.reset();
    }
    return text;
  }
};

http::HttpResponse data_response(Json data) {
  return http::json_response(200, http::json_text({{"data", std::move(data)}}));
}

/// 400 for an address that has no parameters.
std::optional<http::HttpResponse> refused_parameters(const http::HttpRequest& request) {
  const ListParameters query = parse_list_parameters(request.query, {});
  return query.issues.empty() ? std::nullopt : std::optional(refused_query(query.issues));
}

/// In one moment what people did, then the mail, then the statuses that follow from both (CON-42).
struct HistoryLine {
  UtcMillis at;
  int step = 0;
  Json json;
};

Json change_line(const store::StatusChange& change) {
  Json json{{"at", to_rfc3339(change.occurred_at)},
            {"type", "status"},
            {"status", to_word(change.status)},
            {"source", change.source},
            {"received_at", to_rfc3339(change.received_at)},
            {"voided", nullptr}};
  if (change.voiding)
    json["voided"] = {{"at", to_rfc3339(change.voiding->at)},
                      {"by", change.voiding->by},
                      {"reason", change.voiding->reason}};
  return json;
}

/// `shows_replies`: also what relays replied, which may say more than the sender of the gift should read.
Json history_json(store::Store& store, const store::Gift& gift, bool shows_replies) {
  constexpr int kAction = 1;
  constexpr int kMail = 2;
  constexpr int kStatus = 3;
  const TransactionId id = gift.transaction.id;
  std::vector<HistoryLine> lines;
  const UtcMillis sent_at = gift.transaction.times[Status::sent].value_or(gift.request.created_at);
  lines.push_back(
      {sent_at,
       0,
       {{"at", to_rfc3339(sent_at)},
        {"type", "status"},
        {"status", to_word(Status::sent)},
        {"source", gift.transaction.gift_source.empty() ? "giftsync" : gift.transaction.gift_source},
        {"received_at", to_rfc3339(gift.request.created_at)},
        {"voided", nullptr}}});
  for (const store::GiftAction& action : store.lifecycle.find_actions(id)) {
    const std::string word(to_word(action.kind));
    // What a former mail ended with is the relay's reply.
    const bool is_reply = action.actor == "mailer";
    lines.push_back({action.at,
                     is_reply ? kMail : kAction,
                     {{"at", to_rfc3339(action.at)},
                      {"type", "action"},
                      {"action", word},
                      {"actor", text_json(action.actor)},
                      {"comment", is_reply && !shows_replies ? Json(nullptr) : text_json(action.comment)}}});
  }
  if (const auto mail = store.deliveries.find(id))
    lines.push_back({mail->updated_at,
                     kMail,
                     {{"at", to_rfc3339(mail->updated_at)},
                      {"type", "mail"},
                      {"state", to_word(mail->state)},
                      {"mail", mail->number},
                      {"attempts", mail->attempts()},
                      {"reply", shows_replies ? text_json(mail->last_reply) : Json(nullptr)}}});
  for (const store::StatusChange& change : store.changes.history(id))
    lines.push_back({change.occurred_at, kStatus, change_line(change)});
  std::stable_sort(lines.begin(), lines.end(), [](const HistoryLine& one, const HistoryLine& other) {
    return std::pair(one.at, one.step) < std::pair(other.at, other.step);
  });
  Json json = Json::array();
  for (HistoryLine& line : lines) json.push_back(std::move(line.json));
  return json;
}

Json amount_json(const std::optional<Money>& amount) {
  return amount ? Json(to_decimal(*amount)) : Json(nullptr);
}

/// `is_used_up`: its list of codes has none left.
Json item_json(const store::GiftItem& item, bool is_used_up, const std::string& currency) {
  Json json{{"gift_id", item.id.value},
            {"name", item.name},
            {"description", text_json(item.description)},
            {"item_cost", amount_json(item.costs.item)},
            {"shipping_cost", amount_json(item.costs.shipping)},
            {"carbon_neutral_cost", amount_json(item.costs.carbon_neutral)},
            {"transaction_fee", amount_json(item.costs.transaction_fee)},
            {"total_price", amount_json(item.costs.total())},
            {"picture", text_json(item.picture)},
            {"available", !is_used_up}};
  exports::add_currency(json, currency);
  return json;
}

bool is_used_up(const std::vector<store::GiftCodeCounts>& counts, GiftId item) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [&](const store::GiftCodeCounts& one) { return one.gift == item; });
  return found != counts.end() && found->left == 0;
}

}  // namespace

store::Viewer viewer_of(const store::ApiKeyOwner& caller) {
  const bool reports = caller.key.scopes.contains(Scope::report);
  return {{},
          caller.account.id,
          caller.account.organization,
          {reports ? Role::operations : Role::sender},
          is_test_key(caller.key.prefix)};
}

http::HttpResponse unknown_gift_transaction() {
  return http::problem("unknown_gift",
                       "There is no such gift, or it is not among those that this key reads.");
}

std::optional<store::ConsoleGift> find_seen_gift(store::Store& store, const store::ApiKeyOwner& caller,
                                                 std::string_view id_text) {
  const auto id = parse_gift_request_id(id_text);  // ids of both kinds are written alike
  return id ? store.console_gifts.find(viewer_of(caller), TransactionId{id->value}) : std::nullopt;
}

std::string gift_tag(store::Store& store, const store::RecipientTransaction& gift) {
  const auto mail = store.deliveries.find(gift.id);
  return gift_tag(gift.id, gift.version, mail ? mail->number : 0);
}

http::HttpResponse GiftReadHandler::list(const http::HttpRequest& request, const store::ApiKeyOwner& caller,
                                         std::string_view of, ListParameters query, const ListSource& source,
                                         const std::optional<Json>& feed_cursor) {
  const std::string sealed_for =
      fmt::format("{}\n{}\n{}", of, describe(viewer_of(caller)), query.filter_text);
  std::optional<std::string> place;
  if (!query.cursor.empty() && !(place = cursors_.open(sealed_for, query.cursor)))
    query.issues.push_back({"cursor", "invalid",
                            "cursor is not one of this list with this filter and for this account. Ask "
                            "without cursor for the first page."});
  const bool streams = accepts_ndjson(request);
  if (streams && query.limit)
    query.issues.push_back({"limit", "invalid", "limit is of pages: NDJSON has all rows of the filter."});
  if (!query.issues.empty()) return refused_query(query.issues);
  if (streams) return stream(request, caller, sealed_for, std::move(place), source);
  ListedRows page = source(place, query.limit.value_or(kDefaultPageRows));
  Json json{{"data", std::move(page.rows)}, {"next", nullptr}};
  if (feed_cursor && !place) json["feed_cursor"] = *feed_cursor;
  if (!page.next) return http::json_response(200, http::json_text(json));
  const std::string cursor = cursors_.seal(sealed_for, *page.next);
  json["next"] = cursor;
  return http::with_header(
      http::json_response(200, http::json_text(json)), "Link",
      fmt::format("<{}>; rel=\"next\"", next_page_url(options_.base_url, request, cursor)));
}

Json GiftReadHandler::feed_cursor() {
  if (!options_.has_feed) return nullptr;
  const store::FeedState state = store_.feed.state();
  return state.epoch == 0 ? Json(nullptr) : Json(to_text(FeedCursor{state.epoch, state.latest}));
}

/// `next` goes on at once, `feed_cursor` at any time: both are places in the feed.
http::HttpResponse GiftReadHandler::list_changed(const http::HttpRequest& request,
                                                 const store::ApiKeyOwner& caller, ListParameters query) {
  const std::string sealed_for =
      fmt::format("changed gifts\n{}\n{}", describe(viewer_of(caller)), query.filter_text);
  std::optional<FeedCursor> after = query.updated_after;
  if (!query.cursor.empty()) {
    const auto place = cursors_.open(sealed_for, query.cursor);
    after = place ? feed_cursor_from(*place) : std::nullopt;
    if (!after)
      query.issues.push_back({"cursor", "invalid",
                              "cursor is not one of this list with this filter and for this account. Ask "
                              "without cursor for the first page."});
  }
  if (accepts_ndjson(request))
    query.issues.push_back({"updated_since", "invalid", "updated_since is read in pages, not as NDJSON."});
  if (!query.issues.empty()) return refused_query(query.issues);
  if (!options_.has_feed) return feed_off();
  const store::FeedState state = store_.feed.state();
  const auto begin =
      feed_place(store_.feed, state, after, query.updated_since, options_.feed_keep_days, options_.clock());
  if (!begin) return cursor_expired();
  const store::ChangedGifts changed =
      store_.feed.list_changed(feed_filter_of(caller), *begin, query.limit.value_or(kDefaultPageRows));
  // Events may have been deleted since the place was found.
  if (!store_.feed.state().is_place(state.epoch, *begin)) return cursor_expired();
  store::ConsoleGiftFilter filter = query.filter;
  const std::vector<TransactionId> wanted = std::move(filter.ids);
  filter.ids = {TransactionId{0}};  // of no gift
  for (const TransactionId id : changed.gifts)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), id) != wanted.end())
      filter.ids.push_back(id);
  std::map<TransactionId, Json> rows;
  for (const store::ConsoleGift& one :
       store_.console_gifts.list(viewer_of(caller), filter, {}, query.limit.value_or(kDefaultPageRows)).gifts)
    rows.emplace(one.gift.transaction.id, gift_json(one.gift, options_.currency));
  Json data = Json::array();
  for (const TransactionId id : changed.gifts)
    if (const auto row = rows.find(id); row != rows.end()) data.push_back(std::move(row->second));
  const std::string place = to_text(FeedCursor{state.epoch, changed.last});
  Json json{{"data", std::move(data)}, {"next", nullptr}, {"feed_cursor", place}};
  if (!changed.has_more) return http::json_response(200, http::json_text(json));
  const std::string cursor = cursors_.seal(sealed_for, place);
  json["next"] = cursor;
  return http::with_header(
      http::json_response(200, http::json_text(json)), "Link",
      fmt::format("<{}>; rel=\"next\"", next_page_url(options_.base_url, request, cursor)));
}

http::HttpResponse GiftReadHandler::stream(const http::HttpRequest& request, const store::ApiKeyOwner& caller,
                                           const std::string& sealed_for, std::optional<std::string> place,
                                           const ListSource& source) {
  http::InflightKeys::Guard only_one = streams_.try_acquire(caller.key.hash);
  if (!only_one)
    return http::with_retry_after(
        http::problem("stream_in_progress",
                      "A key reads one NDJSON stream at a time. Wait until the other one has ended, or use "
                      "another key."),
        kStreamRetrySeconds);
  const auto may_go_on = [this, hash = caller.key.hash, viewer = describe(viewer_of(caller))] {
    const auto owner = store_.credentials.find_key_by_hash(hash);
    return owner && sync::access_of(*owner, Scope::read, options_.clock()) == sync::ApiKeyAccess::allowed &&
           describe(viewer_of(*owner)) == viewer;
  };
  const auto rows = std::make_shared<RowStream>(RowStream{
      source, may_go_on, [this, sealed_for](const std::string& at) { return cursors_.seal(sealed_for, at); },
      std::move(only_one), std::move(place)});
  http::HttpResponse response = http::text_response(200, "application/x-ndjson", "");
  if (request.method != "HEAD") response.next_chunk = [rows] { return rows->next(); };
  return response;
}

http::Reply GiftReadHandler::list_gifts(const http::HttpRequest& request, std::string_view) {
  return authenticator_.handle_authenticated(
      request, Scope::read, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        ListParameters query = parse_list_parameters(request.query, gift_list_parameters());
        if (query.external_id && query.issues.empty()) {
          query.filter.ids = {TransactionId{0}};  // of no gift
          for (const auto& one : store_.external_ids.find(*query.external_id))
            query.filter.ids.push_back(one.transaction);
        }
        const bool is_by_sending = goes_by_sending(viewer_of(caller), query.filter);
        const auto source = [this, viewer = viewer_of(caller), filter = query.filter, is_by_sending](
                                const std::optional<std::string>& place, std::size_t limit) {
          ListedRows listed;
          if (is_by_sending) {
            const auto page =
                store_.console_gifts.list_by_sending(viewer, filter, sent_place_of(place), limit);
            for (const store::ConsoleGift& one : page.gifts)
              listed.rows.push_back(gift_json(one.gift, options_.currency));
            listed.next = sent_place_text(page.next);
            return listed;
          }
          const auto page = store_.console_gifts.list(viewer, filter, place_of<TransactionId>(place), limit);
          for (const store::ConsoleGift& one : page.gifts)
            listed.rows.push_back(gift_json(one.gift, options_.currency));
          listed.next = place_text(page.next_before);
          return listed;
        };
        if (query.issues.empty() && (query.updated_after || query.updated_since))
          return list_changed(request, caller, std::move(query));
        // Before the rows are read; pages behind the first one do not have it.
        std::optional<Json> cursor;
        if (query.cursor.empty() && query.issues.empty()) cursor = feed_cursor();
        return list(request, caller, is_by_sending ? "gifts by sending" : "gifts", std::move(query), source,
                    cursor);
      });
}

http::Reply GiftReadHandler::list_requests(const http::HttpRequest& request, std::string_view) {
  return authenticator_.handle_authenticated(
      request, Scope::read, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        ListParameters query = parse_list_parameters(request.query, request_list_parameters());
        const bool is_by_sending = goes_by_sending(viewer_of(caller), query.filter);
        const auto source = [this, viewer = viewer_of(caller), filter = query.filter, is_by_sending](
                                const std::optional<std::string>& place, std::size_t limit) {
          ListedRows listed;
          if (is_by_sending) {
            const auto page =
                store_.console_gifts.list_requests_by_sending(viewer, filter, sent_place_of(place), limit);
            for (const store::ListedRequest& one : page.requests)
              listed.rows.push_back(listed_request_json(one.request, one.gifts));
            listed.next = sent_place_text(page.next);
            return listed;
          }
          const auto page =
              store_.console_gifts.list_requests(viewer, filter, place_of<GiftRequestId>(place), limit);
          for (const store::ListedRequest& one : page.requests)
            listed.rows.push_back(listed_request_json(one.request, one.gifts));
          listed.next = place_text(page.next_before);
          return listed;
        };
        return list(request, caller, is_by_sending ? "gift_requests by sending" : "gift_requests",
                    std::move(query), source);
      });
}

http::HttpResponse GiftReadHandler::read_seen(
    const http::HttpRequest& request, const store::ApiKeyOwner& caller, std::string_view id,
    const std::function<http::HttpResponse(const store::Gift&)>& respond) {
  if (auto refused = refused_parameters(request)) return std::move(*refused);
  const auto found = find_seen_gift(store_, caller, id);
  return found ? respond(found->gift) : unknown_gift_transaction();
}

http::Reply GiftReadHandler::read_gift(const http::HttpRequest& request, std::string_view id) {
  return authenticator_.handle_authenticated(
      request, Scope::read, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        return read_seen(request, caller, id, [&](const store::Gift& gift) {
          return tagged(request, data_response(gift_json(gift, options_.currency)),
                        gift_tag(store_, gift.transaction));
        });
      });
}

http::Reply GiftReadHandler::read_history(const http::HttpRequest& request, std::string_view id) {
  return authenticator_.handle_authenticated(
      request, Scope::read, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        return read_seen(request, caller, id, [&](const store::Gift& gift) {
          return tagged_by_body(
              request, data_response(history_json(store_, gift, caller.key.scopes.contains(Scope::report))));
        });
      });
}

http::Reply GiftReadHandler::read_match(const http::HttpRequest& request, std::string_view id) {
  return authenticator_.handle_authenticated(
      request, Scope::report, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        return read_seen(request, caller, id, [&](const store::Gift& gift) {
          const auto states = store_.sync.find_states(std::span(&gift.transaction.id, 1));
          const auto state = states.empty() ? std::nullopt : std::optional(states.front());
          Json json = exports::match_json(state, store_.sync.find_wait(gift.transaction.id));
          if (state) json["record_id"] = text_json(state->crm_id);
          return tagged_by_body(request, data_response(std::move(json)));
        });
      });
}

http::Reply GiftReadHandler::list_items(const http::HttpRequest& request, std::string_view) {
  return authenticator_.handle_authenticated(
      request, Scope::read, [&](const store::ApiKeyOwner&) -> http::Reply {
        if (auto refused = refused_parameters(request)) return std::move(*refused);
        const auto counts = store_.codes.counts();
        Json rows = Json::array();
        for (const store::GiftItem& item : store_.catalogue.items())
          if (item.active) rows.push_back(item_json(item, is_used_up(counts, item.id), options_.currency));
        return data_response(std::move(rows));
      });
}

http::Reply GiftReadHandler::read_item(const http::HttpRequest& request, std::string_view id_text) {
  return authenticator_.handle_authenticated(
      request, Scope::read, [&](const store::ApiKeyOwner&) -> http::Reply {
        if (auto refused = refused_parameters(request)) return std::move(*refused);
        const auto id = parse_gift_request_id(id_text);
        const auto item = id ? store_.catalogue.item(GiftId{id->value}) : std::nullopt;
        if (!item || !item->active)
          return http::problem("unknown_item", "There is no such item that can be sent.");
        return tagged_by_body(
            request,
            data_response(item_json(*item, is_used_up(store_.codes.counts(), item->id), options_.currency)));
      });
}

}  // namespace giftsync::handlers
