// daemon/handlers: the API's endpoints for gift requests: A sends a gift by e-mail (HTTP-1), B returns its
// URLs (HTTP-2), and a sender can read a gift request back (HTTP-7). Checks run in this order: authorization,
// size, type, body, catalogue, sending policy (HTTP-14). Each of them can be asked what it would do
// (VALID-1).
#pragma once

#include <functional>

#include "crm/crm.h"
#include "daemon/handlers/gift_request_json.h"
#include "daemon/handlers/gift_request_validation.h"
#include "daemon/handlers/recent_gifts.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/request_rate_limiter.h"
#include "platform/clock.h"
#include "platform/ttl_cache.h"
#include "schema/store/store.h"
#include "sync/access/approval_rules.h"
#include "sync/access/send_authorization.h"
#include "sync/access/sending_policy.h"
#include "sync/crm/urgent_writer.h"
#include "sync/gift/gift_links.h"

namespace giftsync::handlers {

struct GiftRequestHandlerOptions {
  GiftRequestLimits limits;
  std::size_t max_body_bytes = 1 << 20;
  Clock clock = system_now;
  crm::Crm* crm = nullptr;  ///< asked for matches when a call is validated (VALID-4); null: never
  crm::MatchFields match_fields = {};
  std::string base_url = {};  ///< no slash at its end
  std::vector<sync::ApprovalRule> approval_rules = {};
};

/// Who asked for a gift, and in which call; stored with it.
struct GiftRequestOrigin {
  std::string credential_prefix;  ///< of the API key or organization token
  std::string http_request_id;    ///< the call's Request-Id
  std::string triggered_by = {};  ///< the CRM user who sends it; empty: the sender
};

/// Any thread; none waits for a commit. Throws DependencyError when the store fails; the request is
/// not acknowledged then.
class GiftRequestHandler {
 public:
  using OnCreated = std::function<void(const store::CreateOutcome&, const GiftRequestOrigin&)>;
  /// `on_created` is called after each durable gift request, with its outcome and without triggered_by; it
  /// wakes the workers.
  GiftRequestHandler(store::Store& store, sync::UrgentWriter& writer, http::Authenticator& authenticator,
                     const sync::GiftLinks& links, sync::SendingPolicy& policy,
                     GiftRequestHandlerOptions options, OnCreated on_created);

  /// Endpoint A (HTTP-1).
  http::Reply send_by_email(const http::HttpRequest& request, std::string_view);
  /// Endpoint B (HTTP-2).
  http::Reply create_urls(const http::HttpRequest& request, std::string_view);
  /// The same without creating anything (VALID-1).
  http::Reply validate_by_email(const http::HttpRequest& request, std::string_view);
  http::Reply validate_urls(const http::HttpRequest& request, std::string_view);
  /// What both endpoints do with a valid caller and body: look up the item, then make the gift request
  /// durable. Idempotency keys of different scopes must differ.
  http::Reply send(GiftRequestBody body, SendMode mode, const store::Account& sender,
                   const std::optional<std::string>& idempotency_key, GiftRequestOrigin origin);
  /// What send() would do now, by the same checks, without its Idempotency-Key.
  http::HttpResponse validate(GiftRequestBody body, SendMode mode, const store::Account& sender,
                              GiftRequestOrigin origin, const http::HttpRequest& request);
  /// GET /api/v1/gift_requests/{id}: 404 for requests of other senders too.
  http::Reply read(const http::HttpRequest& request, std::string_view id);

 private:
  /// What is kept of a call until its gift request is written.
  struct PendingCall {
    SendMode mode;
    AccountId account;
    GiftId item;
    bool has_key = false;
    GiftRequestOrigin origin;
    http::WarningList warnings;
  };

  /// What is decided about a valid body before anything is written.
  struct CheckedGift {
    std::shared_ptr<const store::GiftItem> item;  ///< never null
    /// Why a recipient gets no gift (GUARD-1, GUARD-6); one for each.
    std::vector<std::optional<sync::SendingFinding>> findings;
  };

