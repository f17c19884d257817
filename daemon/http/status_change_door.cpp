#include "daemon/http/status_change_door.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/http/content_type.h"
#include "daemon/http/problem.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kFullRetrySeconds = 300;
constexpr std::int64_t kNotNowRetrySeconds = 60;
constexpr std::size_t kMostFaultsTold = 20;

HttpResponse refused_signature(const SourcePlan& plan) {
  HttpResponse response = problem({401,
                                   "refused_signature",
                                   "The message's signature is missing or wrong",
                                   "The message does not prove that it is from this source. Check the shared "
                                   "secret on both sides and the sender's clock.",
                                   {}});
  const bool is_basic =
      plan.settings.preset == SourcePreset::postmark ||
      (plan.settings.preset == SourcePreset::none && plan.settings.signature == SourceSignature::basic);
  response.headers.emplace_back("WWW-Authenticate", is_basic ? R"(Basic realm="giftsync", charset="UTF-8")"
                                                             : R"(Signature realm="giftsync")");
  return response;
}

HttpResponse unknown_source() {
  return problem({404,
                  "not_found",
                  "There is nothing at this address",
                  "There is no webhook source of this name in the settings (sources).",
                  {}});
}

HttpResponse unreadable(const WebhookGarbage& garbage) {
  if (garbage.json)
    return malformed_json(*garbage.json, "Nothing was taken; send the message as JSON, encoded as UTF-8.");
  return problem({400,
                  "invalid",
                  "The message is not valid",
                  garbage.why + ". Nothing was taken; compare it with the source's settings.",
                  {}});
}

HttpResponse too_many_reports(const TooManyReports& many) {
  return problem(
      {413,
       "too_many_reports",
       "The message holds too many reports",
       fmt::format("The message holds {} reports; at most {} are taken in one message. Nothing was "
                   "taken; send fewer in one message.",
                   many.found, kMaxReports),
       {}});
}

/// `faults` are the first ones.
HttpResponse all_faulty(const std::vector<std::string>& faults) {
  FieldNotes notes;
  for (const std::string& fault : faults) notes.push_back({"", "invalid", fault});
  return problem({400, "invalid", "The message is not valid",
                  faults.front() + ". Nothing was taken; compare the message with the source's settings.",
                  notes});
}

HttpResponse source_is_full() {
  HttpResponse response =
      problem({503,
               "source_is_full",
               "Too much of this source is waiting",
               fmt::format("So many reports of this source wait for their transactions or for an "
                           "administrator that no more are taken. Send the message again after {} s.",
                           kFullRetrySeconds),
               {}});
  response.headers.emplace_back("Retry-After", std::to_string(kFullRetrySeconds));
  return response;
}

HttpResponse not_now(const WebhookNotNow& why) {
  HttpResponse response = problem({503,
                                   "cannot_check_now",
                                   "The message cannot be checked now",
                                   fmt::format("{}, so nothing was taken. Send the message again after {} s.",
                                               why.why, kNotNowRetrySeconds),
                                   {}});
  response.headers.emplace_back("Retry-After", std::to_string(kNotNowRetrySeconds));
  return response;
}

HttpResponse taken_answer(const TakenReports& taken) {
  const schema::SourceReceipt& receipt = taken.receipt;
  const nlohmann::ordered_json body{
      {"message", receipt.kind == schema::SourceReceipt::Kind::replayed ? "Known already." : "Taken."},
      {"data",
       {{"accepted", receipt.accepted},
        {"repeated", receipt.repeated},
        {"held", receipt.held},
        {"ignored", taken.ignored},
        {"kept_aside", receipt.kept_aside},
        {"gifts", receipt.gifts}}}};
  HttpResponse response;
  response.status = 200;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = body.dump();
  return response;
}

}  // namespace

StatusChangeDoor::StatusChangeDoor(const std::vector<SourcePlan>& plans, SourceIntake& intake,
                                   SourceWatch& watch, Clock clock, FetchText fetch,
                                   std::size_t max_body_bytes)
    : intake_(intake),
      watch_(watch),
      clock_(std::move(clock)),
      fetch_(std::move(fetch)),
      max_body_bytes_(max_body_bytes) {
  for (const SourcePlan& plan : plans) {
    if (plan.settings.kind == SourceKind::webhook) plans_.emplace(plan.settings.name, plan);
  }
}

HttpResponse StatusChangeDoor::answer(const HttpRequest& request, std::string_view source) {
  const auto found = plans_.find(source);
  if (found == plans_.end()) return unknown_source();
  const SourcePlan& plan = found->second;
  if (request.method != "POST") return method_not_allowed({"POST"});
  // Most signatures cover the body, and some are in it, so its size and encoding come first here.
  if (request.body_too_large) return refused(plan, body_too_large(max_body_bytes_));
  if (const auto fault = content_encoding_fault(request))
    return refused(plan, unsupported_content_encoding(*fault));
  const schema::UtcMillis now = clock_();
  WebhookMessage message = read_webhook_message(plan, request, now, fetch_);
  if (const auto* refusal = std::get_if<WebhookRefusal>(&message)) {
    watch_.note_refused(plan.settings.name, refusal->why, now);
    return refused_signature(plan);
  }
  if (const auto* later = std::get_if<WebhookNotNow>(&message)) {
    watch_.note(plan.settings.name, SourceState::fails, later->why, now);
    return not_now(*later);
  }
  if (const auto* wrong = std::get_if<WebhookWrongType>(&message))
    return refused(plan, unsupported_media_type(wrong->why));
  if (const auto* many = std::get_if<TooManyReports>(&message)) {
    watch_.note(
        plan.settings.name, SourceState::garbage,
        fmt::format("a message held {} reports; allowed: at most {} in one", many->found, kMaxReports), now);
    return refused(plan, too_many_reports(*many));
  }
  if (const auto* garbage = std::get_if<WebhookGarbage>(&message)) {
    watch_.note(plan.settings.name, SourceState::garbage, garbage->why, now);
    return refused(plan, unreadable(*garbage));
  }
  return take(plan, std::move(std::get<WebhookReports>(message)), now);
}

HttpResponse StatusChangeDoor::refused(const SourcePlan& plan, HttpResponse response) {
  watch_.count_refused(plan.settings.name);
  return response;
}

HttpResponse StatusChangeDoor::take(const SourcePlan& plan, WebhookReports message, schema::UtcMillis now) {
  std::vector<Judgement> judged = intake_.judge_all(plan, message.reports, now);
  std::size_t faulty = 0;
  std::vector<std::string> faults;  // the first of them
  for (const Judgement& one : judged) {
    if (!one.item.kept_aside || one.item.aside.reason != schema::AsideReason::faulty) continue;
    if (++faulty <= kMostFaultsTold) faults.push_back(one.item.aside.detail);
  }
  if (!judged.empty() && faulty == judged.size()) {
    watch_.note(plan.settings.name, SourceState::garbage, faults.front(), now);
    return refused(plan, all_faulty(faults));
  }
  const TakenReports taken =
      intake_.take(plan, std::move(judged), {std::move(message.message_id), std::nullopt}, now);
  if (taken.receipt.kind == schema::SourceReceipt::Kind::full) {
    watch_.note(plan.settings.name, SourceState::full,
                "too many reports are held or kept aside; see giftsyncctl source list", now);
    return source_is_full();
  }
  if (message.doubt)
    watch_.note(plan.settings.name, SourceState::works, *message.doubt, now);
  else
    watch_.note_message(plan.settings.name, now);
  return taken_answer(taken);
}

}  // namespace giftsync::daemon
