#include "daemon/handlers/gift_request_handler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/handlers/call_parameters.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "daemon/http/reply.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "sync/access/credential.h"
#include "sync/access/recent_recipients.h"
#include "sync/access/sending_budgets.h"
#include "sync/gift/gift_actions.h"
#include "sync/gift/held_requests.h"
#include "sync/gift/test_gifts.h"

namespace giftsync::handlers {
namespace {

using validation::email_field;
using validation::limit_findings;
using validation::recent_gift;
using validation::warn_of_recent_gifts;

constexpr std::int64_t kOverloadRetrySeconds = 1;
constexpr std::size_t kMaxListedFindings = 100;

/// What is listed of refused recipients: the first ones, and how many more there are.
http::FieldIssues listed(http::FieldIssues refused) {
  if (refused.size() <= kMaxListedFindings) return refused;
  const std::size_t more = refused.size() - kMaxListedFindings;
  refused.erase(refused.begin() + kMaxListedFindings, refused.end());
  refused.push_back({"recipients", "more", fmt::format("{} more recipients are refused.", more)});
  return refused;
}

/// The refusal of the recipients that have a finding; empty when none has.
http::FieldIssues refused_recipients(const std::vector<std::optional<sync::SendingFinding>>& findings) {
  http::FieldIssues refused;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i])
      refused.push_back(
          {email_field(i), http::FieldCode::of_finding(findings[i]->code), findings[i]->message});
  }
  return listed(std::move(refused));
}

/// In each answer, so that no script takes a test for the real call.
void warn_of_test(http::WarningList& warnings) {
  warnings.add_warning("", "test",
                       "This is a test: no recipient and no approver is mailed, and the CRM is not written.");
}

/// `made`: what became of this request, as a clause.
void add_possible_duplicate(http::WarningList& warnings, std::size_t index,
                            const RecentGifts::Earlier& earlier, std::string_view made) {
  warnings.add_warning(
      email_field(index), "possible_duplicate",
      fmt::format("Gift request {} has the same gift, address and message and was made {} s ago; {}. An "
                  "Idempotency-Key prevents double sending.",
                  earlier.request.value, earlier.seconds_ago, made));
}

}  // namespace

GiftRequestHandler::GiftRequestHandler(store::Store& store, sync::UrgentWriter& writer,
                                       http::Authenticator& authenticator, const sync::GiftLinks& links,
                                       sync::SendingPolicy& policy, GiftRequestHandlerOptions options,
                                       OnCreated on_created)
    : store_(store),
      writer_(writer),
      authenticator_(authenticator),
      links_(links),
      policy_(policy),
      options_(std::move(options)),
      on_created_(std::move(on_created)),
      items_(options_.clock, [this](const GiftId& id) { return store_.catalogue.item(id); }),
      recent_gifts_(options_.clock) {}

http::Reply GiftRequestHandler::send_by_email(const http::HttpRequest& request, std::string_view) {
  return take(request, SendMode::email, CallAim::create);
}

http::Reply GiftRequestHandler::create_urls(const http::HttpRequest& request, std::string_view) {
  return take(request, SendMode::urls, CallAim::create);
}

http::Reply GiftRequestHandler::validate_by_email(const http::HttpRequest& request, std::string_view) {
  return take(request, SendMode::email, CallAim::validate);
}

http::Reply GiftRequestHandler::validate_urls(const http::HttpRequest& request, std::string_view) {
  return take(request, SendMode::urls, CallAim::validate);
}

http::Reply GiftRequestHandler::take(const http::HttpRequest& request, SendMode mode, CallAim aim) {
  const auto handle = [&](const store::ApiKeyOwner& caller) -> http::Reply {
    auto parsed = http::parse_json_request(request, options_.max_body_bytes, http::CallKind::creates, [&] {
      return parse_gift_request_body(request.body, mode, options_.limits);
    });
    if (!parsed) return std::move(parsed.error());
    if (mode == SendMode::urls && links_.have_ended(options_.clock()))
      return http::unavailable(kOverloadRetrySeconds, "waits for its new server secret");
    GiftRequestOrigin origin{caller.key.prefix, request.request_id};
    if (aim == CallAim::validate)
      return validate(std::move(parsed->body), mode, caller.account, std::move(origin), request);
    return send(std::move(parsed->body), mode, caller.account, parsed->idempotency_key, std::move(origin));
  };
  return authenticator_.handle_authenticated(request, Scope::send, handle);
}

