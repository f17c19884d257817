#include "daemon/handlers/gift_action_handler.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/handlers/call_parameters.h"
#include "daemon/handlers/gift_read_handler.h"
#include "daemon/handlers/gift_request_json.h"
#include "daemon/handlers/held_request_handler.h"
#include "daemon/handlers/request_record_handler.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::handlers {
namespace {

using Kind = sync::ActionResult::Kind;

constexpr std::int64_t kSendingRetrySeconds = 60;
constexpr std::size_t kMaxEmail = 254;
constexpr std::size_t kMaxTime = 64;

http::HttpResponse not_applicable(const std::string& reason) {
  return http::problem("not_applicable", "Nothing was done: " + reason + ".");
}

http::HttpResponse gift_changed() {
  return http::problem("gift_changed",
                       "The gift is not as the ETag in If-Match says: it was mailed again, or has changed. "
                       "Nothing was mailed; read it again.");
}

http::HttpResponse precondition_required() {
  return http::problem("precondition_required",
                       "Send the gift's ETag of GET /api/v1/gifts/ID in If-Match, so that a repeated call "
                       "mails nothing twice. Nothing was mailed.");
}

/// The version that the caller has seen, or the refusal.
tl::expected<sync::GiftVersion, http::HttpResponse> seen_version(const http::HttpRequest& request,
                                                                 const sync::GiftVersion& present,
                                                                 TransactionId id) {
  const auto tags = versions_of(request);  // nothing for "*" too, which a repeated call would match
  if (!tags) return tl::unexpected(precondition_required());
  if (std::find(tags->begin(), tags->end(), gift_tag(id, present.version, present.mails)) == tags->end())
    return tl::unexpected(gift_changed());
  return present;
}

/// No body, or an object without members.
tl::expected<bool, http::BodyError> parse_cancel_body(std::string_view body) {
  if (trimmed(body).empty()) return true;
  return http::read_json_body(
      body, [](http::JsonObjectReader& fields, const http::JsonObjectReader::LocatedObject& root) {
        refuse_unknown_members(fields, root, {});
        return true;
      });
}

}  // namespace

tl::expected<std::optional<std::string>, http::BodyError> parse_resend_body(std::string_view body) {
  if (trimmed(body).empty()) return std::optional<std::string>();
  return http::read_json_body(body, [](http::JsonObjectReader& fields,
                                       const http::JsonObjectReader::LocatedObject& root) {
    refuse_unknown_members(fields, root, {"email"});
    const std::string email = fields.read_optional_line(root, "email", kMaxEmail);
    if (email.empty()) return std::optional<std::string>();
    if (const auto reason = email_error(email))
      fields.add_error("email", "invalid_email", fmt::format("email {} {}.", http::quoted(email), *reason));
    return std::optional(email);
  });
}

tl::expected<UtcMillis, http::BodyError> parse_extend_body(std::string_view body) {
  return http::read_json_body(
      body, [](http::JsonObjectReader& fields, const http::JsonObjectReader::LocatedObject& root) {
        refuse_unknown_members(fields, root, {"until"});
        if (fields.required_member(root, "until") == nullptr) return UtcMillis{};
        const std::string text = fields.read_optional_line(root, "until", kMaxTime);
        const auto until = from_rfc3339(text);
        if (!until)
          fields.add_error(
              "until", "invalid",
              fmt::format("until must be a time as 2027-01-31T18:00:00Z; found {}.", http::quoted(text)));
        return until.value_or(UtcMillis{});
      });
}

http::Reply GiftActionHandler::act(const http::HttpRequest& request, std::string_view id,
                                   const std::string& action,
                                   const std::function<http::HttpResponse(const Call&)>& respond) {
  return authenticator_.handle_authenticated(
      request, Scope::manage, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        if (auto refusal = refused_call(request, true)) return std::move(*refusal);
        const auto found = find_seen_gift(store_, caller, id);
        if (!found) return unknown_gift_transaction();
        const UtcMillis now = options_.clock();
        Call call{request, caller, found->gift, now, event_of_key(caller, request, now)};
        call.audit.action = action;
        call.audit.object_kind = "gift";
        call.audit.object_id = std::to_string(found->gift.transaction.id.value);
        call.audit.organization = found->gift.request.organization;
        return respond(call);
      });
}

