#include "daemon/handlers/webhook_endpoint_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <vector>

#include "daemon/handlers/call_parameters.h"
#include "daemon/handlers/held_request_handler.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "platform/json.h"
#include "platform/text.h"
#include "platform/url_parameters.h"
#include "sync/access/credential.h"

namespace giftsync::handlers {
namespace {

using store::WebhookEndpoint;

constexpr std::size_t kPageSize = 100;
constexpr std::size_t kMaxText = 200;
/// A test holds its thread while the receiver hangs, and the CRM's calls need the others.
constexpr int kTestsAtOnce = 2;
constexpr std::int64_t kTestRetrySeconds = 15;

http::HttpResponse unknown_endpoint() {
  return http::problem("unknown_webhook_endpoint", "The key's account has no such webhook endpoint.");
}

/// A fault of a field is 400; one of the endpoint as a whole, or a name that is taken, is 409.
http::HttpResponse refused(const webhooks::WebhookFault& fault) {
  if (fault.code == "endpoint_exists") return http::problem("endpoint_exists", fault.message);
  if (fault.code == "rotation_in_progress") return http::problem("rotation_in_progress", fault.message);
  if (fault.code == "too_many_endpoints") return http::problem("too_many_endpoints", fault.message);
  if (fault.code == "feed_disabled") return http::problem("feed_off", fault.message);
  return http::invalid_request({{fault.code == "url_not_allowed" ? "url" : fault.field,
                                 http::FieldCode::of_finding(fault.code), fault.message}},
                               http::CallKind::changes);
}

Json optional_text(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json time_json(const std::optional<UtcMillis>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}

Json types_json(std::string_view types) {
  Json words = Json::array();
  while (!types.empty()) {
    const std::string_view one = types.substr(0, types.find(','));
    words.push_back(one);
    types.remove_prefix(std::min(one.size() + 1, types.size()));
  }
  return words;
}

Json endpoint_json(store::Store& store, const store::FeedState& feed, const WebhookEndpoint& endpoint) {
  const webhooks::WebhookBacklog backlog = webhooks::backlog_of(feed, endpoint);
  const store::WebhookRetryCounts retries = store.webhooks.count_retries(endpoint.id);
  const bool is_failing = endpoint.state == WebhookState::failing;
  return {{"id", endpoint.id},
          {"name", endpoint.name},
          {"url", endpoint.url},
          {"types", types_json(endpoint.types)},
          {"state", to_word(endpoint.state)},
          {"state_since", to_rfc3339(endpoint.state_since)},
          {"reason", optional_text(endpoint.reason)},
          {"next_attempt_at", time_json(is_failing ? std::optional(endpoint.next_attempt_at) : std::nullopt)},
          {"waiting_events", backlog.waiting},
          {"lost_events", backlog.lost},
          {"retries", retries.waiting},
          {"given_up", retries.given_up},
          {"previous_secret_until", time_json(endpoint.previous_until)},
          {"created_at", to_rfc3339(endpoint.created_at)}};
}

Json attempt_json(const store::WebhookAttempt& attempt) {
  return {{"number", attempt.number},
          {"event", attempt.seq},
          {"attempt", attempt.attempt},
          {"started_at", to_rfc3339(attempt.started_at)},
          {"millis", attempt.millis},
          {"status", attempt.status},
          {"error", optional_text(attempt.error)},
          {"response", attempt.response},
          {"failed", attempt.failed}};
}

/// The members of all bodies; each path takes some of them.
struct Body {
  std::optional<std::string> name;
  std::optional<std::string> url;
  std::optional<std::vector<std::string>> types;
  std::optional<UtcMillis> time;  ///< since or from
  std::optional<std::int64_t> number;
  bool force = false;
  std::string reason;
};

using Fields = http::JsonObjectReader;
using Root = http::JsonObjectReader::LocatedObject;

void read_types(Fields& fields, const Root& root, Body& body) {
  const JsonValue* const types = Fields::optional_member(root, "types");
  if (types == nullptr) return;
  if (!types->is_array()) return fields.add_wrong_type("types", "types", "a list of texts", *types);
  body.types.emplace();
  for (const JsonValue& one : types->elements()) {
    if (const auto text = one.text())
      body.types->emplace_back(*text);
    else
      fields.add_wrong_type("types", "types", "a list of texts", one);
  }
}

void read_time(Fields& fields, const Root& root, std::string_view name, bool is_required, Body& body) {
  if (is_required && fields.required_member(root, name) == nullptr) return;
  const std::string text = fields.read_optional_line(root, name, kMaxText);
  if (text.empty()) return;
  body.time = from_rfc3339(text);
  if (!body.time)
    fields.add_error(
        std::string(name), "invalid",
        fmt::format("{} must be a time as 2027-01-31T18:00:00Z; found {}.", name, http::quoted(text)));
}

void read_number(Fields& fields, const Root& root, std::string_view name, std::int64_t most, Body& body) {
  const JsonValue* const value = Fields::optional_member(root, name);
  if (value == nullptr) return;
  body.number = value->integer();
  if (!body.number) return fields.add_wrong_type(std::string(name), name, "a whole number", *value);
  if (*body.number < 0 || *body.number > most)
    fields.add_error(std::string(name), "invalid",
                     fmt::format("{} must be from 0 to {}; found {}.", name, most, *body.number));
}

void read_force(Fields& fields, const Root& root, Body& body) {
  const JsonValue* const value = Fields::optional_member(root, "force");
  if (value == nullptr) return;
  if (!value->boolean()) return fields.add_wrong_type("force", "force", "true or false", *value);
  body.force = *value->boolean();
}

/// An empty body is an object without members.
template <class Read>
tl::expected<Body, http::HttpResponse> read_body(const http::HttpRequest& request,
                                                 std::initializer_list<std::string_view> known,
                                                 const Read& read) {
  auto body = http::read_json_body(trimmed(request.body).empty() ? std::string_view("{}") : request.body,
                                   [&](Fields& fields, const Root& root) {
                                     Body parsed;
                                     refuse_unknown_members(fields, root, known);
                                     read(fields, root, parsed);
                                     return parsed;
                                   });
  if (!body) return tl::unexpected(http::refused_body(body.error(), http::CallKind::changes));
  return std::move(*body);
}

void read_settings(Fields& fields, const Root& root, bool is_new, Body& body) {
  for (const auto& [name, value] : {std::pair{"name", &body.name}, std::pair{"url", &body.url}}) {
    const JsonValue* const member =
        is_new ? fields.required_member(root, name) : Fields::optional_member(root, name);
    if (member == nullptr) continue;
    if (const auto text = fields.read_string(*member, root, name)) *value = std::string(*text);
  }
  read_types(fields, root, body);
}

/// Checks what the body has and sets it; nothing: it is done.
std::optional<http::HttpResponse> apply(const Body& body, const webhooks::PostOptions& post,
                                        WebhookEndpoint& endpoint) {
  if (body.name) {
    const auto name = webhooks::checked_name(*body.name);
    if (!name) return refused(name.error());
    endpoint.name = *name;
  }
  if (body.types) {
    const auto types = webhooks::checked_types(*body.types);
    if (!types) return refused(types.error());
    endpoint.types = *types;
  }
  if (body.url) {
    const auto url = webhooks::checked_url(*body.url, post);
    if (!url) return refused(url.error());
    endpoint.url = *url;
  }
  return std::nullopt;
}

/// Whose events it gets: those of the key's account, of test gifts for a test key.
bool is_seen(const store::ApiKeyOwner& caller, const WebhookEndpoint& endpoint) {
  return endpoint.account == caller.account.id && endpoint.is_test == is_test_key(caller.key.prefix);
}

http::HttpResponse backlog_response(const webhooks::WebhookBacklog& backlog) {
  return http::json_response(
      200, http::json_text({{"data", {{"waiting_events", backlog.waiting}, {"lost_events", backlog.lost}}}}));
}

}  // namespace

store::AuditEvent WebhookEndpointHandler::event_of(const Call& call, const std::string& verb) {
  store::AuditEvent event = event_of_key(call.caller, call.request, call.now);
  event.action = "webhook." + verb;
  event.object_kind = "webhook";
  event.object_id = call.endpoint.name;
  event.organization = call.caller.account.organization;
  // Where events go, as the commands have it.
  if (verb == "create" || verb == "update") event.detail = "--url " + call.endpoint.url;
  return event;
}

http::HttpResponse WebhookEndpointHandler::shown(std::int64_t id, int status, const std::string& secret) {
  const auto endpoint = store_.webhooks.find(id);
  if (!endpoint) return unknown_endpoint();
  Json data = endpoint_json(store_, store_.feed.state(), *endpoint);
  if (!secret.empty()) data["secret"] = secret;
  return http::json_response(status, http::json_text({{"data", std::move(data)}}));
}

http::Reply WebhookEndpointHandler::list(const http::HttpRequest& request, std::string_view) {
  return authenticator_.handle_authenticated(
      request, Scope::webhooks, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        if (auto refusal = refused_call(request, false)) return std::move(*refusal);
        const store::FeedState feed = store_.feed.state();
        Json rows = Json::array();
        for (const WebhookEndpoint& endpoint : store_.webhooks.list())
          if (is_seen(caller, endpoint)) rows.push_back(endpoint_json(store_, feed, endpoint));
        return http::json_response(200, http::json_text({{"data", std::move(rows)}}));
      });
}

http::Reply WebhookEndpointHandler::create(const http::HttpRequest& request, std::string_view) {
  return authenticator_.handle_authenticated(
      request, Scope::webhooks, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        if (auto refusal = refused_call(request, true)) return std::move(*refusal);
        auto body =
            read_body(request, {"name", "url", "types"}, [](Fields& fields, const Root& root, Body& parsed) {
              read_settings(fields, root, true, parsed);
            });
        if (!body) return std::move(body.error());
        Call call{request, caller, {}, options_.clock()};
        call.endpoint.account = caller.account.id;
        call.endpoint.is_test = is_test_key(caller.key.prefix);
        call.endpoint.created_by = caller.account.email;
        if (auto refusal = apply(*body, options_.post, call.endpoint)) return std::move(*refusal);
        const auto created = webhooks::create_webhook(store_, call.endpoint, options_.seal,
                                                      event_of(call, "create"), call.now);
        if (!created) return refused(created.error());
        return shown(created->endpoint.id, 201, created->secret);
      });
}