http::Reply GiftRequestHandler::send(GiftRequestBody body, SendMode mode, const store::Account& sender,
                                     const std::optional<std::string>& idempotency_key,
                                     GiftRequestOrigin origin) {
  const bool is_test = is_test_key(origin.credential_prefix);
  std::optional<store::IdempotencyKey> idempotency;
  if (idempotency_key)
    idempotency = {*idempotency_key, sha256_hex(body.canonical),
                   body.former_canonical.empty() ? std::string() : sha256_hex(body.former_canonical)};
  // Before anything is refused: the first call with this key may be about to create it.
  http::InflightKeys::Guard guard;
  if (idempotency) {
    guard = inflight_keys_.try_acquire(std::to_string(sender.id.value) + (is_test ? " test " : " ") +
                                       std::string(to_word(mode)) + " " + idempotency->key);
    if (!guard) return http::idempotency_key_in_use();
  }
  auto checked = check(body, is_test);
  if (!checked) return replay_or(idempotency, sender.id, mode, is_test, std::move(checked.error()));
  if (const http::FieldIssues refused = refused_recipients(checked->findings); !refused.empty())
    return replay_or(idempotency, sender.id, mode, is_test, http::sending_refused(refused));
  if (is_test) warn_of_test(body.warnings);
  http::WarningList warnings = body.warnings;
  store::NewGiftRequest new_request = draft(std::move(body), mode, sender, *checked->item, std::move(origin));
  new_request.idempotency = std::move(idempotency);
  new_request.hold_reasons = validation::hold_reasons(store_.gifts, options_.approval_rules, new_request);
  return create_idempotent(std::move(new_request), std::move(warnings), std::move(guard));
}

store::NewGiftRequest GiftRequestHandler::draft(GiftRequestBody body, SendMode mode,
                                                const store::Account& sender, const store::GiftItem& item,
                                                GiftRequestOrigin origin) const {
  std::string warnings = warnings_json(body.warnings.list());
  store::NewGiftRequest drafted = validation::draft(std::move(body), mode, sender, item, options_.clock());
  drafted.warnings = std::move(warnings);
  drafted.request.triggered_by = std::move(origin.triggered_by);
  drafted.request.is_test = is_test_key(origin.credential_prefix);
  drafted.request.credential_prefix = std::move(origin.credential_prefix);
  drafted.request.http_request_id = std::move(origin.http_request_id);
  return drafted;
}

http::HttpResponse GiftRequestHandler::replay_or(const std::optional<store::IdempotencyKey>& idempotency,
                                                 AccountId sender, SendMode mode, bool is_test,
                                                 http::HttpResponse refusal) {
  if (!idempotency) return refusal;
  const auto first = store_.gifts.find_idempotent(sender, mode, *idempotency, is_test);
  if (!first) return refusal;
  if (first->kind == store::CreateOutcome::Kind::body_mismatch) return http::idempotency_mismatch();
  return made_response(*first, mode);
}

http::HttpResponse GiftRequestHandler::made_response(const store::CreateOutcome& outcome,
                                                     SendMode mode) const {
  if (outcome.kind != store::CreateOutcome::Kind::held) return created_response(outcome, mode);
  const store::HeldGiftRequest& held = *outcome.held;
  if (held.state == HeldState::rejected || held.state == HeldState::expired)
    return http::held_request_ended(held.state, sync::describe_state(held));
  return http::with_header(http::json_response(202, held_gift_request_json(held, outcome.warnings)),
                           "Location",
                           fmt::format("{}/api/v1/gift_requests/{}", options_.base_url, held.id.value));
}

tl::expected<GiftRequestHandler::CheckedGift, http::HttpResponse> GiftRequestHandler::check(
    const GiftRequestBody& body, bool is_test) {
  if (http::FieldIssues issues = validation::test_recipient_issues(body.recipients, is_test); !issues.empty())
    return tl::unexpected(http::invalid_request(issues, http::CallKind::creates));
  std::shared_ptr<const store::GiftItem> item = items_.get(body.gift);
  if (!item || !item->active) return tl::unexpected(http::unknown_gift(body.gift));
  std::vector<std::string> emails;
  emails.reserve(body.recipients.size());
  for (const store::NewRecipient& recipient : body.recipients) emails.push_back(recipient.email);
  CheckedGift checked{std::move(item), policy_.check(emails)};
  for (std::size_t i = 0; is_test && i < emails.size(); ++i) {
    const auto outcome = sync::test_outcome_of(emails[i]);
    if (!outcome) continue;
    // The address decides, whatever the list and the allowed domains have.
    checked.findings[i].reset();
    if (*outcome == sync::TestOutcome::do_not_send)
      checked.findings[i] = {"do_not_send", "No gifts are sent to this address, which is for tests."};
  }
  return checked;
}

