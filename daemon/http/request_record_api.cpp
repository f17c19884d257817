#include "daemon/http/request_record_api.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/crypto/digest.h"
#include "daemon/crypto/random.h"
#include "daemon/http/gift_request_answers.h"
#include "daemon/http/json_call.h"
#include "daemon/http/problem.h"
#include "schema/address.h"
#include "schema/broken_world.h"

namespace giftsync::daemon {
namespace {

using Json = nlohmann::ordered_json;
using schema::RequestRecord;
using F = schema::RequestField;

HttpResponse json_answer(int status, const Json& body) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

Json summary(const std::string& id, const std::string& number, std::string_view status) {
  return {{"Id", id}, {"Name", number}, {"Request_Status", status}};
}

HttpResponse unknown_request() {
  return problem({404, "unknown_request_record", "Not Found", "There is no such request record.", {}});
}

HttpResponse not_available() {
  return problem({403,
                  "requests_disabled",
                  "Forbidden",
                  "Request records are not in use here: requests.enabled in the settings is false.",
                  {}});
}

HttpResponse may_not_auto_approve() {
  return problem(
      {403,
       "may_not_auto_approve",
       "Forbidden",
       "This API key may not set Auto_Approved: it lacks the scope approve, and "
       "requests.api_may_auto_approve in the settings is false. Leave it out; the request then waits for "
       "approval.",
       {}});
}

HttpResponse own_request() {
  return problem(
      {403,
       "own_request",
       "Forbidden",
       "Nobody approves what they asked for themselves (requests.own_approval in the settings is false). "
       "Ask somebody else to approve it.",
       {}});
}

HttpResponse may_not_send_for_others() {
  return problem({403,
                  "sender_is_another",
                  "Forbidden",
                  "This API key may not set Auto_Approved on behalf of another Sender: it lacks the scope "
                  "approve. Leave "
                  "Auto_Approved out; the request then waits for approval.",
                  {}});
}

std::string body_hash(const RequestRecord& record) {
  return to_hex(sha256(schema::write_values(record, schema::given_fields())));
}

HttpResponse illegal_move(const std::string& why) {
  return problem({409, "illegal_move", "Conflict", why, {}});
}

HttpResponse changed_meanwhile(const std::string& why) {
  return problem({409,
                  "changed_meanwhile",
                  "Conflict",
                  "The request record was changed at the same moment: " + why + ".",
                  {}});
}

}  // namespace

RequestRecordApi::RequestRecordApi(schema::Store& store, schema::Crm& crm, KeyGate& gate,
                                   const GiftLinks& links, const RequestSettings& settings,
                                   std::size_t max_body_bytes, Clock clock, std::function<void()> on_changed)
    : store_(store),
      crm_(crm),
      gate_(gate),
      links_(links),
      settings_(settings),
      max_body_bytes_(max_body_bytes),
      clock_(std::move(clock)),
      on_changed_(std::move(on_changed)) {}

HttpResponse RequestRecordApi::create(const HttpRequest& request) {
  return with_key(request, schema::Scope::request,
                  [&](const schema::KeyHolder& caller) { return create(request, caller); });
}

HttpResponse RequestRecordApi::read(const HttpRequest& request, std::string_view number) {
  return with_key(request, schema::Scope::request,
                  [&](const schema::KeyHolder& caller) { return read(std::string(number), caller); });
}

HttpResponse RequestRecordApi::decide(const HttpRequest& request, std::string_view number,
                                      sync::RequestAct act) {
  return with_key(request, schema::Scope::approve, [&](const schema::KeyHolder& caller) {
    return decide(request, std::string(number), act, caller);
  });
}

HttpResponse RequestRecordApi::with_key(const HttpRequest& request, schema::Scope scope,
                                        const KeyGate::Work& work) {
  return gate_.answer(request, scope, [&](const schema::KeyHolder& caller) {
    return settings_.enabled ? work(caller) : not_available();
  });
}

HttpResponse RequestRecordApi::create(const HttpRequest& request, const schema::KeyHolder& caller) {
  auto call = read_json_call(request, max_body_bytes_, Repeats::by_key,
                             [&] { return read_request_record_body(request.body); });
  if (auto* refusal = std::get_if<HttpResponse>(&call)) return std::move(*refusal);
  auto& [body, key] = std::get<JsonCall<RequestRecordBody>>(call);
  std::optional<schema::IdempotencyKey> idempotency;
  if (key) idempotency = {*key, body_hash(body.record)};
  const bool may_approve =
      settings_.api_may_auto_approve || caller.key.scopes.contains(schema::Scope::approve);
  if (body.record.checked(F::auto_approved).value_or(false) && !may_approve) return may_not_auto_approve();
  // The key is tied to its sender (Spec 5.2): for others it may only ask, and somebody has to approve.
  const std::vector<schema::CrmUser> own = crm_users_of(caller);
  const std::string sender = body.record.text(F::sender);
  if (sender.empty() && !own.empty()) body.record.set(F::sender, own.front().id);
  const bool is_for_others = !sender.empty() && std::none_of(own.begin(), own.end(), [&](const auto& user) {
    return user.id == sender;
  });
  if (body.record.checked(F::auto_approved).value_or(false) && is_for_others &&
      !caller.key.scopes.contains(schema::Scope::approve))
    return may_not_send_for_others();
  return create_once(body, idempotency, caller);
}

/// The CRM makes a record once under its creation key, so a call that is repeated, after whatever broke, ends
/// in the same one.
HttpResponse RequestRecordApi::create_once(const RequestRecordBody& body,
                                           const std::optional<schema::IdempotencyKey>& idempotency,
                                           const schema::KeyHolder& caller) {
  schema::RequestMaking making;
  making.creation_key = random_hex(16);
  if (idempotency) {
    making = store_.requests.begin_making(caller.account.id, *idempotency, making.creation_key, clock_());
    if (making.is_mismatch) return idempotency_mismatch();
  }
  if (making.key.empty()) {
    const RequestRecord made = make({making.creation_key, body.record});
    making.key = made.id;
    making.number = made.text(F::number);
    try {
      store_.requests.note_made({making.key, making.number, caller.account.email, making.creation_key},
                                clock_());
    } catch (const schema::BrokenWorld& fault) {
      // The record stands: an error now would make its caller ask for a second gift.
      spdlog::warn("request {}: who asked for it could not be kept: {}", making.number, fault.what());
    }
    on_changed_();
  }
  return json_answer(201,
                     {{"message", "Request record created."},
                      {"data", summary(making.key, making.number, to_word(schema::RequestStatus::pending))},
                      {"warnings", Json::parse(warnings_json(body.warnings))}});
}

/// After a connection that broke, asking once more tells whether it was made.
RequestRecord RequestRecordApi::make(const schema::NewRequest& asked) {
  try {
    return crm_.create_requests(std::span(&asked, 1)).front();
  } catch (const schema::BrokenWorld& fault) {
    if (!fault.transient()) throw;
    return crm_.create_requests(std::span(&asked, 1)).front();
  }
}

/// Approvers read all of them, others what they asked for.
HttpResponse RequestRecordApi::read(const std::string& number, const schema::KeyHolder& caller) {
  const auto row = crm_.find_request(number);
  if (!row) return unknown_request();
  const auto sent = store_.requests.sent(std::span(&row->id, 1));
  const bool may_read = caller.key.scopes.contains(schema::Scope::approve) || is_own(*row, caller) ||
                        (!sent.empty() && was_own(sent.front(), caller));
  if (!may_read) return unknown_request();
  Json data = summary(row->id, row->text(F::number), row->text(F::status));
  const std::string error = row->text(F::error_log);
  data["Error_Log"] = error.empty() ? Json(nullptr) : Json(error);
  data["gift_request_id"] = sent.empty() ? Json(nullptr) : Json(sent.front().gift_request.value);
  const auto urls = sent.empty() ? std::nullopt : links_for(sent.front(), caller);
  data["gift_redemption_url"] = urls ? Json(urls->redemption_url) : Json(nullptr);
  data["gift_donation_url"] = urls ? Json(urls->donation_url) : Json(nullptr);
  return json_answer(200, {{"data", data}});
}

/// Who has them can take the gift. So they go to whoever asked for it or is its Sender, as that was when it
/// was sent: a Sender who is edited in later gets nothing, and who only approves has no use for them.
std::optional<HandedLinks> RequestRecordApi::links_for(const schema::SentRequest& sent,
                                                       const schema::KeyHolder& caller) {
  const auto request = store_.gifts.request(sent.gift_request);
  if (!request || request->mode != schema::SendMode::urls || !was_own(sent, caller)) return std::nullopt;
  const auto gifts = store_.gifts.recipients(sent.gift_request);
  if (gifts.empty() || end_of_links(store_, gifts.front())) return std::nullopt;
  return handed_links(links_, gifts.front());
}

bool RequestRecordApi::was_own(const schema::SentRequest& sent, const schema::KeyHolder& caller) {
  const auto request = store_.gifts.request(sent.gift_request);
  RequestRecord as_sent;
  as_sent.id = sent.origin.key;
  if (request) as_sent.set(F::created_by, request->triggered_by);
  as_sent.set(F::sender, sent.origin.sender_id);
  return is_own(as_sent, caller);
}

std::vector<schema::CrmUser> RequestRecordApi::crm_users_of(const schema::KeyHolder& caller) {
  const std::string key = schema::email_key(caller.account.email);
  return crm_.find_users(std::span(&key, 1)).front();
}

bool RequestRecordApi::is_own(const RequestRecord& row, const schema::KeyHolder& caller) {
  const auto known = store_.requests.find(std::span(&row.id, 1));
  const std::string key = schema::email_key(caller.account.email);
  if (!known.empty() && schema::email_key(known.front().asked_by) == key) return true;
  const std::vector<schema::CrmUser> users = crm_users_of(caller);
  return std::any_of(users.begin(), users.end(), [&](const schema::CrmUser& user) {
    return user.id == row.text(F::created_by) || user.id == row.text(F::sender);
  });
}

HttpResponse RequestRecordApi::decide(const HttpRequest& request, const std::string& number,
                                      sync::RequestAct act, const schema::KeyHolder& caller) {
  auto call = read_json_call(request, max_body_bytes_, Repeats::harmless,
                             [&] { return read_verdict_body(request.body); });
  if (auto* refusal = std::get_if<HttpResponse>(&call)) return std::move(*refusal);
  const auto& verdict = std::get<JsonCall<VerdictBody>>(call).body;
  const auto row = crm_.find_request(number);
  if (!row) return unknown_request();
  if (act == sync::RequestAct::approve && !settings_.own_approval && is_own(*row, caller))
    return own_request();
  // By its number, which is looked for first: somebody else's Id may look like it.
  const std::string same = row->text(F::number).empty() ? row->id : row->text(F::number);
  const sync::VerdictOutcome outcome =
      sync::decide_request(store_, crm_, same, {act, caller.account.email, verdict.comment}, clock_());
  using Kind = sync::VerdictOutcome::Kind;
  if (outcome.kind == Kind::unknown) return unknown_request();
  if (outcome.kind == Kind::illegal) return illegal_move(outcome.why);
  if (outcome.kind == Kind::changed) return changed_meanwhile(outcome.why);
  on_changed_();
  return json_answer(200, {{"message", act == sync::RequestAct::approve ? "Approved." : "Rejected."},
                           {"data", summary(outcome.id, outcome.number, to_word(outcome.status))}});
}

}  // namespace giftsync::daemon
