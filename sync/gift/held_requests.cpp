#include "sync/gift/held_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "sync/access/approval_rules.h"
#include "sync/access/credential.h"
#include "sync/access/sending_policy.h"
#include "sync/gift/gift_actions.h"
#include "sync/gift/test_gifts.h"

namespace giftsync::sync {
namespace {

using Kind = HeldOutcome::Kind;

constexpr const char* kApproveAction = "held.approve";
constexpr const char* kRejectAction = "held.reject";
constexpr std::size_t kMaxListedFaults = 100;
constexpr std::size_t kVersionDigits = 32;

void add_account_faults(HeldReview& review) {
  if (!review.account || !review.account->active) {
    review.faults.push_back({"account", "", "The account that asked for it is deactivated."});
    return;
  }
  if (!has_api_access(review.account->plan))
    review.faults.push_back({"plan", "",
                             fmt::format("The account's plan is {} now, which has no API access.",
                                         to_word(review.account->plan))});
  // Its approvers are those of the organization in which it was held.
  if (review.account->organization != review.held.organization)
    review.faults.push_back(
        {"organization", "", "The account that asked for it belongs to another organization now."});
}

void add_item_faults(HeldReview& review) {
  if (review.item && review.item->active) return;
  review.faults.push_back({"unknown_gift", "gift_id",
                           fmt::format("The item {} cannot be sent any more.", review.held.gift.value)});
}

void add_recipient_faults(HeldReview& review, store::DoNotSend& list,
                          const std::vector<std::string>& allowed_domains, UtcMillis now) {
  std::vector<std::string> emails;
  for (const store::NewRecipient& to : review.recipients) emails.push_back(to.email);
  const auto findings = refused_recipients(list, allowed_domains, emails, now);
  std::size_t more = 0;
  const bool is_test = is_test_key(review.held.credential_prefix);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    // The address of a test decides, whatever the list and the allowed domains have.
    if (!findings[i] || (is_test && test_outcome_of(emails[i]))) continue;
    if (review.faults.size() >= kMaxListedFaults)
      ++more;
    else
      review.faults.push_back(
          {findings[i]->code, fmt::format("recipients[{}].email", i), findings[i]->message});
  }
  if (more > 0)
    review.faults.push_back({"more", "recipients", fmt::format("{} more recipients are refused.", more)});
}

/// Of a key or token with which a call would send nothing now.
void add_credential_notes(HeldReview& review, store::Credentials& credentials, UtcMillis now) {
  const std::string& prefix = review.held.credential_prefix;
  const CredentialKind kind = kind_of_prefix(prefix);
  const std::string name =
      (kind == CredentialKind::api_key ? "The API key " : "The organization token ") + prefix;
  for (const store::Credential& credential : credentials.list(kind)) {
    if (credential.prefix != prefix) continue;
    const CredentialState state = state_of(credential, now);
    const std::string& why = credential.pause_reason;
    if (state == CredentialState::revoked)
      review.notes.push_back(
          {"key_revoked", "",
           fmt::format("{} was revoked on {} UTC.", name, minute_text(*credential.revoked_at))});
    else if (state == CredentialState::expired)
      review.notes.push_back(
          {"key_expired", "",
           fmt::format("{} expired on {} UTC.", name, minute_text(*credential.expires_at))});
    else if (state == CredentialState::paused)
      review.notes.push_back(
          {"key_paused", "",
           fmt::format("{} is paused since {} UTC{}.", name, minute_text(*credential.paused_at),
                       why.empty() ? "" : " (" + why + ")")});
  }
}

/// Of the budgets and recipients that it exceeds now, whatever held it.
void add_limit_notes(HeldReview& review, store::GiftRequests& gifts, UtcMillis now) {
  if (!review.account || !review.item) return;
  const store::NewGiftRequest request = new_gift_request({.sender = *review.account,
                                                          .item = *review.item,
                                                          .mode = review.held.mode,
                                                          .recipients = review.recipients,
                                                          .credential_prefix = review.held.credential_prefix},
                                                         now);
  std::vector<store::ExceededLimit> exceeded;
  for (const store::AskedLimit& asked :
       gifts.ask_limits(request.request, static_cast<std::size_t>(review.held.gifts)))
    if (!asked.limit.is_burst() && asked.is_exceeded()) exceeded.push_back({asked});
  for (store::HoldReason& note : limit_reasons(exceeded, gifts.find_beyond_frequency(request))) {
    note.message += " An approval sends it all the same.";
    review.notes.push_back(std::move(note));
  }
}

std::string version_of(const HeldReview& review) {
  const std::string cost = review.amount ? to_decimal(*review.amount) : "";
  return sha256_hex(store::findings_text(review.faults) + cost + '\n' + review.held.content)
      .substr(0, kVersionDigits);
}

/// A decision that is too late, or about something else.
std::optional<HeldOutcome> refusal(const HeldReview& review, const HeldDecisionAsked& asked) {
  if (review.held.state != HeldState::held)
    return HeldOutcome{Kind::illegal, describe_state(review.held), review.held.state};
  if (!asked.versions.empty() && std::ranges::find(asked.versions, review.version) == asked.versions.end())
    return HeldOutcome{
        Kind::changed,
        "Its price, or what speaks against sending it, has changed since it was shown. Nothing "
        "was decided; read it again."};
  return std::nullopt;
}

store::HeldDecision decision_of(const HeldReview& review, const HeldDecisionAsked& asked,
                                const std::string& action, UtcMillis now) {
  store::HeldDecision decision{review.held.id, asked.who, asked.comment, asked.audit};
  decision.audit.occurred_at = now;
  decision.audit.action = action;
  decision.audit.object_kind = "held";
  decision.audit.object_id = std::to_string(review.held.id.value);
  decision.audit.organization = review.held.organization;
  decision.audit.detail = asked.comment;
  return decision;
}

/// Another decision, or the end, came first.
HeldOutcome decided_before(store::Store& store, GiftRequestId id) {
  const auto held = store.held.find(id);
  if (!held) return {Kind::illegal, "There is no such request any more."};
  if (held->state == HeldState::held) return {Kind::illegal, "Its time to decide has ended."};
  return {Kind::illegal, describe_state(*held), held->state};
}

}  // namespace

