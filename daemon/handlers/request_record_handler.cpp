#include "daemon/handlers/request_record_handler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/handlers/gift_request_responses.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/random.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::handlers {
namespace {

using Json = nlohmann::ordered_json;
using F = schema::RequestRecordField;

http::HttpResponse json_response(int status, const Json& body) {
  http::HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

Json summary(const std::string& id, const std::string& number, std::string_view status) {
  return {{"Id", id}, {"Name", number}, {"Request_Status", status}};
}

http::HttpResponse unknown_request_record_problem() {
  return http::problem({404, "unknown_request_record", "Not Found", "There is no such request record.", {}});
}

http::HttpResponse requests_disabled_problem() {
  return http::problem({403,
                        "requests_disabled",
                        "Forbidden",
                        "Request records are not in use here: requests.enabled in the settings is false.",
                        {}});
}

http::HttpResponse may_not_auto_approve() {
  return http::problem(
      {403,
       "may_not_auto_approve",
       "Forbidden",
       "This API key may not set Auto_Approved: it lacks the scope approve, and "
       "requests.allow_api_auto_approval in the settings is false. Leave it out; the request then waits for "
       "approval.",
       {}});
}

http::HttpResponse own_request() {
  return http::problem({403,
                        "own_request",
                        "Forbidden",
                        "Requesters cannot approve their own request (requests.allow_self_approval in the "
                        "settings is false). Ask another approver.",
                        {}});
}

http::HttpResponse sender_is_another_problem() {
  return http::problem(
      {403,
       "sender_is_another",
       "Forbidden",
       "This API key may not set Auto_Approved on behalf of another Sender: it lacks the scope "
       "approve. Leave "
       "Auto_Approved out; the request then waits for approval.",
       {}});
}

std::string body_hash(const schema::RequestRecord& record) {
  return platform::to_hex(platform::sha256(schema::format_values(record, schema::creatable_fields())));
}

http::HttpResponse illegal_move(const std::string& reason) {
  return http::problem({409, "illegal_move", "Conflict", reason, {}});
}

http::HttpResponse changed_meanwhile(const std::string& reason) {
  return http::problem({409,
                        "changed_meanwhile",
                        "Conflict",
                        "The request record was changed at the same time: " + reason + ".",
                        {}});
}

}  // namespace

RequestRecordHandler::RequestRecordHandler(schema::store::Store& store, schema::crm::Crm& crm,
                                           http::Authenticator& authenticator, const sync::GiftLinks& links,
                                           const config::RequestSettings& settings,
                                           std::size_t max_body_bytes, platform::Clock clock,
                                           std::function<void()> on_changed)
    : store_(store),
      crm_(crm),
      authenticator_(authenticator),
      links_(links),
      settings_(settings),
      max_body_bytes_(max_body_bytes),
      clock_(std::move(clock)),
      on_changed_(std::move(on_changed)) {}

http::HttpResponse RequestRecordHandler::create(const http::HttpRequest& request, std::string_view) {
  return handle_for_caller(request, schema::Scope::request, [&](const schema::store::ApiKeyOwner& caller) {
    return create_authorized(request, caller);
  });
}

http::HttpResponse RequestRecordHandler::read(const http::HttpRequest& request, std::string_view number) {
  return handle_for_caller(request, schema::Scope::request, [&](const schema::store::ApiKeyOwner& caller) {
    return read_authorized(std::string(number), caller);
  });
}

http::HttpResponse RequestRecordHandler::approve(const http::HttpRequest& request, std::string_view number) {
  return decide(request, number, sync::RequestRecordAction::approve);
}

http::HttpResponse RequestRecordHandler::reject(const http::HttpRequest& request, std::string_view number) {
  return decide(request, number, sync::RequestRecordAction::reject);
}

http::HttpResponse RequestRecordHandler::decide(const http::HttpRequest& request, std::string_view number,
                                                sync::RequestRecordAction action) {
  return handle_for_caller(request, schema::Scope::approve, [&](const schema::store::ApiKeyOwner& caller) {
    return decide_authorized(request, std::string(number), action, caller);
  });
}

http::HttpResponse RequestRecordHandler::handle_for_caller(const http::HttpRequest& request,
                                                           schema::Scope scope,
                                                           const http::Authenticator::Handler& handler) {
  return authenticator_.handle_authenticated(request, scope, [&](const schema::store::ApiKeyOwner& caller) {
    return settings_.enabled ? handler(caller) : requests_disabled_problem();
  });
}

http::HttpResponse RequestRecordHandler::create_authorized(const http::HttpRequest& request,
                                                           const schema::store::ApiKeyOwner& caller) {
  auto parsed = http::parse_json_request(request, max_body_bytes_, http::RepeatPolicy::by_idempotency_key,
                                         [&] { return parse_request_record_body(request.body); });
  if (auto* refusal = std::get_if<http::HttpResponse>(&parsed)) return std::move(*refusal);
  auto& [body, idempotency_key] = std::get<http::JsonRequest<RequestRecordBody>>(parsed);
  std::optional<schema::store::IdempotencyKey> idempotency;
  if (idempotency_key) idempotency = {*idempotency_key, body_hash(body.record)};
  // HTTP-27, REQ-44
  const sync::RequestRecordCaller asking = with_crm_users(caller);
  const std::string sender = body.record.text(F::sender);
  if (body.record.checkbox(F::auto_approved).value_or(false)) {
    switch (sync::auto_approval_access(asking, sender, settings_.allow_api_auto_approval)) {
      case sync::AutoApprovalAccess::allowed:
        break;
      case sync::AutoApprovalAccess::missing_scope:
        return may_not_auto_approve();
      case sync::AutoApprovalAccess::other_sender:
        return sender_is_another_problem();
    }
  }
  if (sender.empty()) {
    const std::vector<schema::crm::CrmUser> users = asking.find_crm_users();
    if (!users.empty()) body.record.set(F::sender, users.front().id);
  }
  return create_once(body, idempotency, caller);
}

/// The CRM creates a record once for a creation key, so a call repeated after any failure returns the same
/// record.
http::HttpResponse RequestRecordHandler::create_once(
    const RequestRecordBody& body, const std::optional<schema::store::IdempotencyKey>& idempotency,
    const schema::store::ApiKeyOwner& caller) {
  schema::store::CreationReservation creation;
  creation.creation_key = platform::random_hex(16);
  if (idempotency) {
    creation = store_.request_records.reserve_creation_key(caller.account.id, *idempotency,
                                                           creation.creation_key, clock_());
    if (creation.is_mismatch) return http::idempotency_mismatch();
  }
  if (creation.record_id.empty()) {
    const schema::RequestRecord created = create_record({creation.creation_key, body.record});
    creation.record_id = created.id;
    creation.number = created.text(F::number);
    try {
      store_.request_records.record_created(
          {creation.record_id, creation.number, caller.account.email, creation.creation_key}, clock_());
    } catch (const platform::DependencyError& error) {
      // The record exists: an error response would make the caller request a second gift.
      spdlog::warn("request record {}: could not store its requester, who cannot read its gift URLs now: {}",
                   creation.number, error.what());
    }
    on_changed_();
  }
  return json_response(
      201,
      {{"message", "Request record created."},
       {"data", summary(creation.record_id, creation.number, to_word(schema::RequestRecordStatus::pending))},
       {"warnings", Json::parse(warnings_json(body.warnings))}});
}

/// After a broken connection a second call returns the record if the first one created it.
schema::RequestRecord RequestRecordHandler::create_record(const schema::crm::NewRequestRecord& new_request) {
  try {
    return crm_.request_records()->create(std::span(&new_request, 1)).front();
  } catch (const platform::DependencyError& error) {
    if (!error.transient()) throw;
    return crm_.request_records()->create(std::span(&new_request, 1)).front();
  }
}

/// Approvers may read all request records, other callers their own.
http::HttpResponse RequestRecordHandler::read_authorized(const std::string& number,
                                                         const schema::store::ApiKeyOwner& caller) {
  const auto row = crm_.request_records()->find_one(number);
  if (!row) return unknown_request_record_problem();
  const auto sent = store_.request_records.find_gifts_by_record(std::span(&row->id, 1));
  const sync::RequestRecordCaller reader = with_crm_users(caller);
  const auto is_own_when_sent = [&] {
    return !sent.empty() && sync::is_own(parties_when_sent(sent.front()), reader);
  };
  const bool may_read = reader.is_approver() || sync::is_own(parties(*row), reader) || is_own_when_sent();
  if (!may_read) return unknown_request_record_problem();
  Json data = summary(row->id, row->text(F::number), row->text(F::status));
  const std::string error = row->text(F::error_log);
  data["Error_Log"] = error.empty() ? Json(nullptr) : Json(error);
  data["gift_request_id"] = sent.empty() ? Json(nullptr) : Json(sent.front().gift_request.value);
  auto urls = sent.empty() ? std::nullopt : urls_of(sent.front().gift_request);
  if (urls && !is_own_when_sent()) urls.reset();
  data["gift_redemption_url"] = urls ? Json(urls->redemption_url) : Json(nullptr);
  data["gift_donation_url"] = urls ? Json(urls->donation_url) : Json(nullptr);
  return json_response(200, {{"data", data}});
}

std::optional<sync::RequestUrls> RequestRecordHandler::urls_of(schema::GiftRequestId gift_request) {
  const auto request = store_.gifts.find_gift_request(gift_request);
  if (!request || request->mode != schema::SendMode::urls) return std::nullopt;
  const auto gifts = store_.gifts.find_recipients(gift_request);
  if (gifts.empty() || sync::urls_end_status(store_, gifts.front())) return std::nullopt;
  return sync::request_urls(links_, gifts.front());
}

sync::RequestRecordCaller RequestRecordHandler::with_crm_users(const schema::store::ApiKeyOwner& caller) {
  return {caller, [this, key = schema::email_key(caller.account.email)] {
            return crm_.directory().find_users_by_email(std::span(&key, 1)).front();
          }};
}

sync::RequestRecordParties RequestRecordHandler::parties(const schema::RequestRecord& row) {
  return sync::parties_of(row, store_.request_records.find(std::span(&row.id, 1)));
}

sync::RequestRecordParties RequestRecordHandler::parties_when_sent(
    const schema::store::RequestRecordGift& sent) {
  const auto request = store_.gifts.find_gift_request(sent.gift_request);
  schema::RequestRecord row_when_sent;
  row_when_sent.id = sent.link.record_id;
  if (request) row_when_sent.set(F::created_by, request->triggered_by);
  row_when_sent.set(F::sender, sent.link.sender_id);
  return parties(row_when_sent);
}

http::HttpResponse RequestRecordHandler::decide_authorized(const http::HttpRequest& request,
                                                           const std::string& number,
                                                           sync::RequestRecordAction action,
                                                           const schema::store::ApiKeyOwner& caller) {
  auto parsed = http::parse_json_request(request, max_body_bytes_, http::RepeatPolicy::naturally_idempotent,
                                         [&] { return parse_approval_decision_body(request.body); });
  if (auto* refusal = std::get_if<http::HttpResponse>(&parsed)) return std::move(*refusal);
  const auto& decision = std::get<http::JsonRequest<ApprovalDecisionBody>>(parsed).body;
  const auto row = crm_.request_records()->find_one(number);
  if (!row) return unknown_request_record_problem();
  if (action == sync::RequestRecordAction::approve && !settings_.allow_self_approval &&
      sync::is_own(parties(*row), with_crm_users(caller)))
    return own_request();
  // By its number, which decide_request_record looks up first: it may equal another record's Id.
  const std::string lookup = row->text(F::number).empty() ? row->id : row->text(F::number);
  const sync::ApprovalResult outcome = sync::decide_request_record(
      store_, *crm_.request_records(), lookup, {action, caller.account.email, decision.comment}, clock_());
  using Kind = sync::ApprovalResult::Kind;
  if (outcome.kind == Kind::unknown) return unknown_request_record_problem();
  if (outcome.kind == Kind::illegal) return illegal_move(outcome.reason);
  if (outcome.kind == Kind::changed) return changed_meanwhile(outcome.reason);
  on_changed_();
  return json_response(200,
                       {{"message", action == sync::RequestRecordAction::approve ? "Approved." : "Rejected."},
                        {"data", summary(outcome.id, outcome.number, to_word(outcome.status))}});
}

}  // namespace giftsync::daemon::handlers