http::Reply GiftRequestHandler::create_idempotent(store::NewGiftRequest new_request,
                                                  http::WarningList warnings,
                                                  http::InflightKeys::Guard guard) {
  const store::GiftRequest& asked = new_request.request;
  PendingCall call{asked.mode,
                   asked.account,
                   asked.gift,
                   new_request.idempotency.has_value(),
                   {asked.credential_prefix, asked.http_request_id},
                   std::move(warnings)};
  if (store_.gifts.frequency_rule().gifts > 0) {
    new_request.warnings_with_recent =
        [warnings = call.warnings](const std::vector<store::RecentRecipient>& recent) {
          http::WarningList all = warnings;
          warn_of_recent_gifts(all, recent);
          return warnings_json(all.list());
        };
  }
  return http::reply_when_written<store::CreateOutcome>(
      writer_, std::move(new_request),
      [this, call = std::move(call), guard = std::move(guard)](store::CreateOutcome outcome) {
        return finish(std::move(outcome), call);
      },
      [] { return http::unavailable(kOverloadRetrySeconds); });
}

http::HttpResponse GiftRequestHandler::finish(store::CreateOutcome outcome, const PendingCall& call) {
  switch (outcome.kind) {
    case store::CreateOutcome::Kind::body_mismatch:
      return http::idempotency_mismatch();
    case store::CreateOutcome::Kind::refused:
      return refused_response(outcome, call);
    case store::CreateOutcome::Kind::failed:
    case store::CreateOutcome::Kind::unknown:
      throw DependencyError(outcome.transient, outcome.error);
    case store::CreateOutcome::Kind::created:
      on_created_(outcome, call.origin);
      [[fallthrough]];
    case store::CreateOutcome::Kind::held:
      // A key prevents duplicates, so such a request neither warns nor is remembered.
      if (!call.has_key) add_duplicates(outcome, call);
      break;
    case store::CreateOutcome::Kind::replayed:
      break;
  }
  return made_response(outcome, call.mode);
}

http::HttpResponse GiftRequestHandler::refused_response(const store::CreateOutcome& outcome,
                                                        const PendingCall& call) const {
  http::FieldIssues refused;
  for (const store::RecentRecipient& recipient : outcome.recent) refused.push_back(recent_gift(recipient));
  if (!refused.empty())
    return http::sending_refused(listed(std::move(refused)), sync::available_at(outcome.recent));
  for (const store::ExceededLimit& exceeded : outcome.exceeded) {
    if (exceeded.limit.is_burst() && exceeded.limit.holds) continue;  // it pauses nothing
    if (exceeded.limit.is_burst()) {
      const std::string& prefix = call.origin.credential_prefix;
      const CredentialKind kind = sync::kind_of_prefix(prefix);
      const bool is_key = kind == CredentialKind::api_key;
      if (exceeded.is_new_pause)
        log_event(LogEvent::credential_paused,
                  fmt::format("{} {} is paused: {} \"giftsyncctl {}\" releases it.",
                              is_key ? "API key" : "token", prefix, sync::describe(exceeded).front(),
                              is_key ? "key release " + prefix : "organization release-token " + prefix),
                  {LogField("key", prefix).not_in_text(),
                   LogField("request_id", call.origin.http_request_id).not_in_text()});
      return http::key_paused(kind, options_.clock());
    }
    for (http::FieldIssue& finding : limit_findings(exceeded)) refused.push_back(std::move(finding));
  }
  return http::sending_refused(refused, sync::available_at(outcome.exceeded));
}

void GiftRequestHandler::add_duplicates(store::CreateOutcome& made, const PendingCall& call) {
  std::optional<http::WarningList> warnings;  // with those that the outcome has
  const auto remember = [&](const auto& gifts, std::string_view text) {
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      const auto earlier = recent_gifts_.remember({call.account, call.item, gifts[i].email, gifts[i].message,
                                                   is_test_key(call.origin.credential_prefix)},
                                                  made.request);
      if (!earlier) continue;
      if (!warnings) warn_of_recent_gifts(warnings.emplace(call.warnings), made.recent);
      add_possible_duplicate(*warnings, i, *earlier, text);
    }
  };
  remember(made.recipients, "this one was made too");
  if (made.held) {
    if (const auto held = store::request_in(*made.held))
      remember(held->recipients, "this one waits for approval too");
  }
  if (warnings) made.warnings = warnings_json(warnings->list());
}

