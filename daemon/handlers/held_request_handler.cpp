#include "daemon/handlers/held_request_handler.h"

#include <fmt/format.h>

#include "daemon/handlers/call_parameters.h"
#include "daemon/handlers/gift_request_json.h"
#include "daemon/handlers/request_record_handler.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "daemon/http/routes.h"
#include "platform/ip_address.h"
#include "platform/json.h"
#include "platform/url_parameters.h"

namespace giftsync::handlers {
namespace {

constexpr std::size_t kPageSize = 100;

http::HttpResponse unknown_held_request() {
  return http::problem("unknown_held_request", "There is no such held request.");
}

Json held_json(const store::HeldGiftRequest& held) {
  return {{"id", held.id.value},
          {"state", to_word(held.state)},
          {"held_at", to_rfc3339(held.held_at)},
          {"expires_at", to_rfc3339(held.expires_at)},
          {"decided_at", time_json(held.decided_at)},
          {"decided_by", held.decided_by.empty() ? Json(nullptr) : Json(held.decided_by)},
          {"credential", held.credential_prefix},
          {"delivery", to_word(held.mode)},
          {"gift_id", held.gift.value},
          {"gifts", held.gifts},
          {"amount", held.amount ? Json(to_decimal(*held.amount)) : Json(nullptr)},
          {"reasons", reasons_json(store::reasons_of(held))}};
}

Json review_json(const sync::HeldReview& review) {
  Json json = held_json(review.held);
  json["amount"] = review.amount ? Json(to_decimal(*review.amount)) : Json(nullptr);
  json["account"] = review.account ? Json(review.account->email) : Json(nullptr);
  json["item"] = review.item ? Json(review.item->name) : Json(nullptr);
  json["utm_campaign_id"] = review.utm_campaign_id ? Json(*review.utm_campaign_id) : Json(nullptr);
  json["reference"] = text_json(review.reference);
  json["comment"] = review.held.comment;
  json["faults"] = reasons_json(review.faults);
  json["notes"] = reasons_json(review.notes);
  json["recipients"] = Json::array();
  for (const store::NewRecipient& to : review.recipients)
    json["recipients"].push_back({{"email", to.email},
                                  {"first_name", to.first_name},
                                  {"last_name", to.last_name},
                                  {"message", to.message},
                                  {"reference", text_json(to.reference)}});
  return json;
}

http::HttpResponse faulty(const sync::HeldOutcome& outcome) {
  http::FieldIssues errors;
  for (const store::HoldReason& fault : outcome.faults)
    errors.push_back({fault.field, http::FieldCode::of_finding(fault.code), fault.message});
  return http::problem({"sending_refused", "The held request cannot be sent"},
                       outcome.reason + " It still waits; no approval overrides this.", errors);
}

}  // namespace

store::AuditEvent event_of_key(const store::ApiKeyOwner& caller, const http::HttpRequest& request,
                               UtcMillis now) {
  store::AuditEvent event;
  event.occurred_at = now;
  event.actor = caller.account.email;
  event.session = caller.key.prefix;
  event.request_id = request.request_id;
  event.network = rate_limit_prefix(request.client);
  return event;
}

http::Reply HeldRequestHandler::list(const http::HttpRequest& request, std::string_view) {
  return authenticator_.handle_authenticated(
      request, Scope::approve, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        const auto parameters = first_url_parameters(request.query);
        const auto value = [&](const char* name) {
          const auto found = parameters.find(name);
          return found == parameters.end() ? std::string() : found->second;
        };
        const std::string state = value("state");
        store::HeldFilter filter{held_state_from_word(state.empty() ? "held" : state), value("credential"),
                                 caller.account.organization};
        filter.test = is_test_key(caller.key.prefix);
        if (!filter.state)
          return refused_query({{"state", "unsupported_value",
                                 fmt::format("state must be held, sent, rejected or expired; found {}.",
                                             http::quoted(state))}});
        const std::string after = value("after");
        const auto from =
            after.empty() ? GiftRequestId{} : parse_gift_request_id(after).value_or(GiftRequestId{-1});
        if (from.value < 0)
          return refused_query(
              {{"after", "invalid", fmt::format("after must be an id; found {}.", http::quoted(after))}});
        const auto found = store_.held.list(filter, from, kPageSize);
        Json rows = Json::array();
        for (const store::HeldGiftRequest& held : found) rows.push_back(held_json(held));
        const Json next = found.size() == kPageSize ? Json(found.back().id.value) : Json(nullptr);
        return http::json_response(200, http::json_text({{"data", std::move(rows)}, {"next", next}}));
      });
}

