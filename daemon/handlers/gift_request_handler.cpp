#include "daemon/handlers/gift_request_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "daemon/http/reply.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "sync/access/credential.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::handlers {
namespace {

constexpr std::int64_t kOverloadRetrySeconds = 1;

std::optional<GiftRequestId> parse_request_id(std::string_view text) {
  const auto id = parse_number<std::int64_t>(text);
  if (!id || *id < 1 || *id > kMaxId || text.front() == '0') return std::nullopt;
  return GiftRequestId{*id};
}

}  // namespace

GiftRequestHandler::GiftRequestHandler(store::Store& store, sync::UrgentWriter& writer,
                                       http::Authenticator& authenticator, const sync::GiftLinks& links,
                                       GiftRequestHandlerOptions options, OnCreated on_created)
    : store_(store),
      writer_(writer),
      authenticator_(authenticator),
      links_(links),
      options_(std::move(options)),
      on_created_(std::move(on_created)),
      items_(options_.clock, [this](const GiftId& id) { return store_.catalogue.item(id); }) {}

http::Reply GiftRequestHandler::send_by_email(const http::HttpRequest& request, std::string_view) {
  return create(request, SendMode::email);
}

http::Reply GiftRequestHandler::create_urls(const http::HttpRequest& request, std::string_view) {
  return create(request, SendMode::urls);
}

http::Reply GiftRequestHandler::create(const http::HttpRequest& request, SendMode mode) {
  const auto handle = [&](const store::ApiKeyOwner& caller) -> http::Reply {
    auto parsed = http::parse_json_request(
        request, options_.max_body_bytes, http::RepeatPolicy::by_idempotency_key,
        [&] { return parse_gift_request_body(request.body, mode, options_.limits); });
    if (!parsed) return std::move(parsed.error());
    return send(std::move(parsed->body), mode, caller.account, parsed->idempotency_key,
                {caller.key.prefix, request.request_id});
  };
  return authenticator_.handle_authenticated(request, Scope::send, handle);
}

