// daemon/handlers: request records over HTTP, at admin_url (REQ-42): POST /api/v1/request_records creates one
// in the CRM. POST /api/v1/request_records/{number}/approve and /reject decide on one. GET
// /api/v1/request_records/{number} returns its state, and its URLs (Send Type link) to the requester.
// Requesters cannot approve their own request unless requests.allow_self_approval is on.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/handlers/request_record_body.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "schema/crm/crm.h"
#include "schema/store/store.h"
#include "sync/request_record_approval.h"
#include "sync/request_record_authorization.h"
#include "sync/request_urls.h"

namespace giftsync::daemon::handlers {

struct RequestRecordHandlerOptions {
  const config::RequestSettings& settings;
  std::size_t max_body_bytes;
  platform::Clock clock;
  std::function<void()> on_changed;  ///< called after each change; wakes the request record worker
};

/// Any thread. Throws platform::DependencyError when store or CRM fail; the request is not acknowledged then.
class RequestRecordHandler {
 public:
  RequestRecordHandler(schema::store::Store& store, schema::crm::Crm& crm, http::Authenticator& authenticator,
                       const sync::GiftLinks& links, RequestRecordHandlerOptions options)
      : store_(store),
        crm_(crm),
        authenticator_(authenticator),
        links_(links),
        options_(std::move(options)) {}

  http::Reply create(const http::HttpRequest& request, std::string_view);
  http::Reply read(const http::HttpRequest& request, std::string_view number);
  http::Reply approve(const http::HttpRequest& request, std::string_view number);
  http::Reply reject(const http::HttpRequest& request, std::string_view number);

 private:
  /// For a caller with that scope, while request records are in use.
  http::Reply handle_for_caller(const http::HttpRequest& request, schema::Scope scope,
                                const http::Authenticator::Handler& handler);
  void warn_of_gift(RequestRecordBody& body);
  http::HttpResponse create_once(const RequestRecordBody& body,
                                 const std::optional<schema::store::IdempotencyKey>& idempotency,
                                 const schema::store::ApiKeyOwner& caller);
  http::Reply decide(const http::HttpRequest& request, const std::string& number,
                     sync::RequestRecordAction action);
  sync::RequestRecordCaller with_crm_users(const schema::store::ApiKeyOwner& caller);

  schema::store::Store& store_;
  schema::crm::Crm& crm_;
  http::Authenticator& authenticator_;
  const sync::GiftLinks& links_;
  const RequestRecordHandlerOptions options_;
};

}  // namespace giftsync::daemon::handlers
