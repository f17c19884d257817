// daemon/handlers: request records over HTTP, at admin_url (REQ-42): POST /api/v1/request_records creates one
// in the CRM. POST /api/v1/request_records/{number}/approve and /reject decide on one. GET
// /api/v1/request_records/{number} returns its state, and its URLs (Send Type link) to the requester.
// Requesters cannot approve their own request unless requests.allow_self_approval is on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "crm/crm.h"
#include "daemon/config/settings.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "schema/request_record.h"
#include "schema/store/store.h"
#include "sync/gift/gift_links.h"
#include "sync/request/approver_notices.h"
#include "sync/request/request_record_approval.h"

namespace giftsync::handlers {

// Parses the body of POST /api/v1/request_records: the fields of a request record (REQ-1),
// named by API name without prefix and suffix. Pure. Types and lengths are checked here. The content is
// checked once the record is approved, with errors in its Error Log (REQ-35).

struct RequestRecordBody {
  RequestRecord record;  ///< Auto-Approved is unchecked unless the body sets it
  http::FieldIssues warnings;
};
tl::expected<RequestRecordBody, http::BodyError> parse_request_record_body(std::string_view body);

/// The body of an approver's decision: {"comment": "..."}; an empty body has no comment.
struct ApprovalDecisionBody {
  std::string comment;
};
tl::expected<ApprovalDecisionBody, http::BodyError> parse_approval_decision_body(std::string_view body);

struct RequestRecordHandlerOptions {
  const config::RequestSettings& settings;
  std::size_t max_body_bytes;
  Clock clock;
  std::function<void()> on_changed;  ///< called after each change; wakes the request record worker
};

/// Any thread. Throws DependencyError when store or CRM fail; the request is not acknowledged then.
class RequestRecordHandler {
 public:
  RequestRecordHandler(store::Store& store, crm::Crm& crm, http::Authenticator& authenticator,
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
  http::Reply handle_for_caller(const http::HttpRequest& request, Scope scope,
                                const http::Authenticator::Handler& handler);
  void warn_of_gift(RequestRecordBody& body);
  http::HttpResponse create_once(const RequestRecordBody& body,
                                 const std::optional<store::IdempotencyKey>& idempotency,
                                 const store::ApiKeyOwner& caller);
  http::Reply decide(const http::HttpRequest& request, const std::string& number,
                     sync::RequestRecordAction action);
  sync::RequestRecordCaller with_crm_users(const store::ApiKeyOwner& caller);

  store::Store& store_;
  crm::Crm& crm_;
  http::Authenticator& authenticator_;
  const sync::GiftLinks& links_;
  const RequestRecordHandlerOptions options_;
};

}  // namespace giftsync::handlers
