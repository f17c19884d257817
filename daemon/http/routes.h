// daemon/http: all paths that the daemon serves, in one table (routes.cpp): listener, methods, handler and
// name in the log. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "daemon/http/http_handler.h"

namespace giftsync::http {

/// The handlers, one per kind of route. Called by any thread; may throw DependencyError.
struct Handlers {
  /// `path_parameter`: the part of the path in place of the pattern's {name}; empty where there is none.
  using Handler = std::function<Reply(const HttpRequest&, std::string_view path_parameter)>;
  Handler send_by_email;
  Handler read_gift_request;
  Handler read_balance;
  Handler list_events = {};
  Handler page;
  Handler create_urls;
  Handler send_from_crm;
  Handler metadata;
  Handler status_changes;
  Handler create_record;
  Handler read_record;
  Handler approve_record;
  Handler reject_record;
  Handler outbound_message;
  // What the call without /validate would do (VALID-1).
  Handler validate_by_email = {};
  Handler validate_urls = {};
  Handler validate_from_crm = {};
  Handler validate_record = {};
  // Held gift requests (GUARD-27).
  Handler list_held = {};
  Handler read_held = {};
  Handler approve_held = {};
  Handler reject_held = {};
  // What keys read, and do with a gift (API-1 to API-9).
  Handler list_gift_requests = {};
  Handler list_gifts = {};
  Handler read_gift = {};
  Handler read_gift_history = {};
  Handler read_gift_match = {};
  Handler cancel_gift = {};
  Handler resend_gift = {};
  Handler extend_gift = {};
  // Where events are posted (HOOK-13).
  Handler list_webhooks = {};
  Handler create_webhook = {};
  Handler handle_webhook = {};
  Handler rotate_webhook_secret = {};
  Handler test_webhook = {};
  Handler replay_webhook = {};
  Handler retry_webhook = {};
  Handler enable_webhook = {};
  Handler disable_webhook = {};
  Handler list_webhook_attempts = {};
  Handler list_items = {};
  Handler read_item = {};
  Handler console = {};
  Handler sign_in_reply = {};  ///< null: people sign in by link alone
  /// False when the header shows already that `status_changes` refuses the message; null: never. Pure.
  std::function<bool(const HttpRequest& head, std::string_view source)> may_be_status_changes = {};
  /// The response of `page` while the store does not respond; without it that of all others.
  std::function<HttpResponse(const HttpRequest&, std::int64_t retry_after_seconds)> page_unavailable = {};
  /// The same for `console`.
  std::function<HttpResponse(const HttpRequest&, std::int64_t retry_after_seconds)> console_unavailable = {};
  /// Set by the router itself.
  Handler healthy = {};
  Handler ready = {};
};

/// base_url and admin_url may have different listeners (HTTP-12).
enum class ListenerRole { both, base, admin };
enum class Methods { post, reads, reads_and_post, handler_checks };
/// What a request's header must have before its body is read, how large the body may be, and whose threads
/// handle it (HTTP-48, HTTP-49).
struct RouteInput {
  /// `message_token`: it is the path parameter.
  enum class Credential { none, api_key, organization_token, message_token, source };

  Credential credential;
  HandlerKind kind;
  std::size_t max_body_bytes;
};
/// For pages and verdicts, which have short forms.
inline constexpr std::size_t kMaxSmallBodyBytes = 16 * 1024;
/// For a SAML provider's response (SIGN-9): 256 KiB of base64, percent-encoded in part.
inline constexpr std::size_t kMaxSignInBodyBytes = 384 * 1024;
/// For a decision on a request record, whose form brings back the content that its page showed (CON-29): a
/// message has up to 131,072 characters.
inline constexpr std::size_t kMaxDecisionBodyBytes = 512 * 1024;
/// For outbound messages (MSG-5).
inline constexpr std::size_t kMaxMessageBodyBytes = 256 * 1024;

struct Route {
  /// A path. {name} matches one segment, {name...} the whole rest.
  std::string_view pattern;
  /// With {name} in place of the caller's own text: a gift's link in the log would let its readers open the
  /// gift.
  std::string_view log_name;
  ListenerRole listener;
  Methods methods;
  RouteGroup group;
  RouteInput input;
  /// Null: 404, but only on this listener; the other one names it.
  Handlers::Handler Handlers::*handler;
  /// Of a path that is read and posted to: for GET and HEAD.
  Handlers::Handler Handlers::*reader = nullptr;
};

inline constexpr std::string_view kNoSuchPath = "(no such path)";

struct RouteMatch {
  const Route* route = nullptr;     ///< null: no listener serves such a path
  std::string_view path_parameter;  ///< part of the path
};
/// The first matching route of the table.
RouteMatch find_route(std::string_view path);

// The patterns of tables of routes. Pure.

/// The part of the path in place of {name}, which is one segment, or of {name...}, which is the rest; empty
/// for a pattern without braces. nullopt when the path does not match.
std::optional<std::string_view> match_pattern(std::string_view pattern, std::string_view path);

}  // namespace giftsync::http
