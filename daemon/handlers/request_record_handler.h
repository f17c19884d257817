// daemon/handlers: request records over HTTP, at admin_url (REQ-42): POST /api/v1/request_records creates one
// in the CRM. POST /api/v1/request_records/{number}/approve and /reject decide on one. GET
// /api/v1/request_records/{number} returns its state, and its URLs (Send Type link) to the requester. POST
// /api/v1/request_records/validate says what would come of a new record and creates none (VALID-5).
// Requesters cannot approve their own request unless requests.allow_self_approval is on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "crm/crm.h"
#include "daemon/config/settings.h"
#include "daemon/handlers/gift_request_validation.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "schema/request_record.h"
#include "schema/store/store.h"
#include "sync/gift/gift_links.h"
#include "sync/request/approver_notices.h"
#include "sync/request/request_record_approval.h"
#include "sync/request/request_record_findings.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::handlers {

// Parses the body of POST /api/v1/request_records: the fields of a request record (REQ-1),
// named by API name without prefix and suffix. Pure. Types and lengths are checked here. The content is
// checked once the record is approved, with errors in its Error Log (REQ-35).

struct RequestRecordBody {
  RequestRecord record;  ///< Auto-Approved is unchecked unless the body sets it
  http::WarningList warnings;
};
tl::expected<RequestRecordBody, http::BodyError> parse_request_record_body(std::string_view body);

/// The body of an approver's decision: {"comment": "..."}; an empty body has no comment.
struct ApprovalDecisionBody {
  std::string comment;
};
tl::expected<ApprovalDecisionBody, http::BodyError> parse_approval_decision_body(std::string_view body);

/// The entity tags of If-Match, without quotation marks; nothing without the header or for "*".
std::optional<std::vector<std::string>> versions_of(const http::HttpRequest& request);

struct RequestRecordHandlerOptions {
  const config::RequestSettings& settings;
  std::size_t max_body_bytes;
  Clock clock;
  std::function<void()> on_changed;  ///< called after each change; wakes the request record worker
  /// What would keep a record from being sent once it is approved.
  std::function<std::vector<sync::RequestRecordFinding>(const sync::LoadedRequestRecord&)> findings_of = {};
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
  http::Reply validate(const http::HttpRequest& request, std::string_view);
  http::Reply read(const http::HttpRequest& request, std::string_view number);
  http::Reply approve(const http::HttpRequest& request, std::string_view number);
  http::Reply reject(const http::HttpRequest& request, std::string_view number);

 private:
  /// For a caller with that scope, while request records are in use.
  http::Reply handle_for_caller(const http::HttpRequest& request, Scope scope,
                                const http::Authenticator::Handler& handler);
  http::Reply take(const http::HttpRequest& request, CallAim aim);
  /// The item that can be sent for the record; none adds a warning.
  std::optional<store::GiftItem> find_item(RequestRecordBody& body);
  http::HttpResponse create_once(const RequestRecordBody& body,
                                 const std::optional<store::IdempotencyKey>& idempotency,
                                 const store::ApiKeyOwner& caller, const std::string& http_request_id);
  http::HttpResponse validated(RequestRecordBody body, const std::optional<store::GiftItem>& item,
                               const http::HttpRequest& request);
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
