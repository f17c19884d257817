// daemon/handlers: actions on a gift over HTTP, at base_url: POST /api/v1/gifts/{id}/cancel, /resend and
// /extend (API-6). What is possible is decided by sync/gift/gift_actions.h, as for the commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "crm/crm.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "matching/rematch.h"
#include "platform/clock.h"
#include "schema/store/store.h"
#include "sync/crm/gift_folds.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::handlers {

struct GiftActionOptions {
  std::vector<std::string> allowed_domains = {};
  Clock clock = system_now;
  crm::Crm* crm = nullptr;  ///< where a gift is matched again that goes to another address; null: nowhere
  matching::RematchRules rematch = {};
  std::string currency = {};  ///< catalogue.currency
  /// Called after each action that was done, once its gift is saved; wakes the workers.
  std::function<void()> on_changed = [] {};
  /// Called with what each answer has saved of its gift.
  std::function<void(const sync::ReachedCounts&)> on_reached = [](const sync::ReachedCounts&) {};
};

/// The body of a resend: {"email": ADDRESS}, or nothing for the gift's own address.
tl::expected<std::optional<std::string>, http::BodyError> parse_resend_body(std::string_view body);
/// The body of an extend: {"until": TIME}.
tl::expected<UtcMillis, http::BodyError> parse_extend_body(std::string_view body);

/// Any thread. Throws DependencyError when the store fails.
class GiftActionHandler {
 public:
  GiftActionHandler(store::Store& store, http::Authenticator& authenticator, GiftActionOptions options)
      : store_(store), authenticator_(authenticator), options_(std::move(options)) {}

  http::Reply cancel(const http::HttpRequest& request, std::string_view id);
  http::Reply resend(const http::HttpRequest& request, std::string_view id);
  http::Reply extend(const http::HttpRequest& request, std::string_view id);

 private:
  /// One call: who asks for what about which gift.
  struct Call {
    const http::HttpRequest& request;
    const store::ApiKeyOwner& caller;
    const store::Gift& gift;
    UtcMillis now;
    store::AuditEvent audit;
  };
  http::Reply act(const http::HttpRequest& request, std::string_view id, const std::string& action,
                  const std::function<http::HttpResponse(const Call&)>& respond);
  /// The answer to what became of it, with the gift as it is now and its ETag. `done` and `already`:
  /// messages.
  http::HttpResponse answer(const Call& call, const sync::ActionResult& result, const std::string& done,
                            const std::string& already);
  /// Whether the gift was matched again, or need not be.
  bool rematch(const Call& call);

  store::Store& store_;
  http::Authenticator& authenticator_;
  const GiftActionOptions options_;
};

}  // namespace giftsync::handlers
