#include "daemon/handlers/crm_gift_request_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/handlers/gift_request_body.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "platform/text.h"
#include "sync/api_key.h"
#include "sync/sender_lookup.h"
#include "sync/token_status.h"

namespace giftsync::daemon::handlers {
namespace {

constexpr std::string_view kTokenHeader = "Organization-Token";
/// Prefix of an Idempotency-Key of this endpoint. No key of endpoint A has it, since keys are ASCII.
constexpr std::string_view kIdempotencyScope = "·crm·";

/// What the response leaves out about accounts of others. Ids only: the rest is in the store.
std::string reason_for_the_log(const sync::SenderInfo& sender, platform::UtcMillis now) {
  std::vector<std::string_view> words;
  for (const sync::MissingPrecondition& one : sync::missing_preconditions(sender, now))
    words.push_back(to_word(one.precondition));
  return fmt::format("the sender lacks {} ({}, {})", fmt::join(words, ", "),
                     sender.user ? "CRM user " + sender.user->id : "no CRM user",
                     sender.account ? fmt::format("account {}", sender.account->id.value) : "no account");
}

}  // namespace

http::Reply CrmGiftRequestHandler::handle(const http::HttpRequest& request, std::string_view) {
  // Two such headers count as none, because they may contradict each other.
  const std::string token = request.header(kTokenHeader).value_or("");
  http::Reply reply = handle_with_token(request, token);
  const auto text = platform::trimmed(token);
  if (!sync::is_organization_token(text)) return reply;
  return std::move(reply).changed([prefix = sync::public_prefix(text)](const http::Reply::Finish& finish) {
    http::HttpResponse response = finish();
    response.caller = prefix;
    return response;
  });
}

http::Reply CrmGiftRequestHandler::handle_with_token(const http::HttpRequest& request,
                                                     const std::string& token) {
  const platform::UtcMillis now = options_.clock();
  sync::SenderInfo sender;
  sender.token = sync::token_status(store_.organizations, token, now);
  if (sender.token.state != sync::TokenStatus::State::active)
    return http::refused_crm_sender(sync::missing_preconditions(sender, now));
  return rate_limiter_.handle_limited(sender.token.organization.value, [&] {
    return handle_for_sender(request, token, std::move(sender), now);
  });
}

http::Reply CrmGiftRequestHandler::handle_for_sender(const http::HttpRequest& request,
                                                     const std::string& token, sync::SenderInfo sender,
                                                     platform::UtcMillis now) {
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
  return gift_request_handler_.send(std::move(body.gift), schema::SendMode::email, *sender.account,
                                    idempotency_key,
                                    {sync::public_prefix(platform::trimmed(token)), request.request_id,
                                     sender.user ? sender.user->id : ""});
}

}  // namespace giftsync::daemon::handlers
