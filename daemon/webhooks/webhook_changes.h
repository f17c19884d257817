// daemon/webhooks: what an admin does with an endpoint: create, change, rotate its secret, move, enable,
// disable and test it (HOOK-8 to HOOK-11, HOOK-13). Command line, API and console share these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/webhooks/webhook_post.h"
#include "schema/store/store.h"

namespace giftsync::webhooks {

/// The settings as a POST needs them; the entries are valid.
PostOptions post_options(const std::vector<std::string>& allowed_networks, const std::string& ca_file);

/// Why a change is refused.
struct WebhookFault {
  std::string field;    ///< "url"; empty: the endpoint as a whole
  std::string code;     ///< for programs: "url_not_allowed"
  std::string message;  ///< a sentence with the next step
};
template <class Value>
using Checked = tl::expected<Value, WebhookFault>;

/// Seals a text with the server secret.
using Seal = std::function<std::string(std::string_view text)>;

/// What an endpoint may subscribe to: "gift.*" and the like, then each type.
std::vector<std::string> webhook_type_words();
/// "gift.*,gift_request.held" of words, without repeats; all types for none.
Checked<std::string> checked_types(const std::vector<std::string>& words);
/// Reads the URL of an endpoint, and resolves its host.
Checked<std::string> checked_url(const std::string& url, const PostOptions& options);
Checked<std::string> checked_name(const std::string& name);

/// Whose events it gets: an account's address, an organization's name; empty: all.
std::string owner_of(store::Store& store, const store::WebhookEndpoint& endpoint);

struct CreatedWebhook {
  store::WebhookEndpoint endpoint;
  std::string secret;  ///< shown once
};
/// Inserts an endpoint whose name, URL and types are checked, and whose owner is set. It begins behind the
/// last event. Refused while the feed is off.
Checked<CreatedWebhook> create_webhook(store::Store& store, store::WebhookEndpoint endpoint, const Seal& seal,
                                       const store::AuditEvent& audit, UtcMillis now);
/// Name, URL and types, which are checked.
Checked<void> update_webhook(store::Store& store, const store::WebhookEndpoint& endpoint,
                             const store::AuditEvent& audit);

inline constexpr std::int64_t kDefaultGraceMillis = kDayMillis;
inline constexpr std::int64_t kMaxGraceMillis = 7 * kDayMillis;
/// The new secret; the present one also signs for `grace_millis`. Refused while a former one still signs,
/// unless `is_forced`, which ends that one.
Checked<std::string> rotate_webhook_secret(store::Store& store, store::WebhookEndpoint endpoint,
                                           std::int64_t grace_millis, bool is_forced, const Seal& seal,
                                           const store::AuditEvent& audit, UtcMillis now);

/// How far an endpoint is behind the feed. Events of all types and accounts count.
struct WebhookBacklog {
  std::int64_t waiting = 0;  ///< events behind its position that the feed has
  std::int64_t lost = 0;     ///< events behind its position that the feed does not have any more
};
WebhookBacklog backlog_of(const store::FeedState& feed, const store::WebhookEndpoint& endpoint);

/// Posts go on, at the position or behind what was recorded before `from` (HOOK-8).
WebhookBacklog enable_webhook(store::Store& store, store::WebhookEndpoint endpoint,
                              std::optional<UtcMillis> from, const store::AuditEvent& audit, UtcMillis now);
void disable_webhook(store::Store& store, store::WebhookEndpoint endpoint, const std::string& reason,
                     const store::AuditEvent& audit, UtcMillis now);
/// Events that were recorded since then are posted again (HOOK-9). The position never moves forward.
WebhookBacklog replay_webhook(store::Store& store, store::WebhookEndpoint endpoint, UtcMillis since,
                              const store::AuditEvent& audit);

/// Posts one endpoint.test at once, and logs the attempt; nothing when the secret cannot be opened (HOOK-9).
/// A success ends the wait of an endpoint that is failing.
std::optional<Posted> test_webhook(store::Store& store, const store::WebhookEndpoint& endpoint,
                                   const PostOptions& options, const Unseal& unseal, UtcMillis now);

}  // namespace giftsync::webhooks
