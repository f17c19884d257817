#include "daemon/handlers/status_webhook_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "platform/json.h"

namespace giftsync::handlers {
namespace {

constexpr std::int64_t kOverloadRetrySeconds = 1;
constexpr std::int64_t kOverLimitRetrySeconds = 300;
constexpr std::int64_t kCannotVerifyRetrySeconds = 60;
constexpr std::size_t kMaxListedErrors = 20;
constexpr std::size_t kMaxMessageIdBytes = 200;

http::HttpResponse refused_signature(const config::SourceSettings& source) {
  const bool is_basic =
      source.preset == config::SourcePreset::postmark ||
      (source.preset == config::SourcePreset::none && source.signature == config::SourceSignature::basic);
  return http::with_header(
      http::problem("refused_signature",
                    "The message does not prove that it is from this source. Check the shared secret on both "
                    "sides and the sender's clock."),
      "WWW-Authenticate",
      is_basic ? R"(Basic realm="giftsync", charset="UTF-8")" : R"(Signature realm="giftsync")");
}

http::HttpResponse invalid_message(const std::string& message, const http::FieldIssues& issues = {}) {
  return http::problem({"invalid", "The message is not valid"}, message, issues);
}

http::HttpResponse unreadable_message(const sources::WebhookInvalidBody& invalid) {
  if (invalid.json)
    return http::malformed_json(*invalid.json,
                                "Nothing was accepted; send the message as JSON, encoded as UTF-8.");
  return invalid_message(invalid.why + ". Nothing was accepted; compare it with the source's settings.");
}

http::HttpResponse too_many_reports(const sources::TooManyEvents& many) {
  return http::problem(
      "too_many_reports",
      fmt::format("The message contains {} events; at most {} are accepted in one message. Nothing was "
                  "accepted; send fewer in one message.",
                  many.found, sources::kMaxEvents));
}

/// `errors`: the first ones.
http::HttpResponse all_invalid(const std::vector<std::string>& errors) {
  http::FieldIssues issues;
  for (const std::string& error : errors) issues.push_back({"", "invalid", error});
  return invalid_message(
      errors.front() + ". Nothing was accepted; compare the message with the source's settings.", issues);
}

http::HttpResponse source_is_full() {
  return http::with_retry_after(
      http::problem("source_is_full",
                    fmt::format("Too many events of this source are orphaned or quarantined, so nothing was "
                                "accepted. Send the message again after {} s.",
                                kOverLimitRetrySeconds)),
      kOverLimitRetrySeconds);
}

http::HttpResponse cannot_verify_now(const sources::WebhookTemporaryFailure& why) {
  return http::with_retry_after(
      http::problem("cannot_check_now",
                    fmt::format("{}, so nothing was accepted. Send the message again after {} s.", why.why,
                                kCannotVerifyRetrySeconds)),
      kCannotVerifyRetrySeconds);
}

http::HttpResponse accepted_response(const sync::IngestSummary& ingested) {
  const store::IngestResult& result = ingested.result;
  const bool is_replay = result.kind == store::IngestResult::Kind::replayed;
  return http::json_response(200, http::json_text({{"message", is_replay ? "Duplicate." : "Accepted."},
                                                   {"data",
                                                    {{"accepted", result.accepted},
                                                     {"duplicates", result.duplicates},
                                                     {"orphaned", result.orphaned},
                                                     {"ignored", ingested.ignored},
                                                     {"quarantined", result.quarantined},
                                                     {"gifts", result.gifts}}}}));
}

/// A reason that has nothing of the message's values.
sources::SourceHealthMonitor::Refusal same_reason(const std::string& reason) {
  return {reason, reason};
}

/// The id in the headers of a verified message.
std::optional<std::string> header_message_id(const config::SourceSettings& source,
                                             const http::HttpRequest& request) {
  const bool is_standard =
      source.preset == config::SourcePreset::none && source.signature == config::SourceSignature::standard;
  return is_standard ? sources::standard_webhook_header(request, "id") : std::nullopt;
}

/// ASCII and of bounded length.
std::string printable(std::string_view id) {
  std::string text(id.substr(0, kMaxMessageIdBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

/// Why no event of a message can be read.
struct AllMalformed {
  std::vector<std::string> details;  ///< of the first events; empty: there is another event
  std::string log_reason;            ///< names the fields, not their values
};

AllMalformed find_all_malformed(const std::vector<sync::ClassifiedEvent>& classified) {
  AllMalformed faults;
  std::set<std::string_view> fields;
  for (const sync::ClassifiedEvent& classified_event : classified) {
    if (!classified_event.item.quarantined ||
        classified_event.item.event.reason != store::QuarantineReason::malformed)
      return {};
    if (faults.details.size() < kMaxListedErrors)
      faults.details.push_back(classified_event.item.event.detail);
    for (const sync::EventField field : classified_event.faulty_fields) fields.insert(key_of(field));
  }
  faults.log_reason = fields.empty() ? "no event could be read"
                                     : fmt::format("no event could be read: {}", fmt::join(fields, ", "));
  return faults;
}

}  // namespace

StatusWebhookHandler::StatusWebhookHandler(const std::vector<sources::CompiledSource>& sources,
                                           sources::EventIngestor& ingestor, sync::UrgentWriter& writer,
                                           sources::SourceHealthMonitor& health_monitor,
                                           StatusWebhookOptions options)
    : ingestor_(ingestor), writer_(writer), health_monitor_(health_monitor), options_(std::move(options)) {
  for (const sources::CompiledSource& compiled_source : sources) {
    if (compiled_source.settings.kind == config::SourceKind::webhook)
      sources_.emplace(compiled_source.settings.name, compiled_source);
  }
}

http::Reply StatusWebhookHandler::handle(const http::HttpRequest& request, std::string_view source) {
  const auto found = sources_.find(source);
  if (found == sources_.end())
    return http::not_found("There is no webhook source of this name in the settings (sources).");
  const auto& [name, compiled_source] = *found;
  if (request.method != "POST") return http::method_not_allowed({"POST"});
  // Most signatures cover the body, and some are in it, so size and encoding are checked first.
  if (request.body_too_large)
    return refuse(name, http::body_too_large(options_.max_body_bytes, http::CallKind::changes),
                  same_reason(fmt::format("its body has more than {} bytes", options_.max_body_bytes)));
  if (const auto error = http::content_encoding_error(request))
    return refuse(name, http::unsupported_content_encoding(*error),
                  {*error, "its Content-Encoding is not accepted"});
  const UtcMillis now = options_.clock();
  sources::WebhookMessage message = sources::parse_webhook_message(
      compiled_source, request, now,
      [&](const std::string& url) { return options_.fetch(url, request.client); });
  if (const auto* refusal = std::get_if<sources::WebhookRefusal>(&message))
    return refuse(name, refused_signature(compiled_source.settings), same_reason("it came " + refusal->why));
  if (const auto* later = std::get_if<sources::WebhookTemporaryFailure>(&message)) {
    if (!later->is_verified) return refuse(name, cannot_verify_now(*later), same_reason(later->why));
    health_monitor_.set_state(name, sources::SourceState::failing, later->why, now);
    return cannot_verify_now(*later);
  }
  if (const auto* wrong = std::get_if<sources::WebhookUnsupportedType>(&message))
    return refuse_verified(compiled_source, request, http::unsupported_media_type(wrong->why),
                           {wrong->why, "its Content-Type is not application/json"});
  if (const auto* many = std::get_if<sources::TooManyEvents>(&message))
    return refuse_verified(compiled_source, request, too_many_reports(*many),
                           same_reason(fmt::format("it contained {} events; at most {} are allowed",
                                                   many->found, sources::kMaxEvents)));
  if (const auto* invalid = std::get_if<sources::WebhookInvalidBody>(&message))
    return refuse_verified(
        compiled_source, request, unreadable_message(*invalid),
        {invalid->why, invalid->json ? "no valid JSON: " + invalid->json->code : invalid->why});
  return ingest(compiled_source, request, std::move(std::get<sources::WebhookEvents>(message)), now);
}

bool StatusWebhookHandler::may_accept(const http::HttpRequest& head, std::string_view source) const {
  const auto found = sources_.find(source);
  return found != sources_.end() && head.method == "POST" && sources::may_be_signed(found->second, head);
}

http::HttpResponse StatusWebhookHandler::refuse(const std::string& source, http::HttpResponse response,
                                                Refusal why) {
  response.source = source;
  response.reason = why.log_reason;
  health_monitor_.record_refused(source, std::move(why), options_.clock());
  return response;
}

http::HttpResponse StatusWebhookHandler::refuse_verified(const sources::CompiledSource& source,
                                                         const http::HttpRequest& request,
                                                         http::HttpResponse response, Refusal why,
                                                         const std::optional<std::string>& message_id) {
  store::RefusedMessage& message = why.message.emplace();
  message.message_id =
      printable(message_id ? *message_id : header_message_id(source.settings, request).value_or(""));
  message.status = response.status;
  message.size = static_cast<std::int64_t>(request.body.size());
  message.body = request.body.substr(0, store::kMaxRefusedBodyBytes);
  return refuse(source.settings.name, std::move(response), std::move(why));
}

http::Reply StatusWebhookHandler::ingest(const sources::CompiledSource& compiled_source,
                                         const http::HttpRequest& request, sources::WebhookEvents message,
                                         UtcMillis now) {
  std::vector<sync::ClassifiedEvent> classified =
      ingestor_.classify_events(compiled_source, message.events, now);
  if (const AllMalformed faults = find_all_malformed(classified); !faults.details.empty())
    return refuse_verified(compiled_source, request, all_invalid(faults.details),
                           {faults.details.front(), faults.log_reason}, message.message_id);
  sync::IngestContext context{std::move(message.message_id), std::nullopt};
  store::InboundBatch batch = ingestor_.make_batch(compiled_source, std::move(classified), context, now);
  const std::size_t ignored = batch.ignored.size();
  return http::reply_when_written<store::IngestResult>(
      writer_, std::move(batch),
      [this, &compiled_source, ignored, context = std::move(context), warning = std::move(message.warning),
       now](store::IngestResult result) {
        return finish(
            compiled_source,
            ingestor_.complete(compiled_source, sync::summarize(std::move(result), ignored, context), now),
            warning, now);
      },
      [] { return http::unavailable(kOverloadRetrySeconds); });
}

http::HttpResponse StatusWebhookHandler::finish(const sources::CompiledSource& source,
                                                const sync::IngestSummary& ingested,
                                                const std::optional<std::string>& warning, UtcMillis now) {
  const std::string& name = source.settings.name;
  if (ingested.result.kind == store::IngestResult::Kind::over_limit) {
    health_monitor_.set_state(name, sources::SourceState::over_limit,
                              "too many events are orphaned or quarantined; see giftsyncctl source list",
                              now);
    return source_is_full();
  }
  if (warning)
    health_monitor_.set_state(name, sources::SourceState::ok, *warning, now);
  else
    health_monitor_.record_message(name, now);
  return accepted_response(ingested);
}

}  // namespace giftsync::handlers
