#include "daemon/handlers/request_record_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "daemon/handlers/gift_request_json.h"
#include "daemon/http/json_request.h"
#include "daemon/http/routes.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/json.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::handlers {
namespace {

using LocatedObject = http::JsonObjectReader::LocatedObject;
using F = RequestRecordField;

constexpr std::size_t kLookupCodePoints = 255;
constexpr std::size_t kCommentCodePoints = 1000;

/// Reads a text field: text, or a number for ids, because automation tools send ids as numbers.
void read_text(http::JsonObjectReader& fields, const LocatedObject& root, F field, RequestRecord& record) {
  const FieldDescriptor& descriptor = descriptor_of(field);
  const JsonValue* value = http::JsonObjectReader::optional_member(root, descriptor.name);
  if (value == nullptr) return;
  std::string text;
  if (const auto number = value->integer(); number && descriptor.type == FieldType::text) {
    text = std::to_string(*number);
  } else if (const auto given = fields.read_string(*value, root, descriptor.name)) {
    text = *given;
  }
  const std::size_t limit =
      descriptor.length > 0 ? static_cast<std::size_t>(descriptor.length) : kLookupCodePoints;
  if (!fields.check_length(text, limit, root, descriptor.name) || text.empty()) return;
  record.set(field, std::move(text));
}

void read_checkbox(http::JsonObjectReader& fields, const LocatedObject& root, F field,
                   RequestRecord& record) {
  const FieldDescriptor& descriptor = descriptor_of(field);
  const JsonValue* value = http::JsonObjectReader::optional_member(root, descriptor.name);
  if (value == nullptr) return;
  if (const auto checked = value->boolean())
    record.set(field, *checked);
  else
    fields.add_wrong_type(std::string(descriptor.name), descriptor.name, "true or false", *value);
}

std::string name_of(F field) {
  return std::string(descriptor_of(field).name);
}

bool is_blank(const LocatedObject& root, F field) {
  const JsonValue* value = http::JsonObjectReader::optional_member(root, name_of(field));
  return value == nullptr || (value->text() && trimmed(*value->text()).empty());
}

/// A record without gift or recipient can never be sent.
void require_gift_and_recipient(http::JsonObjectReader& fields, const LocatedObject& root) {
  const auto hint = [&](F field) {
    return http::JsonObjectReader::similar_member_hint(root, name_of(field));
  };
  if (is_blank(root, F::gift_id))
    fields.add_error(name_of(F::gift_id), "missing",
                     name_of(F::gift_id) + " is required." + hint(F::gift_id));
  const bool has_recipient = !is_blank(root, F::recipient_email) || !is_blank(root, F::recipient_contact) ||
                             !is_blank(root, F::recipient_lead);
  if (!has_recipient)
    fields.add_error(name_of(F::recipient_email), "missing",
                     "Recipient_Email, Recipient_Contact or Recipient_Lead is required." +
                         hint(F::recipient_email) + hint(F::recipient_contact) + hint(F::recipient_lead));
}

void warn_of_address(http::JsonObjectReader& fields, const RequestRecord& record) {
  const std::string& address = record.text(F::recipient_email);
  const auto reason = address.empty() ? std::nullopt : email_error(trimmed(address));
  if (reason)
    fields.add_warning(
        name_of(F::recipient_email), "invalid_email",
        fmt::format("Recipient_Email {} {}: no gift can be sent to it.", http::quoted(address), *reason));
}

void warn_of_unknown_members(http::JsonObjectReader& fields, const LocatedObject& root) {
  std::vector<std::string> known;
  for (const F field : creatable_fields()) known.push_back(name_of(field));
  for (const JsonMember& member : root.object.members()) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    const std::string nearest = suggestion_for(member.name, known);
    fields.add_warning(
        std::string(truncated(member.name, 60)), "unknown_member",
        fmt::format("{} is not a member of this request and was ignored{}", http::quoted(member.name),
                    nearest.empty() ? "." : "; did you mean " + nearest + "?"));
  }
}

}  // namespace