http::Reply WebhookEndpointHandler::with_endpoint(const http::HttpRequest& request, std::string_view id_text,
                                                  bool has_body, const Respond& respond,
                                                  std::initializer_list<std::string_view> parameters) {
  return authenticator_.handle_authenticated(
      request, Scope::webhooks, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        if (auto refusal = refused_call(request, has_body, parameters)) return std::move(*refusal);
        const auto id = parse_number<std::int64_t>(id_text);
        auto endpoint = id ? store_.webhooks.find(*id) : std::nullopt;
        if (!endpoint || !is_seen(caller, *endpoint)) return unknown_endpoint();
        Call call{request, caller, std::move(*endpoint), options_.clock()};
        return respond(call);
      });
}

http::HttpResponse WebhookEndpointHandler::update(Call& call) {
  const auto body = read_body(
      call.request, {"name", "url", "types"},
      [](Fields& fields, const Root& root, Body& parsed) { read_settings(fields, root, false, parsed); });
  if (!body) return body.error();
  if (auto refusal = apply(*body, options_.post, call.endpoint)) return std::move(*refusal);
  const auto updated = webhooks::update_webhook(store_, call.endpoint, event_of(call, "update"));
  return updated ? shown(call.endpoint.id) : refused(updated.error());
}

http::Reply WebhookEndpointHandler::handle_one(const http::HttpRequest& request, std::string_view id) {
  if (request.method == "GET" || request.method == "HEAD")
    return with_endpoint(request, id, false, [this](Call& call) { return shown(call.endpoint.id); });
  if (request.method == "PATCH")
    return with_endpoint(request, id, true, [this](Call& call) { return update(call); });
  if (request.method == "DELETE")
    return with_endpoint(request, id, false, [this](Call& call) {
      store_.webhooks.remove(call.endpoint.id, event_of(call, "delete"));
      return http::json_response(200, http::json_text({{"message", "Deleted."}}));
    });
  const std::vector<std::string_view> allowed{"GET", "HEAD", "PATCH", "DELETE"};
  return http::method_not_allowed(allowed);
}