std::optional<sync::HeldReview> HeldRequestHandler::review(const store::ApiKeyOwner& caller,
                                                           std::string_view id_text) {
  const auto id = parse_gift_request_id(id_text);
  auto found = id ? sync::review_held(store_, options_.allowed_domains, *id, options_.clock()) : std::nullopt;
  const bool is_seen = found && found->held.organization == caller.account.organization &&
                       is_test_key(found->held.credential_prefix) == is_test_key(caller.key.prefix);
  if (!is_seen) found.reset();
  return found;
}

http::Reply HeldRequestHandler::read(const http::HttpRequest& request, std::string_view id) {
  return authenticator_.handle_authenticated(
      request, Scope::approve, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        const auto found = review(caller, id);
        if (!found) return unknown_held_request();
        return http::with_header(http::json_response(200, http::json_text({{"data", review_json(*found)}})),
                                 "ETag", '"' + found->version + '"');
      });
}

http::Reply HeldRequestHandler::approve(const http::HttpRequest& request, std::string_view id) {
  return decide(request, id, true);
}

http::Reply HeldRequestHandler::reject(const http::HttpRequest& request, std::string_view id) {
  return decide(request, id, false);
}

http::Reply HeldRequestHandler::decide(const http::HttpRequest& request, std::string_view id, bool approves) {
  const auto handle = [&](const store::ApiKeyOwner& caller) -> http::Reply {
    auto parsed = http::parse_json_request(request, http::kMaxSmallBodyBytes, http::CallKind::changes,
                                           [&] { return parse_approval_decision_body(request.body); });
    if (!parsed) return std::move(parsed.error());
    const auto found = review(caller, id);
    if (!found) return unknown_held_request();
    const UtcMillis now = options_.clock();
    const store::AuditEvent event = event_of_key(caller, request, now);
    if (approves && !options_.allow_self_approval && found->held.account == caller.account.id) {
      store_.audit.add(sync::refused_decision(event, *found, approves, "GUARD-27",
                                              "the request of the key's own account"));
      return http::problem("own_request",
                           "Requesters cannot approve their own request (requests.allow_self_approval in the "
                           "settings is false). Ask another approver.");
    }
    sync::HeldDecisionAsked asked{caller.account.email, parsed->body.comment,
                                  versions_of(request).value_or(std::vector<std::string>())};
    asked.audit = event;
    const sync::HeldOutcome outcome = approves ? sync::approve_held(store_, *found, asked, now)
                                               : sync::reject_held(store_, *found, asked, now);
    switch (outcome.kind) {
      case sync::HeldOutcome::Kind::illegal:
        return http::problem("illegal_move", outcome.reason);
      case sync::HeldOutcome::Kind::changed:
        return http::problem("content_changed", outcome.reason);
      case sync::HeldOutcome::Kind::faulty:
        return faulty(outcome);
      case sync::HeldOutcome::Kind::done:
        break;
    }
    if (approves && options_.on_approved) options_.on_approved(*found, outcome);
    return http::json_response(
        200, http::json_text({{"message", approves ? "Approved." : "Rejected."},
                              {"data", {{"id", found->held.id.value}, {"state", to_word(outcome.state)}}}}));
  };
  return authenticator_.handle_authenticated(request, Scope::approve, handle);
}

}  // namespace giftsync::handlers
