#include "daemon/http/crm_send_door.h"

#include "daemon/crypto/api_key.h"
#include "daemon/http/gift_request_body.h"
#include "daemon/http/json_call.h"
#include "daemon/http/problem.h"
#include "daemon/organization_token.h"
#include "schema/text.h"
#include "sync/sender_facts.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kTokenHeader = "Organization-Token";
/// Before an Idempotency-Key of this endpoint: no key of endpoint A can begin so, since keys are ASCII.
constexpr std::string_view kKeyScope = "·crm·";

}  // namespace

HttpResponse CrmSendDoor::answer(const HttpRequest& request) {
  // Two such headers are none: nobody could say which one counts.
  const std::string token = request.header(kTokenHeader).value_or("");
  HttpResponse response = answer_with(request, token);
  if (const auto text = schema::trimmed(token); is_organization_token(text))
    response.caller = public_prefix(text);
  return response;
}

HttpResponse CrmSendDoor::answer_with(const HttpRequest& request, const std::string& token) {
  const schema::UtcMillis now = clock_();
  sync::SenderFacts facts;
  facts.token = token_standing(store_.organizations, token, now);
  if (facts.token.state != sync::TokenStanding::State::active)
    return refused_crm_sender(missing_preconditions(facts, now));
  const RequestRate::Count count = rate_.count(facts.token.organization.value);
  if (count.is_over) return rate_limited(*count.rate);
  HttpResponse response = answer_for(request, std::move(facts), now);
  if (count.rate) add_rate_limit(response, *count.rate);
  return response;
}

HttpResponse CrmSendDoor::answer_for(const HttpRequest& request, sync::SenderFacts facts,
                                     schema::UtcMillis now) {
  auto call = read_json_call(request, options_.max_body_bytes, Repeats::by_key,
                             [&] { return read_crm_gift_request_body(request.body, options_.limits); });
  if (auto* refusal = std::get_if<HttpResponse>(&call)) return std::move(*refusal);
  auto& [body, key] = std::get<JsonCall<CrmGiftRequestBody>>(call);

  facts.name = {body.user_id, body.email};
  facts = sync::sender_facts(store_.accounts, crm_, facts.token, std::span(&facts.name, 1)).front();
  facts.crm_has_users = crm_has_users_;
  if (const auto missing = missing_preconditions(facts, now); !missing.empty())
    return refused_crm_sender(missing);
  if (key) key->insert(0, kKeyScope);
  return api_.send(std::move(body.gift), schema::SendMode::email, *facts.account, key,
                   facts.user ? facts.user->id : "");
}

}  // namespace giftsync::daemon
