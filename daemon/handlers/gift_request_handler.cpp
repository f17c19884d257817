#include "daemon/handlers/gift_request_handler.h"

#include "daemon/handlers/gift_request_responses.h"
#include "daemon/http/json_request.h"
#include "daemon/http/json_response.h"
#include "daemon/http/problem.h"
#include "daemon/http/written_reply.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "sync/send_gift.h"

namespace giftsync::daemon::handlers {
namespace {

constexpr std::int64_t kOverloadRetrySeconds = 1;

std::optional<schema::GiftRequestId> parse_request_id(std::string_view text) {
  const auto id = platform::parse_number<std::int64_t>(text);
  if (!id || *id < 1 || *id > schema::kMaxId || text.front() == '0') return std::nullopt;
  return schema::GiftRequestId{*id};
}

}  // namespace

GiftRequestHandler::GiftRequestHandler(schema::store::Store& store, sync::UrgentWriter& writer,
                                       http::Authenticator& authenticator, const sync::GiftLinks& links,
                                       GiftRequestHandlerOptions options, OnCreated on_created)
    : store_(store),
      writer_(writer),
      authenticator_(authenticator),
      links_(links),
      options_(std::move(options)),
      on_created_(std::move(on_created)),
      items_(options_.clock, [this](const schema::GiftId& id) { return store_.catalogue.item(id); }) {}

http::Reply GiftRequestHandler::send_by_email(const http::HttpRequest& request, std::string_view) {
  return create(request, schema::SendMode::email);
}

http::Reply GiftRequestHandler::create_urls(const http::HttpRequest& request, std::string_view) {
  return create(request, schema::SendMode::urls);
}

http::Reply GiftRequestHandler::create(const http::HttpRequest& request, schema::SendMode mode) {
  const auto handle = [&](const schema::store::ApiKeyOwner& caller) -> http::Reply {
    auto parsed = http::parse_json_request(
        request, options_.max_body_bytes, http::RepeatPolicy::by_idempotency_key,
        [&] { return parse_gift_request_body(request.body, mode, options_.limits); });
    if (!parsed) return std::move(parsed.error());
    return send(std::move(parsed->body), mode, caller.account, parsed->idempotency_key,
                {caller.key.prefix, request.request_id});
  };
  return authenticator_.handle_authenticated(request, schema::Scope::send, handle);
}

http::Reply GiftRequestHandler::send(GiftRequestBody body, schema::SendMode mode,
                                     const schema::store::Account& sender,
                                     const std::optional<std::string>& idempotency_key,
                                     GiftRequestOrigin origin) {
  std::optional<schema::store::IdempotencyKey> idempotency;
  if (idempotency_key) idempotency = {*idempotency_key, platform::sha256_hex(body.canonical)};
  // A replay returns the stored response, also when the item has left the catalogue since.
  const std::shared_ptr<const schema::store::GiftItem> item = items_.get(body.gift);
  if (!item || !item->active) {
    if (!idempotency) return http::unknown_gift(body.gift);
    const auto first = store_.gifts.find_idempotent(sender.id, mode, *idempotency);
    if (!first) return http::unknown_gift(body.gift);
    if (first->kind == schema::store::CreateOutcome::Kind::body_mismatch) return http::idempotency_mismatch();
    return created_response(*first, mode);
  }
  return create_idempotent(sync::new_gift_request({.sender = sender,
                                                   .item = *item,
                                                   .mode = mode,
                                                   .recipients = std::move(body.recipients),
                                                   .triggered_by = std::move(origin.triggered_by),
                                                   .credential_prefix = std::move(origin.credential_prefix),
                                                   .http_request_id = std::move(origin.http_request_id),
                                                   .utm_campaign_id = std::move(body.utm_campaign_id),
                                                   .warnings = warnings_json(body.warnings),
                                                   .idempotency = std::move(idempotency)},
                                                  options_.clock()));
}

http::Reply GiftRequestHandler::create_idempotent(schema::store::NewGiftRequest new_request) {
  const schema::SendMode mode = new_request.request.mode;
  http::InflightKeys::Guard guard;
  if (new_request.idempotency) {
    guard = inflight_keys_.try_acquire(std::to_string(new_request.request.account.value) + " " +
                                       std::string(to_word(mode)) + " " + new_request.idempotency->key);
    if (!guard) return http::idempotency_key_in_use();
  }
  GiftRequestOrigin origin{new_request.request.credential_prefix, new_request.request.http_request_id};
  return http::reply_when_written<schema::store::CreateOutcome>(
      writer_, std::move(new_request),
      [this, mode, origin = std::move(origin), guard = std::move(guard)](
          const schema::store::CreateOutcome& outcome) { return finish(outcome, mode, origin); },
      [] { return http::unavailable(kOverloadRetrySeconds); });
}

http::HttpResponse GiftRequestHandler::finish(const schema::store::CreateOutcome& outcome,
                                              schema::SendMode mode, const GiftRequestOrigin& origin) {
  switch (outcome.kind) {
    case schema::store::CreateOutcome::Kind::body_mismatch:
      return http::idempotency_mismatch();
    case schema::store::CreateOutcome::Kind::failed:
    case schema::store::CreateOutcome::Kind::unknown:
      throw platform::DependencyError(outcome.transient, outcome.error);
    case schema::store::CreateOutcome::Kind::created:
      on_created_(outcome, origin);
      break;
    case schema::store::CreateOutcome::Kind::replayed:
      break;
  }
  return created_response(outcome, mode);
}

http::HttpResponse GiftRequestHandler::created_response(const schema::store::CreateOutcome& outcome,
                                                        schema::SendMode mode) const {
  const bool by_email = mode == schema::SendMode::email;
  std::vector<RecipientResponse> recipients;
  recipients.reserve(outcome.recipients.size());
  for (const schema::store::RecipientTransaction& transaction : outcome.recipients) {
    recipients.push_back({transaction.id, transaction.email,
                          by_email ? "" : links_.url_for(sync::LinkKind::redeem, transaction),
                          by_email ? "" : links_.url_for(sync::LinkKind::donate, transaction)});
  }
  return http::json_response(by_email ? 201 : 200,
                             created_gift_request_json(mode, outcome.request, recipients, outcome.warnings));
}

http::Reply GiftRequestHandler::read(const http::HttpRequest& request, std::string_view id_text) {
  const auto handle = [&](const schema::store::ApiKeyOwner& caller) {
    const auto id = parse_request_id(id_text);
    const auto found = id ? store_.gifts.find_gift_request(*id) : std::nullopt;
    if (!found || found->account != caller.account.id) return http::unknown_gift_request();
    return http::json_response(200, gift_request_state_json(*found, store_.gifts.find_recipients(*id)));
  };
  return authenticator_.handle_authenticated(request, schema::Scope::read, handle);
}

}  // namespace giftsync::daemon::handlers
