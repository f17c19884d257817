#include "daemon/handlers/outbound_message_handler.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "daemon/http/routes.h"
#include "platform/digest.h"
#include "sync/access/credential.h"

namespace giftsync::handlers {
namespace {

using salesforce::MessageFault;
using salesforce::SoapFaultSide;
using store::Credential;

static_assert(salesforce::kMaxOutboundMessageBytes == http::kMaxMessageBodyBytes);
constexpr const char* kSoapType = "text/xml; charset=utf-8";
constexpr std::int64_t kNotConnectedRetrySeconds = 60;
constexpr std::int64_t kFullRetrySeconds = 300;

/// `reason`: for the log, without anything of the message's values.
http::HttpResponse refused(int status, std::string_view code, const std::string& message,
                           std::string reason) {
  const SoapFaultSide side = status < 500 ? SoapFaultSide::client : SoapFaultSide::server;
  http::HttpResponse response = http::text_response(status, kSoapType, salesforce::soap_fault(side, message));
  response.code = code;
  response.reason = std::move(reason);
  return response;
}

http::HttpResponse refused(const MessageFault& fault) {
  switch (fault.kind) {
    case MessageFault::Kind::malformed:
      return refused(400, "malformed_message", fault.message, fault.reason);
    case MessageFault::Kind::too_many:
      return refused(413, "too_many_notifications", fault.message, fault.reason);
    case MessageFault::Kind::other_organization:
      return refused(403, "other_organization", fault.message, fault.reason);
    case MessageFault::Kind::other_object:
      return refused(400, "other_object", fault.message, fault.reason);
  }
  return refused(400, "malformed_message", fault.message, fault.reason);
}

/// What can be refused without reading the body.
std::optional<http::HttpResponse> head_refusal(const http::HttpRequest& request) {
  if (request.body_too_large) {
    const std::string limit = fmt::format("The message has more than {} bytes, or than limits.max_body_bytes",
                                          http::kMaxMessageBodyBytes);
    http::HttpResponse response =
        refused(413, "body_too_large", limit + ". Nothing was accepted.", "it is too large");
    response.close = true;
    return response;
  }
  if (const auto error = http::content_encoding_error(request))
    return refused(415, "unsupported_content_encoding", *error, "its Content-Encoding is not accepted");
  if (const auto error = http::xml_content_type_error(request))
    return refused(415, "unsupported_media_type", *error + " Send the message as text/xml, encoded as UTF-8.",
                   "its Content-Type is not text/xml");
  return std::nullopt;
}

http::HttpResponse not_connected() {
  return http::with_retry_after(
      refused(503, "not_connected",
              "giftsync has not read yet which org it is connected to and what the Ids of request records "
              "begin with, so nothing was accepted.",
              "giftsync has not signed in to an org, or has not read its describe of request records"),
      kNotConnectedRetrySeconds);
}

http::HttpResponse too_many_waiting() {
  return http::with_retry_after(
      refused(503, "too_many_changes",
              "Too many changed records are waiting, so nothing was accepted. Send the message again later.",
              fmt::format("{} changed records are waiting", store::kMaxCrmChangeEvents)),
      kFullRetrySeconds);
}

/// The usable token of that text, or null. All are compared, so the time does not depend on which one it is.
const Credential* find_token(const std::vector<Credential>& tokens, std::string_view text, UtcMillis now) {
  const std::string hash = sync::api_key_hash(text);
  const Credential* found = nullptr;
  for (const Credential& token : tokens) {
    const bool is_equal = equal_in_constant_time(token.hash, hash);
    if (is_equal && sync::is_usable(sync::state_of(token, now))) found = &token;
  }
  return found;
}

}  // namespace

OutboundMessageHandler::OutboundMessageHandler(store::Store& store, OutboundMessageOptions options)
    : store_(store),
      options_(std::move(options)),
      rate_limiter_(options_.requests_per_minute, options_.clock),
      access_(options_.clock, [this](int) { return load_access(); }) {}

OutboundMessageHandler::Access OutboundMessageHandler::load_access() {
  const salesforce::FactStorage facts{
      .load = [this](const std::string& name) { return store_.metadata(name); },
      .save = {},
      .save_if_absent = {}};
  Access access{store_.credentials.list(CredentialKind::message_token), {}};
  if (!access.tokens.empty()) access.target = salesforce::stored_message_target(facts);
  return access;
}

http::Reply OutboundMessageHandler::handle(const http::HttpRequest& request, std::string_view token) {
  if (!sync::is_credential(CredentialKind::message_token, token)) return http::unknown_path();
  const auto access = access_.get(0);
  const Credential* known = access ? find_token(access->tokens, token, options_.clock()) : nullptr;
  if (!known) return http::unknown_path();
  http::Reply reply = rate_limiter_.handle_limited(
      known->id.value, [&] { return http::Reply(handle_for_token(request, *access, *known)); });
  return std::move(reply).changed([prefix = known->prefix](const http::Reply::Finish& finish) {
    http::HttpResponse response = finish();
    response.caller = prefix;
    return response;
  });
}

http::HttpResponse OutboundMessageHandler::handle_for_token(const http::HttpRequest& request,
                                                            const Access& access, const Credential& token) {
  if (auto refusal = head_refusal(request)) return std::move(*refusal);
  if (!access.target) return not_connected();
  const auto message = salesforce::read_outbound_message(request.body);
  if (!message) return refused(message.error());
  const auto records = salesforce::records_of(*message, *access.target);
  return records ? store_records(*records, token) : refused(records.error());
}

http::HttpResponse OutboundMessageHandler::store_records(const std::vector<std::string>& records,
                                                         const Credential& token) {
  if (!store_.crm_change_events.add(records, token.id.value, options_.clock())) return too_many_waiting();
  if (options_.on_stored) options_.on_stored();
  return http::text_response(200, kSoapType, salesforce::acknowledgement());
}

}  // namespace giftsync::handlers