http::HttpResponse GiftRequestHandler::validate(GiftRequestBody body, SendMode mode,
                                                const store::Account& sender, GiftRequestOrigin origin,
                                                const http::HttpRequest& request) {
  const bool is_test = is_test_key(origin.credential_prefix);
  auto checked = check(body, is_test);
  if (!checked) return std::move(checked.error());
  if (is_test) warn_of_test(body.warnings);
  http::WarningList warnings = std::move(body.warnings);
  // With a key the real call does not warn of duplicates.
  const bool has_key = warn_of_ignored_key(request, warnings);
  const store::NewGiftRequest asked = draft(std::move(body), mode, sender, *checked->item, std::move(origin));
  ValidatedRequest validated =
      validation::validate(store_.gifts, options_.approval_rules, asked, checked->findings,
                           std::move(warnings), [&](http::WarningList& more) {
                             if (!has_key) warn_of_duplicates(asked, more);
                           });
  if (options_.crm)
    validation::add_matches(validated, *options_.crm, options_.match_fields, asks_for_match(request),
                            "Add ?match=true to the URL to have it asked.");
  return http::json_response(200, validated_request_json(validated));
}

void GiftRequestHandler::warn_of_duplicates(const store::NewGiftRequest& asked, http::WarningList& warnings) {
  std::vector<RecentGifts::Gift> gifts;
  for (const store::NewRecipient& recipient : asked.recipients)
    gifts.push_back({asked.request.account, asked.request.gift, recipient.email, recipient.message,
                     asked.request.is_test});
  const auto found = recent_gifts_.find(gifts);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) add_possible_duplicate(warnings, i, *found[i], "this one would be made too");
}

std::vector<RecipientResponse> GiftRequestHandler::recipient_responses(
    const std::vector<store::RecipientTransaction>& gifts, SendMode mode) const {
  const bool by_email = mode == SendMode::email;
  std::vector<RecipientResponse> recipients;
  recipients.reserve(gifts.size());
  for (const store::RecipientTransaction& transaction : gifts) {
    recipients.push_back({transaction.id, transaction.email,
                          by_email ? "" : links_.url_for(sync::LinkKind::redeem, transaction),
                          by_email ? "" : links_.url_for(sync::LinkKind::donate, transaction)});
  }
  return recipients;
}

http::HttpResponse GiftRequestHandler::created_response(const store::CreateOutcome& outcome,
                                                        SendMode mode) const {
  return http::json_response(
      mode == SendMode::email ? 201 : 200,
      created_gift_request_json(mode, outcome.request, recipient_responses(outcome.recipients, mode),
                                outcome.warnings));
}

/// The URLs of a request that was held: without an Idempotency-Key its caller has no other way to them.
http::HttpResponse GiftRequestHandler::state_response(const store::GiftRequest& request,
                                                      const store::ApiKeyOwner& caller) {
  const auto gifts = store_.gifts.find_recipients(request.id);
  std::vector<RecipientResponse> urls;
  if (request.mode == SendMode::urls && caller.key.scopes.contains(Scope::send) &&
      !links_.have_ended(options_.clock()) && store_.held.find(request.id))
    urls = recipient_responses(gifts, request.mode);
  std::map<TransactionId, std::string> records;
  if (request.is_test) {
    std::vector<TransactionId> ids;
    for (const store::RecipientTransaction& gift : gifts) ids.push_back(gift.id);
    records = store_.test_gifts.find_records(ids);
  }
  return http::json_response(200, gift_request_state_json(request, gifts, urls, records));
}

http::Reply GiftRequestHandler::read(const http::HttpRequest& request, std::string_view id_text) {
  const auto handle = [&](const store::ApiKeyOwner& caller) {
    const auto id = parse_gift_request_id(id_text);
    const auto found = id ? store_.gifts.find_gift_request(*id) : std::nullopt;
    // A live key and a test key do not see each other's (TEST-1).
    const bool is_test = is_test_key(caller.key.prefix);
    if (found && found->account == caller.account.id && found->is_test == is_test)
      return tagged_by_body(request, state_response(*found, caller));
    const auto held = id && !found ? store_.held.find(*id) : std::nullopt;
    if (!held || held->account != caller.account.id || is_test_key(held->credential_prefix) != is_test)
      return http::unknown_gift_request();
    if (held->state == HeldState::sent) {  // approved between the two reads
      if (const auto sent = store_.gifts.find_gift_request(*id))
        return tagged_by_body(request, state_response(*sent, caller));
    }
    return tagged_by_body(request, http::json_response(200, held_gift_request_state_json(*held)));
  };
  return authenticator_.handle_authenticated(request, Scope::read, handle);
}