http::HttpResponse GiftActionHandler::answer(const Call& call, const sync::ActionResult& result,
                                             const std::string& done, const std::string& already) {
  if (result.kind != Kind::done && result.kind != Kind::already) {
    store::AuditEvent refused = call.audit;
    refused.refused = true;
    refused.rule = "API-6";
    refused.detail = result.reason;
    store_.audit.add(refused);
    if (result.kind == Kind::outdated) return gift_changed();
    if (result.kind == Kind::try_later)
      return http::with_retry_after(not_applicable(result.reason + "; try again in a minute"),
                                    kSendingRetrySeconds);
    return not_applicable(result.reason);
  }
  sync::ReachedCounts reached{};
  const store::Gift gift = sync::save_fold(store_, call.gift.transaction.id, reached).value_or(call.gift);
  options_.on_reached(reached);
  // After it is saved: a sync worker that folds the same version meanwhile would put its record off.
  if (result.kind == Kind::done) options_.on_changed();
  return http::with_header(
      http::json_response(200, http::json_text({{"message", result.kind == Kind::done ? done : already},
                                                {"data", gift_json(gift, options_.currency)}})),
      "ETag", '"' + gift_tag(store_, gift.transaction) + '"');
}

http::Reply GiftActionHandler::cancel(const http::HttpRequest& request, std::string_view id) {
  return act(request, id, "gift.cancel", [&](const Call& call) -> http::HttpResponse {
    if (const auto body = parse_cancel_body(request.body); !body)
      return http::refused_body(body.error(), http::CallKind::changes);
    sync::ActionResult result = sync::cancel(store_.changes, store_.lifecycle, call.gift.transaction.id,
                                             call.caller.account.email, call.now, call.audit);
    // A refunded gift counts as cancelled (OPS-29).
    if (result.kind == Kind::refused && result.state.status == Status::refunded) result.kind = Kind::already;
    return answer(call, result, "Cancelled.", "Already refunded.");
  });
}

http::Reply GiftActionHandler::extend(const http::HttpRequest& request, std::string_view id) {
  return act(request, id, "gift.extend", [&](const Call& call) {
    const auto until = parse_extend_body(request.body);
    if (!until) return http::refused_body(until.error(), http::CallKind::changes);
    const sync::ActionResult result = sync::extend(
        store_, {call.gift.transaction.id, *until, call.caller.account.email, call.audit}, call.now);
    return answer(call, result, "Extended.", "Already extended.");
  });
}

http::Reply GiftActionHandler::resend(const http::HttpRequest& request, std::string_view id) {
  return act(request, id, "gift.resend", [&](const Call& call) -> http::HttpResponse {
    if (call.caller.key.paused_at)
      return http::key_paused(CredentialKind::api_key, *call.caller.key.paused_at);
    auto email = parse_resend_body(request.body);
    if (!email) return http::refused_body(email.error(), http::CallKind::changes);
    const TransactionId gift = call.gift.transaction.id;
    const auto mail = store_.deliveries.find(gift);
    const auto seen = seen_version(request, {call.gift.transaction.version, mail ? mail->number : 0}, gift);
    if (!seen) return seen.error();
    sync::ResendAction action{gift, std::move(*email), call.caller.account.email, call.audit};
    action.allowed_domains = options_.allowed_domains;
    action.seen = *seen;
    const sync::ActionResult result = sync::resend(store_, action, call.now);
    std::string message = "It will be mailed again.";
    if (result.kind == Kind::done && result.is_readdressed && !rematch(call))
      message += " It was not matched by its new address yet: an administrator matches it again.";
    return answer(call, result, message, message);
  });
}

bool GiftActionHandler::rematch(const Call& call) {
  if (options_.crm == nullptr) return true;
  matching::RematchRules rules = options_.rematch;
  rules.by = fmt::format("{} with the key {}", call.caller.account.email, call.caller.key.prefix);
  try {
    options_.crm->require_spare_calls();
    const auto result = matching::rematch_readdressed(store_, *options_.crm, std::move(rules),
                                                      call.gift.transaction.id, call.now);
    using Result = matching::RematchResult::Kind;
    return !result || (result->kind != Result::failed && result->kind != Result::not_found);
  } catch (const DependencyError&) {
    return false;
  }
}

}  // namespace giftsync::handlers
