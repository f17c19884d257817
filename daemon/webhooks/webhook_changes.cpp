#include "daemon/webhooks/webhook_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/digest.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::webhooks {
namespace {

using store::WebhookEndpoint;

constexpr std::size_t kMaxNameCodePoints = 60;

tl::unexpected<WebhookFault> refused(std::string field, std::string code, std::string message) {
  return tl::make_unexpected(WebhookFault{std::move(field), std::move(code), std::move(message)});
}

/// Sets the place behind which the events begin that were recorded then.
void move_to(store::Store& store, const store::FeedState& feed, WebhookEndpoint& endpoint, UtcMillis time) {
  endpoint.epoch = feed.epoch;
  endpoint.position = std::max(store.feed.place_of(time), feed.first - 1);
}

}  // namespace

PostOptions post_options(const std::vector<std::string>& allowed_networks, const std::string& ca_file) {
  PostOptions options;
  for (const std::string& text : allowed_networks)
    if (const auto network = parse_ip_network(text)) options.allowed_networks.push_back(*network);
  options.ca_file = ca_file;
  return options;
}

std::vector<std::string> webhook_type_words() {
  std::vector<std::string> words{"gift.*", "gift_request.*", "request_record.*"};
  for (std::size_t i = 0; i < kFeedEventTypes; ++i)
    words.emplace_back(to_word(static_cast<FeedEventType>(i)));
  return words;
}

Checked<std::string> checked_types(const std::vector<std::string>& words) {
  std::vector<std::string> types;
  for (const std::string& word : words) {
    if (feed_event_types_of(word).empty())
      return refused("types", "unsupported_value",
                     fmt::format("There is no event type {}; allowed: {}.", in_quotes(word),
                                 fmt::join(webhook_type_words(), ", ")));
    if (std::find(types.begin(), types.end(), word) == types.end()) types.push_back(word);
  }
  return fmt::format("{}", fmt::join(types, ","));
}

Checked<std::string> checked_url(const std::string& url, const PostOptions& options) {
  if (auto refusal = url_refusal(url, options.allowed_networks))
    return refused("url", "url_not_allowed", fmt::format("The URL is not allowed: {}.", *refusal));
  return url;
}

Checked<std::string> checked_name(const std::string& name) {
  const bool is_name = !name.empty() && is_storable_text(name) && is_plain_line(name) &&
                       trimmed(name).size() == name.size() && count_code_points(name) <= kMaxNameCodePoints;
  if (is_name) return name;
  return refused("name", "invalid",
                 fmt::format("The name must be one line of 1 to {} characters without blanks at its ends; "
                             "found {}.",
                             kMaxNameCodePoints, in_quotes(name)));
}

std::string owner_of(store::Store& store, const WebhookEndpoint& endpoint) {
  if (endpoint.account) {
    const auto account = store.accounts.find(*endpoint.account);
    return account ? account->email : std::to_string(endpoint.account->value);
  }
  if (!endpoint.organization) return {};
  for (const auto& organization : store.organizations.list())
    if (organization.id == *endpoint.organization) return organization.name;
  return std::to_string(endpoint.organization->value);
}

Checked<CreatedWebhook> create_webhook(store::Store& store, WebhookEndpoint endpoint, const Seal& seal,
                                       const store::AuditEvent& audit, UtcMillis now) {
  const store::FeedState feed = store.feed.state();
  if (!feed.is_on)
    return refused("", "feed_disabled",
                   "There are no events to post while feed.enabled is false: set it to true and reload.");
  std::string secret = sync::new_webhook_secret();
  endpoint.secret = seal(secret);
  endpoint.epoch = feed.epoch;
  endpoint.position = feed.latest;
  endpoint.state_since = now;
  endpoint.next_attempt_at = now;
  endpoint.created_at = now;
  switch (store.webhooks.insert(endpoint, audit)) {
    case store::WebhookEndpoints::Inserted::name_exists:
      return refused(
          "name", "endpoint_exists",
          fmt::format("There is a webhook {} already; take another name.", in_quotes(endpoint.name)));
    case store::WebhookEndpoints::Inserted::too_many:
      return refused("", "too_many_endpoints",
                     fmt::format("There are {} webhooks for the events of this {}, the most there may be; "
                                 "delete one.",
                                 store::kMaxWebhookEndpoints,
                                 endpoint.account        ? "account"
                                 : endpoint.organization ? "organization"
                                                         : "installation"));
    case store::WebhookEndpoints::Inserted::too_many_in_all:
      return refused("", "too_many_endpoints",
                     fmt::format("There are {} webhooks of all accounts, the most there may be; an admin of "
                                 "the installation can delete some.",
                                 store::kMaxWebhookEndpointsInAll));
    case store::WebhookEndpoints::Inserted::done:
      break;
  }
  return CreatedWebhook{std::move(endpoint), std::move(secret)};
}