namespace {

/// Prefix of an Idempotency-Key of this endpoint. No key of endpoint A has it, since keys are ASCII.
constexpr std::string_view kIdempotencyScope = "·crm·";

/// What the response leaves out about accounts of others. Ids only: the rest is in the store.
std::string reason_for_the_log(const sync::SenderInfo& sender, UtcMillis now) {
  std::vector<std::string_view> words;
  for (const sync::MissingPrecondition& missing_precondition : sync::missing_preconditions(sender, now))
    words.push_back(to_word(missing_precondition.precondition));
  return fmt::format("the sender lacks {} ({}, {})", fmt::join(words, ", "),
                     sender.user ? "CRM user " + sender.user->id : "no CRM user",
                     sender.account ? fmt::format("account {}", sender.account->id.value) : "no account");
}

}  // namespace

http::Reply CrmGiftRequestHandler::handle(const http::HttpRequest& request, std::string_view) {
  return take(request, CallAim::create);
}

http::Reply CrmGiftRequestHandler::validate(const http::HttpRequest& request, std::string_view) {
  return take(request, CallAim::validate);
}

http::Reply CrmGiftRequestHandler::take(const http::HttpRequest& request, CallAim aim) {
  // Two such headers count as none, because they may contradict each other.
  const std::string token = request.header(http::kOrganizationToken).value_or("");
  http::Reply reply = handle_with_token(request, token, aim);
  const auto text = trimmed(token);
  if (!sync::is_credential(CredentialKind::organization_token, text)) return reply;
  return std::move(reply).changed([prefix = sync::public_prefix(text)](const http::Reply::Finish& finish) {
    http::HttpResponse response = finish();
    response.caller = prefix;
    return response;
  });
}

http::Reply CrmGiftRequestHandler::handle_with_token(const http::HttpRequest& request,
                                                     const std::string& token, CallAim aim) {
  const UtcMillis now = options_.clock();
  sync::SenderInfo sender;
  sender.token = sync::token_status(store_.credentials, token, now);
  if (sender.token.state != sync::TokenStatus::State::active) {
    auto missing = sync::missing_preconditions(sender, now);
    if (const auto other = http::other_credential(request, CredentialKind::organization_token);
        !other.empty())
      missing.front().message = other + " Ask your giftsync administrator for one.";
    return http::refused_crm_sender(missing);
  }
  if (request.headers.contains(http::kTestResponse)) return http::test_only();
  return rate_limiter_.handle_limited(sender.token.organization.value, [&]() -> http::Reply {
    if (sender.token.paused_at)
      return http::key_paused(CredentialKind::organization_token, *sender.token.paused_at);
    return handle_for_sender(request, token, std::move(sender), now, aim);
  });
}

http::Reply CrmGiftRequestHandler::handle_for_sender(const http::HttpRequest& request,
                                                     const std::string& token, sync::SenderInfo sender,
                                                     UtcMillis now, CallAim aim) {
  auto parsed = http::parse_json_request(request, options_.max_body_bytes, http::CallKind::creates, [&] {
    return parse_crm_gift_request_body(request.body, options_.limits);
  });
  if (!parsed) return std::move(parsed.error());
  auto& [body, idempotency_key] = *parsed;

  sender.name = {body.user_id, body.email};
  sender = sync::find_senders(store_.accounts, directory_, sender.token, std::span(&sender.name, 1)).front();
  sender.crm_has_users = crm_has_users_;
  if (const auto missing = sync::missing_for_organization(sender, now); !missing.empty()) {
    http::HttpResponse refusal = http::refused_crm_sender(missing);
    refusal.reason = reason_for_the_log(sender, now);
    return refusal;
  }
  GiftRequestOrigin origin{sync::public_prefix(trimmed(token)), request.request_id,
                           sender.user ? sender.user->id : ""};
  if (aim == CallAim::validate)
    return gift_request_handler_.validate(std::move(body.gift), SendMode::email, *sender.account,
                                          std::move(origin), request);
  if (idempotency_key) idempotency_key->insert(0, kIdempotencyScope);
  return gift_request_handler_.send(std::move(body.gift), SendMode::email, *sender.account, idempotency_key,
                                    std::move(origin));
}

}  // namespace giftsync::handlers
