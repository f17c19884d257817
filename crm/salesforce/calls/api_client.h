// crm/salesforce: one call of the org's REST API: address and token, JSON compressed both ways, a second
// attempt with a new session when the org has ended the first one, a line in the log at level debug. What the
// API answers, refusals included, is the caller's to read. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "crm/salesforce/calls/access_token.h"
#include "crm/salesforce/calls/call_governor.h"
#include "platform/http_client.h"

namespace giftsync::salesforce {

struct ApiRequest {
  std::string method = "GET";
  std::string path = {};                  ///< "/services/data/v62.0/composite"; logged
  std::string query = {};                 ///< escaped, without "?"; not logged
  std::string body = {};                  ///< JSON; not logged
  std::vector<std::string> headers = {};  ///< "Sforce-Auto-Assign: FALSE"; without secrets
  std::size_t rows = 0;                   ///< in the body or the query, for the log
};

/// Any status but 401; the body is JSON or empty.
struct ApiResponse {
  HttpResponse http;
  std::optional<LimitInfo> usage;
};

struct ApiFault {
  enum class Kind {
    no_response,         ///< not connected, or the connection broke or timed out
    not_json,            ///< a page of a proxy, or of the org's maintenance
    session_refused,     ///< 401, and another session does not help or did not
    sign_in_refused,     ///< final until the settings or the org change
    sign_in_failed,      ///< a later sign-in may succeed
    other_organization,  ///< waits for AccessTokens::accept_organization()
  };
  Kind kind;
  std::string message;  ///< a sentence without an end, with the next step where there is one
  bool is_transient;    ///< a later call may succeed without a change by an admin
  /// The org may have done what was asked.
  bool may_have_arrived = false;
  int status = 0;
  std::optional<std::int64_t> retry_after_seconds = {};
  std::optional<LimitInfo> usage = {};
  bool is_unreachable = false;  ///< no org answered: the network, or the domain, is to be checked
  bool is_too_large = false;    ///< an answer came; ask for less at once
};

/// Throws it as giftsync::DependencyError, or as UnreachableError.
[[noreturn]] void throw_fault(const ApiFault& fault);

class ApiClient {
 public:
  /// `http` and the tokens are shared and outlive this object. Each call asks for the tokens first, so that
  /// they can be made at the first call; what `tokens` throws, call() throws. `keep_going`: false ends a
  /// running call; may be null.
  using TokenSource = std::function<AccessTokens&()>;
  ApiClient(HttpClient& http, TokenSource tokens, KeepGoing keep_going = nullptr);
  ApiClient(HttpClient& http, AccessTokens& tokens)
      : ApiClient(
            http, [&tokens]() -> auto& { return tokens; }) {}

  /// Gets the path of each request that was answered, and the usage that the org named. Any thread.
  using OnAnswer = std::function<void(const std::string& path, const std::optional<LimitInfo>& usage)>;
  /// Before the first call; for callers without OrgCalls, which counts its own. May throw what call() throws.
  void set_on_answer(OnAnswer on_answer) { on_answer_ = std::move(on_answer); }

  /// A call is repeated only after a 401 that ended the session, when nothing was done.
  tl::expected<ApiResponse, ApiFault> call(const ApiRequest& request);

 private:
  HttpResponse send(const ApiRequest& request, const AccessToken& token);

  HttpClient& http_;
  const TokenSource tokens_;
  const KeepGoing keep_going_;
  OnAnswer on_answer_;
};

}  // namespace giftsync::salesforce
