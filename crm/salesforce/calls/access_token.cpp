#include "crm/salesforce/calls/access_token.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "platform/dependency_error.h"
#include "platform/json.h"
#include "platform/keys.h"
#include "platform/strict_json.h"

namespace giftsync::salesforce {
namespace {

/// A session that ends sooner would have each call sign in, which can lock the user.
constexpr std::int64_t kMinSessionMillis = kMinuteMillis;
/// How long a session of another org waits to be accepted before the next sign-in shows whether the org is
/// the right one again.
constexpr std::int64_t kUnacceptedMillis = 15 * kMinuteMillis;
/// How often the store is asked whether it has a refusal.
constexpr std::int64_t kSuccessNoteMillis = kMinuteMillis;
/// The first 15 characters of an id identify; the last three are a check sum that not every answer has.
constexpr std::size_t kSignificantIdLength = 15;

bool is_same_organization(std::string_view one, std::string_view other) {
  return one.substr(0, kSignificantIdLength) == other.substr(0, kSignificantIdLength);
}

std::string to_json(const AccessToken& token, const std::string& fingerprint) {
  const Session& session = token.session;
  return nlohmann::json{{"access_token", session.access_token},
                        {"instance_url", session.instance_url},
                        {"organization_id", session.organization_id},
                        {"user_id", session.user_id},
                        {"born_at", token.born_at.value},
                        {"settings", fingerprint}}
      .dump();
}

/// Nullopt for the token of other settings and for a text of another version.
std::optional<AccessToken> from_json(const std::string& json, const std::string& fingerprint) {
  const auto document = parse_json(json);
  if (!document) return std::nullopt;
  const auto text = [&](std::string_view name) { return text_at(document->root(), name); };
  const JsonValue* born_at = document->root().find("born_at");
  if (born_at == nullptr || !born_at->integer() || text("settings") != fingerprint) return std::nullopt;
  return AccessToken{{text("access_token"), text("instance_url"), text("organization_id"), text("user_id")},
                     {*born_at->integer()}};
}

std::string to_json(const StoredRefusal& refused) {
  return nlohmann::json{{"reason", refused.refusal.reason},
                        {"next_step", refused.refusal.next_step},
                        {"since", refused.since.value}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::optional<StoredRefusal> stored_refusal(const std::string& fact) {
  const auto document = parse_json(fact);
  if (!document) return std::nullopt;
  const JsonValue* reason = document->root().find("reason");
  const JsonValue* next_step = document->root().find("next_step");
  const JsonValue* since = document->root().find("since");
  if (reason == nullptr || next_step == nullptr || since == nullptr || !since->integer()) return std::nullopt;
  return StoredRefusal{
      {std::string(reason->text().value_or("")), std::string(next_step->text().value_or(""))},
      {*since->integer()}};
}

AccessTokens::AccessTokens(SignIn sign_in, std::string fingerprint, std::string server_secret,
                           FactStorage facts, Clock clock, std::string former_secret)
    : sign_in_(std::move(sign_in)),
      fingerprint_(std::move(fingerprint)),
      server_secret_(std::move(server_secret)),
      former_secret_(std::move(former_secret)),
      facts_(std::move(facts)),
      clock_(std::move(clock)) {}

TokenOutcome AccessTokens::current() {
  return obtain(std::nullopt);
}

TokenOutcome AccessTokens::after(const AccessToken& ended) {
  return obtain(ended.born_at);
}

/// The outcome of another thread's sign-in, as long as this thread may wait for it.
TokenOutcome AccessTokens::outcome_of(const std::shared_future<TokenOutcome>& renewal) {
  while (renewal.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
    if (!ThreadCallDeadline::may_continue())
      return SignInFault{.reason = "the org has not answered it in time"};
  }
  return renewal.get();
}

TokenOutcome AccessTokens::obtain(Birth ended) {
  std::unique_lock lock(mutex_);
  if (refusal_) {
    const StoredRefusal refused = *refusal_;
    lock.unlock();
    note_refusal(to_json(refused));  // another process, which may sign in, may have deleted it
    return refused.refusal;
  }
  if (token_ && (!ended || token_->born_at != *ended)) return *token_;
  if (running_.valid()) {
    const std::shared_future<TokenOutcome> renewal = running_;
    lock.unlock();
    return outcome_of(renewal);
  }
  std::packaged_task<TokenOutcome()> task([this, ended] { return renew(ended); });
  const std::shared_future<TokenOutcome> renewal = task.get_future().share();
  running_ = renewal;
  lock.unlock();
  task();  // an exception goes to all who wait
  lock.lock();
  running_ = {};
  lock.unlock();
  return renewal.get();
}

TokenOutcome AccessTokens::renew(Birth ended) {
  const UtcMillis now = clock_();
  const std::optional<AccessToken> unaccepted = unaccepted_token();
  if (unaccepted && !has_elapsed(unaccepted->born_at, kUnacceptedMillis, now))
    return use_if_accepted(*unaccepted);
  const std::optional<AccessToken> stored = stored_token();
  if (stored && (!ended || stored->born_at > *ended)) return use_if_accepted(*stored);
  if (ended && !has_elapsed(*ended, kMinSessionMillis, now)) {
    return SignInFault{
        .reason = "the org ended a session within a minute of its sign-in",
        .retry_after_seconds = (ended->value + kMinSessionMillis - now.value) / kSecondMillis + 1,
        .is_answered = true};
  }
  return sign_in(ended, now);
}

TokenOutcome AccessTokens::sign_in(Birth ended, UtcMillis now) {
  const SignInOutcome outcome = sign_in_(now);
  if (const auto* fault = std::get_if<SignInFault>(&outcome)) return *fault;
  if (const auto* refusal = std::get_if<SignInRefusal>(&outcome)) {
    const StoredRefusal refused{*refusal, now};
    {
      const std::lock_guard lock(mutex_);
      refusal_ = refused;
    }
    note_refusal(to_json(refused));
    return *refusal;
  }
  const AccessToken token{std::get<Session>(outcome), ended ? std::max(now, *ended + 1) : now};
  TokenOutcome used = use_if_accepted(token);
  if (std::holds_alternative<AccessToken>(used)) store(token);
  return used;
}

TokenOutcome AccessTokens::use_if_accepted(const AccessToken& token) {
  const std::string& found = token.session.organization_id;
  const std::string accepted = facts_.save_if_absent(kOrganizationFact, found);
  const bool is_accepted = is_same_organization(accepted, found);
  note_other_organization(is_accepted ? "" : found);
  note_refusal("");
  const std::lock_guard lock(mutex_);
  token_ = is_accepted ? std::optional(token) : std::nullopt;
  unaccepted_ = is_accepted ? std::nullopt : std::optional(token);
  if (!is_accepted) return OtherOrganization{accepted, found};
  return token;
}

/// For those who only read the store.
void AccessTokens::note_other_organization(const std::string& found) const {
  if (facts_.load(kOtherOrganizationFact).value_or("") != found) facts_.save(kOtherOrganizationFact, found);
}

/// For those who only read the store. Without it the refusal is the same.
void AccessTokens::note_refusal(const std::string& text) const {
  try {
    if (facts_.load(kSignInRefusalFact).value_or("") != text) facts_.save(kSignInRefusalFact, text);
  } catch (const giftsync::DependencyError&) {
    if (text.empty()) throw;
  }
}

/// The answer is worth more than the note: a store that fails now is met by the next call.
void AccessTokens::note_success() {
  const UtcMillis now = clock_();
  {
    const std::lock_guard lock(mutex_);
    if (!has_elapsed(success_noted_at_, kSuccessNoteMillis, now)) return;
    success_noted_at_ = now;
  }
  try {
    note_refusal("");
  } catch (const giftsync::DependencyError&) {
  }
}

std::optional<AccessToken> AccessTokens::unaccepted_token() {
  const std::lock_guard lock(mutex_);
  return unaccepted_;
}

/// Nullopt also for a token of an org that is no longer the accepted one.
std::optional<AccessToken> AccessTokens::stored_token() const {
  const std::optional<std::string> sealed = facts_.load(kTokenFact);
  if (!sealed) return std::nullopt;
  std::optional<std::string> json = open_sealed_text(server_secret_, kTokenSealLabel, *sealed);
  if (!json && !former_secret_.empty()) json = open_sealed_text(former_secret_, kTokenSealLabel, *sealed);
  std::optional<AccessToken> token = json ? from_json(*json, fingerprint_) : std::nullopt;
  if (!token) return std::nullopt;
  const std::optional<std::string> accepted = facts_.load(kOrganizationFact);
  return accepted && is_same_organization(*accepted, token->session.organization_id) ? token : std::nullopt;
}

void AccessTokens::store(const AccessToken& token) const {
  facts_.save(kTokenFact, seal_text(server_secret_, kTokenSealLabel, to_json(token, fingerprint_)));
}

void AccessTokens::accept_organization(const std::string& organization_id) {
  facts_.save(kOrganizationFact, organization_id);
  note_other_organization("");
  std::optional<AccessToken> accepted;
  {
    const std::lock_guard lock(mutex_);
    if (unaccepted_ && is_same_organization(unaccepted_->session.organization_id, organization_id))
      accepted = unaccepted_;
    unaccepted_ = std::nullopt;
    token_ = accepted;
  }
  if (accepted) store(*accepted);
}

}  // namespace giftsync::salesforce