http::Reply WebhookEndpointHandler::rotate_secret(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(request, id, true, [this](Call& call) -> http::HttpResponse {
    const auto body = read_body(
        call.request, {"grace_seconds", "force"}, [](Fields& fields, const Root& root, Body& parsed) {
          read_number(fields, root, "grace_seconds", webhooks::kMaxGraceMillis / kSecondMillis, parsed);
          read_force(fields, root, parsed);
        });
    if (!body) return body.error();
    const std::int64_t grace = body->number ? *body->number * kSecondMillis : webhooks::kDefaultGraceMillis;
    const auto secret = webhooks::rotate_webhook_secret(store_, call.endpoint, grace, body->force,
                                                        options_.seal, event_of(call, "rotate"), call.now);
    return secret ? shown(call.endpoint.id, 200, *secret) : refused(secret.error());
  });
}

http::Reply WebhookEndpointHandler::test(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(request, id, true, [this](Call& call) -> http::HttpResponse {
    if (const auto body = read_body(call.request, {}, [](Fields&, const Root&, Body&) {}); !body)
      return body.error();
    const std::shared_ptr<void> turn(&tests_, [this](void*) { --tests_; });
    if (++tests_ > kTestsAtOnce)
      return http::with_retry_after(
          http::problem("rate_limited", "Tests of other webhooks are under way. Nothing was posted."),
          kTestRetrySeconds);
    const auto posted =
        webhooks::test_webhook(store_, call.endpoint, options_.post, options_.unseal, call.now);
    if (!posted)
      return http::problem("secret_unreadable",
                           "The secret was sealed with another server secret; rotate it with force.");
    const bool is_taken = sync::outcome_of(posted->response) == sync::WebhookOutcome::accepted;
    return http::json_response(200, http::json_text({{"data",
                                                      {{"taken", is_taken},
                                                       {"status", posted->response.status},
                                                       {"millis", posted->millis},
                                                       {"error", optional_text(posted->error)},
                                                       {"response", posted->body}}}}));
  });
}