http::Reply GiftRequestHandler::send(GiftRequestBody body, SendMode mode, const store::Account& sender,
                                     const std::optional<std::string>& idempotency_key,
                                     GiftRequestOrigin origin) {
  std::optional<store::IdempotencyKey> idempotency;
  if (idempotency_key) idempotency = {*idempotency_key, sha256_hex(body.canonical)};
  // A replay returns the stored response, also when the item has left the catalogue since.
  const std::shared_ptr<const store::GiftItem> item = items_.get(body.gift);
  if (!item || !item->active) {
    if (!idempotency) return http::unknown_gift(body.gift);
    const auto first = store_.gifts.find_idempotent(sender.id, mode, *idempotency);
    if (!first) return http::unknown_gift(body.gift);
    if (first->kind == store::CreateOutcome::Kind::body_mismatch) return http::idempotency_mismatch();
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

http::Reply GiftRequestHandler::create_idempotent(store::NewGiftRequest new_request) {
  const SendMode mode = new_request.request.mode;
  http::InflightKeys::Guard guard;
  if (new_request.idempotency) {
    guard = inflight_keys_.try_acquire(std::to_string(new_request.request.account.value) + " " +
                                       std::string(to_word(mode)) + " " + new_request.idempotency->key);
    if (!guard) return http::idempotency_key_in_use();
  }
  GiftRequestOrigin origin{new_request.request.credential_prefix, new_request.request.http_request_id};
  return http::reply_when_written<store::CreateOutcome>(
      writer_, std::move(new_request),
      [this, mode, origin = std::move(origin), guard = std::move(guard)](
          const store::CreateOutcome& outcome) { return finish(outcome, mode, origin); },
      [] { return http::unavailable(kOverloadRetrySeconds); });
}

http::HttpResponse GiftRequestHandler::finish(const store::CreateOutcome& outcome, SendMode mode,
                                              const GiftRequestOrigin& origin) {
  switch (outcome.kind) {
    case store::CreateOutcome::Kind::body_mismatch:
      return http::idempotency_mismatch();
    case store::CreateOutcome::Kind::failed:
    case store::CreateOutcome::Kind::unknown:
      throw DependencyError(outcome.transient, outcome.error);
    case store::CreateOutcome::Kind::created:
      on_created_(outcome, origin);
      break;
    case store::CreateOutcome::Kind::replayed:
      break;
  }
  return created_response(outcome, mode);
}

http::HttpResponse GiftRequestHandler::created_response(const store::CreateOutcome& outcome,
                                                        SendMode mode) const {
  const bool by_email = mode == SendMode::email;
  std::vector<RecipientResponse> recipients;
  recipients.reserve(outcome.recipients.size());
  for (const store::RecipientTransaction& transaction : outcome.recipients) {
    recipients.push_back({transaction.id, transaction.email,
                          by_email ? "" : links_.url_for(sync::LinkKind::redeem, transaction),
                          by_email ? "" : links_.url_for(sync::LinkKind::donate, transaction)});
  }
  return http::json_response(by_email ? 201 : 200,
                             created_gift_request_json(mode, outcome.request, recipients, outcome.warnings));
}

http::Reply GiftRequestHandler::read(const http::HttpRequest& request, std::string_view id_text) {
  const auto handle = [&](const store::ApiKeyOwner& caller) {
    const auto id = parse_request_id(id_text);
    const auto found = id ? store_.gifts.find_gift_request(*id) : std::nullopt;
    if (!found || found->account != caller.account.id) return http::unknown_gift_request();
    return http::json_response(200, gift_request_state_json(*found, store_.gifts.find_recipients(*id)));
  };
  return authenticator_.handle_authenticated(request, Scope::read, handle);
}

namespace {

constexpr std::string_view kTokenHeader = "Organization-Token";
/// Prefix of an Idempotency-Key of this endpoint. No key of endpoint A has it, since keys are ASCII.
constexpr std::string_view kIdempotencyScope = "·crm·";

/// What the response leaves out about accounts of others. Ids only: the rest is in the store.
std::string reason_for_the_log(const sync::SenderInfo& sender, UtcMillis now) {
  std::vector<std::string_view> words;
  for (const sync::MissingPrecondition& missing_precondition : sync::missing_preconditions(sender, now))
    words.push_back(to_word(missing_precondition.precondition));
  return fmt::format("the sender lacks {} ({}, {})", fmt::join(words, ", "),
                     sender.user ? "CRM user " + sender.user->id : "no CRM user",
                     sender.account ? fmt::format("account {}", sender.account->id.value) : "no account");
}

}  // namespace

http::Reply CrmGiftRequestHandler::handle(const http::HttpRequest& request, std::string_view) {
  // Two such headers count as none, because they may contradict each other.
  const std::string token = request.header(kTokenHeader).value_or("");
  http::Reply reply = handle_with_token(request, token);
  const auto text = trimmed(token);
  if (!sync::is_credential(CredentialKind::organization_token, text)) return reply;
  return std::move(reply).changed([prefix = sync::public_prefix(text)](const http::Reply::Finish& finish) {
    http::HttpResponse response = finish();
    response.caller = prefix;
    return response;
  });
}

http::Reply CrmGiftRequestHandler::handle_with_token(const http::HttpRequest& request,
                                                     const std::string& token) {
  const UtcMillis now = options_.clock();
  sync::SenderInfo sender;
  sender.token = sync::token_status(store_.credentials, token, now);
  if (sender.token.state != sync::TokenStatus::State::active)
    return http::refused_crm_sender(sync::missing_preconditions(sender, now));
  return rate_limiter_.handle_limited(sender.token.organization.value, [&] {
    return handle_for_sender(request, token, std::move(sender), now);
  });
}

http::Reply CrmGiftRequestHandler::handle_for_sender(const http::HttpRequest& request,
                                                     const std::string& token, sync::SenderInfo sender,
                                                     UtcMillis now) {
  auto parsed =
      http::parse_json_request(request, options_.max_body_bytes, http::RepeatPolicy::by_idempotency_key,
                               [&] { return parse_crm_gift_request_body(request.body, options_.limits); });
  if (!parsed) return std::move(parsed.error());
  auto& [body, idempotency_key] = *parsed;

  sender.name = {body.user_id, body.email};
  sender = sync::find_senders(store_.accounts, directory_, sender.token, std::span(&sender.name, 1)).front();
  sender.crm_has_users = crm_has_users_;
  if (const auto missing = sync::missing_for_organization(sender, now); !missing.empty()) {
    http::HttpResponse refusal = http::refused_crm_sender(missing);
    refusal.reason = reason_for_the_log(sender, now);
    return refusal;
  }
  if (idempotency_key) idempotency_key->insert(0, kIdempotencyScope);
  return gift_request_handler_.send(
      std::move(body.gift), SendMode::email, *sender.account, idempotency_key,
      {sync::public_prefix(trimmed(token)), request.request_id, sender.user ? sender.user->id : ""});
}

}  // namespace giftsync::handlers