Checked<void> update_webhook(store::Store& store, const WebhookEndpoint& endpoint,
                             const store::AuditEvent& audit) {
  const auto other = store.webhooks.find(endpoint.name);
  if (other && other->id != endpoint.id)
    return refused(
        "name", "endpoint_exists",
        fmt::format("There is a webhook {} already; take another name.", in_quotes(endpoint.name)));
  store.webhooks.update(endpoint, audit);
  return {};
}

Checked<std::string> rotate_webhook_secret(store::Store& store, WebhookEndpoint endpoint,
                                           std::int64_t grace_millis, bool is_forced, const Seal& seal,
                                           const store::AuditEvent& audit, UtcMillis now) {
  if (endpoint.previous_until && now < *endpoint.previous_until && !is_forced)
    return refused("", "rotation_in_progress",
                   fmt::format("The former secret signs until {}; wait, or force the rotation, which ends it "
                               "now.",
                               to_rfc3339(*endpoint.previous_until)));
  std::string secret = sync::new_webhook_secret();
  endpoint.previous_secret = grace_millis > 0 ? endpoint.secret : std::string();
  endpoint.previous_until = grace_millis > 0 ? std::optional(now + grace_millis) : std::nullopt;
  endpoint.secret = seal(secret);
  if (store.webhooks.replace_secrets(endpoint, audit)) return secret;
  return refused("", "rotation_in_progress",
                 "The secret or the server secret was rotated at this moment, or the webhook was deleted; "
                 "look at it, then try again.");
}

WebhookBacklog backlog_of(const store::FeedState& feed, const WebhookEndpoint& endpoint) {
  const std::int64_t position = endpoint.epoch == feed.epoch ? endpoint.position : feed.first - 1;
  const std::int64_t oldest = feed.oldest - 1;
  return {std::max<std::int64_t>(feed.latest - std::max(position, oldest), 0),
          std::max<std::int64_t>(oldest - position, 0)};
}

WebhookBacklog enable_webhook(store::Store& store, WebhookEndpoint endpoint, std::optional<UtcMillis> from,
                              const store::AuditEvent& audit, UtcMillis now) {
  const store::FeedState feed = store.feed.state();
  if (from) move_to(store, feed, endpoint, *from);
  endpoint.state = WebhookState::active;
  endpoint.state_since = now;
  endpoint.reason.clear();
  endpoint.failures = 0;
  endpoint.next_attempt_at = now;
  store.webhooks.set_state(endpoint, audit);
  return backlog_of(feed, endpoint);
}

void disable_webhook(store::Store& store, WebhookEndpoint endpoint, const std::string& reason,
                     const store::AuditEvent& audit, UtcMillis now) {
  endpoint.state = WebhookState::disabled;
  endpoint.state_since = now;
  endpoint.reason = reason;
  store.webhooks.set_state(endpoint, audit);
}

WebhookBacklog replay_webhook(store::Store& store, WebhookEndpoint endpoint, UtcMillis since,
                              const store::AuditEvent& audit) {
  const store::FeedState feed = store.feed.state();
  const std::int64_t position = endpoint.position;
  const bool is_present = endpoint.epoch == feed.epoch;
  move_to(store, feed, endpoint, since);
  if (is_present) endpoint.position = std::min(endpoint.position, position);
  store.webhooks.move(endpoint, audit);
  return backlog_of(feed, endpoint);
}

std::optional<Posted> test_webhook(store::Store& store, const WebhookEndpoint& endpoint,
                                   const PostOptions& options, const Unseal& unseal, UtcMillis now) {
  constexpr std::size_t kIdBytes = 8;
  const std::vector<std::string> secrets = signing_secrets(endpoint, unseal, now);
  if (secrets.empty()) return std::nullopt;
  const std::string id = "evt_test_" + random_hex(kIdBytes);
  Posted posted = WebhookClient(endpoint.url, options).post(id, test_body(id, now), secrets, now);
  const bool is_accepted = sync::outcome_of(posted.response) == sync::WebhookOutcome::accepted;
  store.webhooks.add_attempt({endpoint.id, 0, 0, 1, posted.started_at, posted.millis, posted.response.status,
                              posted.error, posted.body, !is_accepted});
  if (is_accepted) store.webhooks.wake(endpoint.id, now);
  return posted;
}

}  // namespace giftsync::webhooks