std::string describe(const store::HoldReason& reason, std::span<const store::NewRecipient> recipients) {
  constexpr std::string_view kBegin = "recipients[";
  constexpr std::string_view kEnd = "].email";
  std::string subject = reason.field;
  if (subject.starts_with(kBegin) && subject.ends_with(kEnd)) {
    const auto place = parse_number<std::size_t>(
        std::string_view(subject).substr(kBegin.size(), subject.size() - kBegin.size() - kEnd.size()));
    if (place && *place < recipients.size()) subject = recipients[*place].email;
  }
  // A list has no recipients at hand; the sentence has the address.
  const bool has_address =
      recipients.empty() && subject.ends_with(kEnd) && reason.message.find('@') != std::string::npos;
  const bool is_named = has_address || reason.message.find(subject) != std::string::npos;
  return is_named ? reason.message : subject + ": " + reason.message;
}

std::string describe_state(const store::HeldGiftRequest& held) {
  const std::string at = held.decided_at ? " on " + minute_text(*held.decided_at) + " UTC" : "";
  switch (held.state) {
    case HeldState::held:
      return "It waits until " + minute_text(held.expires_at) + " UTC.";
    case HeldState::sent:
      return "It was approved by " + held.decided_by + at + ".";
    case HeldState::rejected:
      return "It was rejected by " + held.decided_by + at + ".";
    case HeldState::expired:
      break;
  }
  return "It expired" + at + ", because no one decided.";
}

std::optional<HeldReview> review_held(store::Store& store, const std::vector<std::string>& allowed_domains,
                                      GiftRequestId id, UtcMillis now) {
  auto held = store.held.find(id);
  if (!held) return std::nullopt;
  HeldReview review;
  review.held = std::move(*held);
  review.reasons = store::reasons_of(review.held);
  review.account = store.accounts.find(review.held.account);
  review.item = store.catalogue.item(review.held.gift);
  if (auto request = store::request_in(review.held)) {
    review.recipients = std::move(request->recipients);
    review.utm_campaign_id = std::move(request->request.utm_campaign_id);
    review.reference = std::move(request->request.reference);
  }
  if (review.item && review.item->costs.item)
    review.amount = price_of_gifts(review.item->costs.total(), review.held.gifts);
  if (review.held.state == HeldState::held) {
    add_account_faults(review);
    add_item_faults(review);
    add_recipient_faults(review, store.do_not_send, allowed_domains, now);
    add_credential_notes(review, store.credentials, now);
    add_limit_notes(review, store.gifts, now);
  }
  review.version = version_of(review);
  return review;
}