tl::expected<RequestRecordBody, http::BodyError> parse_request_record_body(std::string_view body) {
  return http::read_json_body(body, [](http::JsonObjectReader& fields, const LocatedObject& root) {
    RequestRecordBody read;
    read.record.set(F::auto_approved, false);
    for (const F field : creatable_fields()) {
      if (descriptor_of(field).type == FieldType::checkbox)
        read_checkbox(fields, root, field, read.record);
      else
        read_text(fields, root, field, read.record);
    }
    require_gift_and_recipient(fields, root);
    warn_of_address(fields, read.record);
    warn_of_unknown_members(fields, root);
    read.warnings = fields.take_warnings();
    return read;
  });
}

tl::expected<ApprovalDecisionBody, http::BodyError> parse_approval_decision_body(std::string_view body) {
  if (trimmed(body).empty()) return ApprovalDecisionBody{};
  return http::read_json_body(body, [](http::JsonObjectReader& fields, const LocatedObject& root) {
    return ApprovalDecisionBody{fields.read_optional_line(root, "comment", kCommentCodePoints)};
  });
}

namespace {

using Versions = std::vector<std::string>;

Json summary(const std::string& id, const std::string& number, std::string_view status) {
  return {{"Id", id}, {"Name", number}, {"Request_Status", status}};
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

http::HttpResponse unknown_request_record() {
  return http::problem("unknown_request_record", "There is no such request record.");
}

http::HttpResponse content_changed() {
  return http::problem(
      "content_changed",
      "The request record's content is not the one that If-Match names: it was edited since. "
      "Nothing was decided; read it again.");
}

std::string entity_tag(const std::string& version) {
  return "\"" + version + "\"";
}

}  // namespace

/// The versions that If-Match names; nullopt without a condition. A weak or malformed tag matches nothing
/// (RFC 9110, 13.1.1).
std::optional<Versions> versions_of(const http::HttpRequest& request) {
  const auto [first, last] = request.headers.equal_range("If-Match");
  if (first == last) return std::nullopt;
  Versions versions;
  for (auto header = first; header != last; ++header) {
    std::string_view list = header->second;
    if (trimmed(list) == "*") return std::nullopt;
    while (!list.empty()) {
      const std::string_view tag = trimmed(list.substr(0, list.find(',')));
      list.remove_prefix(std::min(list.find(','), list.size() - 1) + 1);
      const bool is_strong = tag.size() > 2 && tag.starts_with('"') && tag.ends_with('"');
      versions.emplace_back(is_strong ? tag.substr(1, tag.size() - 2) : "");
    }
  }
  if (versions.empty()) versions.emplace_back();
  return versions;
}

namespace {

/// What an approval binds to, by the names that a caller creates the record with; absent values are left out.
Json content_json(const RequestRecord& record) {
  Json content = Json::object();
  for (const F field : approval_bound_fields()) {
    const std::string name(descriptor_of(field).name);
    if (const auto* text = std::get_if<std::string>(&record.get(field)))
      content[name] = *text;
    else if (const auto* checked = std::get_if<bool>(&record.get(field)))
      content[name] = *checked;
  }
  return content;
}

std::string body_hash(const RequestRecord& record) {
  return sha256_hex(format_values(record, creatable_fields()));
}

/// The refusal of Auto_Approved, when this caller may not set it (HTTP-27, REQ-44).
std::optional<http::HttpResponse> auto_approval_refusal(const sync::RequestRecordCaller& caller,
                                                        const RequestRecord& record,
                                                        const config::RequestSettings& settings) {
  if (!record.checkbox(F::auto_approved).value_or(false)) return std::nullopt;
  const sync::ApprovalSettings approval{settings.allow_api_auto_approval, settings.allow_self_approval};
  switch (sync::auto_approval_access(caller, record.text(F::sender), approval)) {
    case sync::AutoApprovalAccess::allowed:
      return std::nullopt;
    case sync::AutoApprovalAccess::not_enabled:
      return http::problem(
          "may_not_auto_approve",
          "This API key may not set Auto_Approved, which would approve its own request. That takes "
          "requests.allow_api_auto_approval in the settings, or requests.allow_self_approval and the scope "
          "approve. Leave Auto_Approved out; the request then waits for approval.");
    case sync::AutoApprovalAccess::other_sender:
      return http::problem(
          "sender_is_another",
          "This API key may not set Auto_Approved on behalf of another Sender. That takes "
          "requests.allow_self_approval in the settings and the scope approve. Leave Auto_Approved out; the "
          "request then waits for approval.");
  }
  std::abort();  // a value outside the enumeration: a bug
}

/// After a broken connection a second call returns the record if the first one created it.
RequestRecord create_record(crm::Crm& crm, const crm::NewRequestRecord& new_request) {
  try {
    return crm.request_records()->create(std::span(&new_request, 1)).front();
  } catch (const DependencyError& error) {
    if (!error.transient()) throw;
    return crm.request_records()->create(std::span(&new_request, 1)).front();
  }
}

/// The URLs of the gift that was sent, while they are valid. Their bearer can accept the gift: show them only
/// to those who were parties when the gift was sent. An approver, or a Sender entered later, gets none.
std::optional<sync::RequestUrls> urls_of(store::Store& store, const sync::GiftLinks& links,
                                         GiftRequestId gift_request) {
  const auto request = store.gifts.find_gift_request(gift_request);
  if (!request || request->mode != SendMode::urls) return std::nullopt;
  const auto gifts = store.gifts.find_recipients(gift_request);
  if (gifts.empty() || sync::urls_end_status(store.changes, gifts.front())) return std::nullopt;
  return sync::request_urls(links, gifts.front());
}

sync::RequestRecordParties parties_of(store::Store& store, const RequestRecord& row) {
  return sync::parties_of(row, store.request_records.find(std::span(&row.id, 1)));
}

/// With the creator and the Sender that the record had when its gift was sent.
sync::RequestRecordParties parties_when_sent(store::Store& store, const store::RequestRecordGift& sent) {
  const auto request = store.gifts.find_gift_request(sent.gift_request);
  RequestRecord row_when_sent;
  row_when_sent.id = sent.link.record_id;
  if (request) row_when_sent.set(F::created_by, request->triggered_by);
  row_when_sent.set(F::sender, sent.link.sender_id);
  return parties_of(store, row_when_sent);
}

}  // namespace

http::Reply RequestRecordHandler::handle_for_caller(const http::HttpRequest& request, Scope scope,
                                                    const http::Authenticator::Handler& handler) {
  return authenticator_.handle_authenticated(
      request, scope, [&](const store::ApiKeyOwner& caller) -> http::Reply {
        if (is_test_key(caller.key.prefix))
          return http::live_only(
              "Request records are rows of the CRM, which test keys do not change. Nothing was done; use a "
              "live key, or the endpoint for gift requests.");
        if (options_.settings.enabled) return handler(caller);
        return http::problem(
            "requests_disabled",
            "Request records are not in use here: requests.enabled in the settings is false.");
      });
}

sync::RequestRecordCaller RequestRecordHandler::with_crm_users(const store::ApiKeyOwner& caller) {
  return {caller, [this, key = email_key(caller.account.email)] {
            return crm_.directory().find_users_by_email(std::span(&key, 1)).front();
          }};
}

http::Reply RequestRecordHandler::create(const http::HttpRequest& request, std::string_view) {
  return take(request, CallAim::create);
}

http::Reply RequestRecordHandler::validate(const http::HttpRequest& request, std::string_view) {
  return take(request, CallAim::validate);
}

http::Reply RequestRecordHandler::take(const http::HttpRequest& request, CallAim aim) {
  return handle_for_caller(request, Scope::request, [&](const store::ApiKeyOwner& caller) -> http::Reply {
    if (caller.key.paused_at) return http::key_paused(CredentialKind::api_key, *caller.key.paused_at);
    auto parsed = http::parse_json_request(request, options_.max_body_bytes, http::CallKind::creates,
                                           [&] { return parse_request_record_body(request.body); });
    if (!parsed) return std::move(parsed.error());
    RequestRecord& record = parsed->body.record;
    std::optional<store::IdempotencyKey> idempotency;
    if (parsed->idempotency_key) idempotency = {*parsed->idempotency_key, body_hash(record)};
    const sync::RequestRecordCaller asking = with_crm_users(caller);
    if (auto refusal = auto_approval_refusal(asking, record, options_.settings)) return std::move(*refusal);
    if (record.text(F::sender).empty()) {
      const std::vector<crm::CrmUser> users = asking.find_crm_users();
      if (!users.empty()) record.set(F::sender, users.front().id);
    }
    const auto item = find_item(parsed->body);
    if (aim == CallAim::validate) return validated(std::move(parsed->body), item, request);
    return create_once(parsed->body, idempotency, caller, request.request_id);
  });
}

/// The record may be made before its item is imported; it cannot be sent before.
std::optional<store::GiftItem> RequestRecordHandler::find_item(RequestRecordBody& body) {
  const auto id = sync::gift_id_of(body.record);
  auto item = id ? store_.catalogue.item(*id) : std::nullopt;
  if (item && item->active) return item;
  body.warnings.add_warning(
      "Gift_Id", "unknown_gift",
      fmt::format("{} is not a gift that can be sent; ask your administrator for the ids of those that can.",
                  http::quoted(body.record.text(F::gift_id))));
  return std::nullopt;
}

/// The CRM creates a record once for a creation key, so a call repeated after any failure returns the same
/// record.
http::HttpResponse RequestRecordHandler::create_once(const RequestRecordBody& body,
                                                     const std::optional<store::IdempotencyKey>& idempotency,
                                                     const store::ApiKeyOwner& caller,
                                                     const std::string& http_request_id) {
  store::CreationReservation creation;
  creation.creation_key = random_hex(16);
  if (idempotency) {
    creation = store_.request_records.reserve_creation_key(caller.account.id, *idempotency,
                                                           creation.creation_key, options_.clock());
    if (creation.is_mismatch) return http::idempotency_mismatch();
  }
  if (creation.record_id.empty()) {
    const RequestRecord created = create_record(crm_, {creation.creation_key, body.record});
    creation.record_id = created.id;
    creation.number = created.text(F::number);
    try {
      store_.request_records.record_created(
          {creation.record_id, creation.number, caller.account.email, creation.creation_key},
          options_.clock());
    } catch (const DependencyError& error) {
      // The record exists: an error response would make the caller request a second gift.
      log_event(LogEvent::request_record_requester_lost,
                fmt::format(
                    "request record {}: could not store its requester, who cannot read its gift URLs now: {}",
                    creation.number, error.what()),
                {LogField("request_record", creation.number).not_in_text(),
                 LogField("request_id", http_request_id).not_in_text()});
    }
    options_.on_changed();
  }
  return http::json_response(
      201, http::json_text(
               {{"message", "Request record created."},
                {"data", summary(creation.record_id, creation.number, to_word(RequestRecordStatus::pending))},
                {"warnings", Json::parse(warnings_json(body.warnings.list()))}}));
}

/// The address is that of the body: the Id of a contact does not give away its address.
http::HttpResponse RequestRecordHandler::validated(RequestRecordBody body,
                                                   const std::optional<store::GiftItem>& item,
                                                   const http::HttpRequest& request) {
  warn_of_ignored_key(request, body.warnings);
  ValidatedRequest validated{{}, {}, body.warnings.list()};
  if (item) validated.costs = sync::request_costs(*item, body.record);
  RecipientVerdict& verdict =
      validated.recipients.emplace_back(name_of(F::recipient_email), body.record.text(F::recipient_email));
  const auto loaded = sync::load_with_defaults(*crm_.request_records(), {std::move(body.record)}).front();
  for (const sync::RequestRecordFinding& finding : options_.findings_of(loaded))
    verdict.findings.push_back({"", http::FieldCode::of_finding(finding.check), finding.message});
  return http::json_response(200, validated_request_json(validated));
}

/// Approvers may read all request records, other callers their own.
http::Reply RequestRecordHandler::read(const http::HttpRequest& request, std::string_view number) {
  return handle_for_caller(request, Scope::request, [&](const store::ApiKeyOwner& caller) {
    const auto row = crm_.request_records()->find_one(std::string(number));
    if (!row) return unknown_request_record();
    const auto sent = store_.request_records.find_gifts_by_record(std::span(&row->id, 1));
    const sync::RequestRecordCaller reader = with_crm_users(caller);
    const auto is_own_when_sent = [&] {
      return !sent.empty() && sync::is_own(parties_when_sent(store_, sent.front()), reader);
    };
    const bool may_read =
        reader.is_approver() || sync::is_own(parties_of(store_, *row), reader) || is_own_when_sent();
    if (!may_read) return unknown_request_record();
    auto urls = sent.empty() ? std::nullopt : urls_of(store_, links_, sent.front().gift_request);
    if (urls && !is_own_when_sent()) urls.reset();
    Json data = summary(row->id, row->text(F::number), row->text(F::status));
    data["Error_Log"] = text_or_null(row->text(F::error_log));
    data["gift_request_id"] = sent.empty() ? Json(nullptr) : Json(sent.front().gift_request.value);
    data["gift_redemption_url"] = urls ? Json(urls->redemption_url) : Json(nullptr);
    data["gift_donation_url"] = urls ? Json(urls->donation_url) : Json(nullptr);
    data["content"] = content_json(*row);
    return http::with_header(http::json_response(200, http::json_text({{"data", data}})), "ETag",
                             entity_tag(sync::content_version(*crm_.request_records(), *row)));
  });
}

http::Reply RequestRecordHandler::approve(const http::HttpRequest& request, std::string_view number) {
  return decide(request, std::string(number), sync::RequestRecordAction::approve);
}

http::Reply RequestRecordHandler::reject(const http::HttpRequest& request, std::string_view number) {
  return decide(request, std::string(number), sync::RequestRecordAction::reject);
}

http::Reply RequestRecordHandler::decide(const http::HttpRequest& request, const std::string& number,
                                         sync::RequestRecordAction action) {
  return handle_for_caller(request, Scope::approve, [&](const store::ApiKeyOwner& caller) {
    auto parsed = http::parse_json_request(
        request, std::min(options_.max_body_bytes, http::kMaxSmallBodyBytes), http::CallKind::changes,
        [&] { return parse_approval_decision_body(request.body); });
    if (!parsed) return std::move(parsed.error());
    const auto row = crm_.request_records()->find_one(number);
    if (!row) return unknown_request_record();
    const bool approves = action == sync::RequestRecordAction::approve;
    if (approves && !options_.settings.allow_self_approval &&
        sync::is_own(parties_of(store_, *row), with_crm_users(caller)))
      return http::problem("own_request",
                           "Requesters cannot approve their own request (requests.allow_self_approval in the "
                           "settings is false). Ask another approver.");
    // By its number, which decide_request_record looks up first: it may equal another record's Id.
    const std::string lookup = row->text(F::number).empty() ? row->id : row->text(F::number);
    const sync::ApprovalResult outcome = sync::decide_request_record(
        store_.request_records, *crm_.request_records(), lookup,
        {action, caller.account.email, parsed->body.comment, versions_of(request).value_or(Versions())},
        options_.clock());
    using Kind = sync::ApprovalResult::Kind;
    if (outcome.kind == Kind::unknown) return unknown_request_record();
    if (outcome.kind == Kind::other_content) return content_changed();
    if (outcome.kind == Kind::illegal) return http::problem("illegal_move", outcome.reason);
    if (outcome.kind == Kind::changed)
      return http::problem("changed_meanwhile",
                           "The request record was changed at the same time: " + outcome.reason + ".");
    options_.on_changed();
    return http::json_response(
        200, http::json_text({{"message", approves ? "Approved." : "Rejected."},
                              {"data", summary(outcome.id, outcome.number, to_word(outcome.status))}}));
  });
}

}  // namespace giftsync::handlers