http::Reply WebhookEndpointHandler::replay(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(request, id, true, [this](Call& call) -> http::HttpResponse {
    const auto body = read_body(call.request, {"since"}, [](Fields& fields, const Root& root, Body& parsed) {
      read_time(fields, root, "since", true, parsed);
    });
    if (!body) return body.error();
    return backlog_response(webhooks::replay_webhook(store_, call.endpoint, body->time.value_or(call.now),
                                                     event_of(call, "replay")));
  });
}

http::Reply WebhookEndpointHandler::retry(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(request, id, true, [this](Call& call) -> http::HttpResponse {
    const auto body = read_body(call.request, {"event"}, [](Fields& fields, const Root& root, Body& parsed) {
      read_number(fields, root, "event", kMaxId, parsed);
    });
    if (!body) return body.error();
    const std::int64_t count =
        store_.webhooks.retry_now(call.endpoint.id, body->number, call.now, event_of(call, "retry"));
    return http::json_response(200, http::json_text({{"data", {{"events", count}}}}));
  });
}

http::Reply WebhookEndpointHandler::enable(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(request, id, true, [this](Call& call) -> http::HttpResponse {
    const auto body = read_body(call.request, {"from"}, [](Fields& fields, const Root& root, Body& parsed) {
      read_time(fields, root, "from", false, parsed);
    });
    if (!body) return body.error();
    return backlog_response(
        webhooks::enable_webhook(store_, call.endpoint, body->time, event_of(call, "enable"), call.now));
  });
}

http::Reply WebhookEndpointHandler::disable(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(request, id, true, [this](Call& call) -> http::HttpResponse {
    const auto body = read_body(call.request, {"reason"}, [](Fields& fields, const Root& root, Body& parsed) {
      parsed.reason = fields.read_optional_line(root, "reason", kMaxText);
    });
    if (!body) return body.error();
    const std::string reason = body->reason.empty() ? "by " + call.caller.account.email : body->reason;
    store::AuditEvent event = event_of(call, "disable");
    event.detail = reason;
    webhooks::disable_webhook(store_, call.endpoint, reason, event, call.now);
    return shown(call.endpoint.id);
  });
}

http::Reply WebhookEndpointHandler::list_attempts(const http::HttpRequest& request, std::string_view id) {
  return with_endpoint(
      request, id, false,
      [this](Call& call) -> http::HttpResponse {
        const auto parameters = first_url_parameters(call.request.query);
        const auto value = [&](const char* name) {
          const auto found = parameters.find(name);
          return found == parameters.end() ? std::string() : found->second;
        };
        const std::string failed = value("is_failed");
        if (!failed.empty() && failed != "true" && failed != "false")
          return refused_query(
              {{"is_failed", "unsupported_value",
                fmt::format("is_failed must be true or false; found {}.", http::quoted(failed))}});
        const std::string before = value("before");
        const auto below = before.empty() ? std::optional(std::numeric_limits<std::int64_t>::max())
                                          : parse_number<std::int64_t>(before);
        if (!below)
          return refused_query(
              {{"before", "invalid",
                fmt::format("before must be \"next\" of the page before; found {}.", http::quoted(before))}});
        const auto found =
            store_.webhooks.list_attempts(call.endpoint.id, failed == "true", *below, kPageSize);
        Json rows = Json::array();
        for (const store::WebhookAttempt& attempt : found) rows.push_back(attempt_json(attempt));
        const Json next = found.size() == kPageSize ? Json(found.back().number) : Json(nullptr);
        return http::json_response(200, http::json_text({{"data", std::move(rows)}, {"next", next}}));
      },
      {"is_failed", "before"});
}

}  // namespace giftsync::handlers