  http::Reply take(const http::HttpRequest& request, SendMode mode, CallAim aim);
  /// The refusal when the catalogue has no such item, or a recipient is one for tests (TEST-4). `is_test`: a
  /// test key asks.
  tl::expected<CheckedGift, http::HttpResponse> check(const GiftRequestBody& body, bool is_test);
  /// The response to a request that may create nothing now: that of the first one under its key, or
  /// `refusal`.
  http::HttpResponse replay_or(const std::optional<store::IdempotencyKey>& idempotency, AccountId sender,
                               SendMode mode, bool is_test, http::HttpResponse refusal);
  /// The response to a call whose gifts were made, or that was held, under its key before or now (GUARD-28).
  http::HttpResponse made_response(const store::CreateOutcome& outcome, SendMode mode) const;
  /// What is made of a checked body, and what is validated of it.
  store::NewGiftRequest draft(GiftRequestBody body, SendMode mode, const store::Account& sender,
                              const store::GiftItem& item, GiftRequestOrigin origin) const;
  http::Reply create_idempotent(store::NewGiftRequest new_request, http::WarningList warnings,
                                http::InflightKeys::Guard guard);
  /// The response to a request that does not fit in its limits (GUARD-12, GUARD-15, GUARD-19).
  http::HttpResponse refused_response(const store::CreateOutcome& outcome, const PendingCall& call) const;
  /// The response to a request that the writer is done with. Throws DependencyError.
  http::HttpResponse finish(store::CreateOutcome outcome, const PendingCall& call);
  /// Adds a warning for each gift that another request of the last minute has as well (HTTP-52).
  void add_duplicates(store::CreateOutcome& made, const PendingCall& call);
  /// The same for a call that is only validated; it is not remembered.
  void warn_of_duplicates(const store::NewGiftRequest& asked, http::WarningList& warnings);
  http::HttpResponse state_response(const store::GiftRequest& request, const store::ApiKeyOwner& caller);
  std::vector<RecipientResponse> recipient_responses(const std::vector<store::RecipientTransaction>& gifts,
                                                     SendMode mode) const;
  http::HttpResponse created_response(const store::CreateOutcome& outcome, SendMode mode) const;

  store::Store& store_;
  sync::UrgentWriter& writer_;
  http::Authenticator& authenticator_;
  const sync::GiftLinks& links_;
  sync::SendingPolicy& policy_;
  const GiftRequestHandlerOptions options_;
  const OnCreated on_created_;
  TtlCache<GiftId, store::GiftItem> items_;
  http::InflightKeys inflight_keys_;
  RecentGifts recent_gifts_;
};

// POST {admin_url}/api/v1/crm/gift_requests: the CRM's own sending interface sends a gift on
// behalf of a CRM user (HTTP-8, REQ-36). The header Organization-Token identifies the CRM's organization. The
// sender must meet the preconditions of sync/access/send_authorization.h. The rest is as for endpoint A.

/// Any thread. Throws DependencyError when store or CRM fail; the request is not acknowledged then.
class CrmGiftRequestHandler {
 public:
  /// `requests_per_minute`: for each organization; 0 for no limit. `crm_has_users`: see SenderInfo.
  CrmGiftRequestHandler(store::Store& store, crm::Directory& directory,
                        GiftRequestHandler& gift_request_handler, GiftRequestHandlerOptions options,
                        std::int64_t requests_per_minute, bool crm_has_users = true)
      : store_(store),
        directory_(directory),
        gift_request_handler_(gift_request_handler),
        options_(std::move(options)),
        crm_has_users_(crm_has_users),
        rate_limiter_(requests_per_minute, options_.clock) {}

  http::Reply handle(const http::HttpRequest& request, std::string_view);
  /// The same without creating anything (VALID-1).
  http::Reply validate(const http::HttpRequest& request, std::string_view);

 private:
  http::Reply take(const http::HttpRequest& request, CallAim aim);
  http::Reply handle_with_token(const http::HttpRequest& request, const std::string& token, CallAim aim);
  http::Reply handle_for_sender(const http::HttpRequest& request, const std::string& token,
                                sync::SenderInfo sender, UtcMillis now, CallAim aim);

  store::Store& store_;
  crm::Directory& directory_;
  GiftRequestHandler& gift_request_handler_;
  const GiftRequestHandlerOptions options_;
  const bool crm_has_users_;
  http::RequestRateLimiter rate_limiter_;
};

}  // namespace giftsync::handlers