namespace {

HeldOutcome approved(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                     UtcMillis now) {
  if (auto refused = refusal(review, asked)) return std::move(*refused);
  if (!review.faults.empty())
    return {Kind::faulty, review.faults.front().message, HeldState::held, review.faults};
  auto content = store::request_in(review.held);
  if (!content) throw DependencyError(false, "the content of the held request cannot be read");
  store::NewGiftRequest request =
      new_gift_request({.sender = *review.account,
                        .item = *review.item,
                        .mode = review.held.mode,
                        .recipients = std::move(content->recipients),
                        .triggered_by = std::move(content->request.triggered_by),
                        .credential_prefix = review.held.credential_prefix,
                        .http_request_id = std::move(content->request.http_request_id),
                        .utm_campaign_id = std::move(content->request.utm_campaign_id),
                        .reference = std::move(content->request.reference),
                        .warnings = std::move(content->warnings)},
                       now);
  request.approval = std::make_shared<store::HeldDecision>(decision_of(review, asked, kApproveAction, now));
  store::CreateOutcome outcome = store.gifts.create(std::span(&request, 1)).front();
  if (outcome.kind == store::CreateOutcome::Kind::unknown)
    outcome = store.gifts.resolve_unknown(request, outcome);
  switch (outcome.kind) {
    case store::CreateOutcome::Kind::created:
    case store::CreateOutcome::Kind::replayed:  // its COMMIT was lost, and its gifts are there
      return {Kind::done, "", HeldState::sent, {}, outcome.recipients};
    case store::CreateOutcome::Kind::unknown:
      throw DependencyError(true, outcome.error);
    default:
      break;
  }
  HeldOutcome before = decided_before(store, review.held.id);
  const bool is_in_time = review.held.expires_at > now;
  if (before.state == HeldState::held && is_in_time) throw DependencyError(outcome.transient, outcome.error);
  return before;
}

HeldOutcome rejected(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                     UtcMillis now) {
  if (auto refused = refusal(review, asked)) return std::move(*refused);
  if (!store.held.reject(decision_of(review, asked, kRejectAction, now), now))
    return decided_before(store, review.held.id);
  return {Kind::done, "", HeldState::rejected};
}

HeldOutcome with_audit(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                       bool approves, UtcMillis now, HeldOutcome outcome) {
  if (outcome.kind == Kind::done) return outcome;
  const auto [rule, detail] =
      outcome.kind == Kind::illegal ? std::pair("GUARD-26", "the request does not wait any more")
      : outcome.kind == Kind::changed
          ? std::pair("GUARD-27", "the request changed after it was shown")
          : std::pair("GUARD-26", "no approval overrides what speaks against sending it");
  store::AuditEvent event = refused_decision(asked.audit, review, approves, rule, detail);
  event.occurred_at = now;
  store.audit.add(event);
  return outcome;
}

}  // namespace

HeldOutcome approve_held(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                         UtcMillis now) {
  return with_audit(store, review, asked, true, now, approved(store, review, asked, now));
}

HeldOutcome reject_held(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                        UtcMillis now) {
  return with_audit(store, review, asked, false, now, rejected(store, review, asked, now));
}

store::AuditEvent refused_decision(store::AuditEvent event, const HeldReview& review, bool approves,
                                   const std::string& rule, const std::string& detail) {
  event.action = approves ? kApproveAction : kRejectAction;
  event.object_kind = "held";
  event.object_id = std::to_string(review.held.id.value);
  event.organization = review.held.organization;
  event.refused = true;
  event.rule = rule;
  event.detail = detail;
  return event;
}

}  // namespace giftsync::sync
