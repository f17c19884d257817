#include "daemon/http/authenticator.h"

#include <utility>

#include "daemon/http/authorization.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "sync/api_key.h"
#include "sync/credential_state.h"

namespace giftsync::daemon::http {

Authenticator::Authenticator(schema::store::Accounts& accounts, platform::Clock clock,
                             std::int64_t requests_per_minute)
    : accounts_(accounts),
      clock_(std::move(clock)),
      rate_limiter_(requests_per_minute, clock_),
      key_cache_(clock_, [this](const std::string& hash) { return accounts_.find_key_by_hash(hash); }) {}

HttpResponse Authenticator::handle_authenticated(const HttpRequest& request, schema::Scope needed,
                                                 const Handler& handler) {
  auto result = authenticate(request, needed);
  if (auto* refusal = std::get_if<HttpResponse>(&result)) return std::move(*refusal);
  const auto& authenticated = std::get<AuthenticatedCaller>(result);
  HttpResponse response = handler(*authenticated.holder);
  if (authenticated.rate) add_rate_limit_headers(response, *authenticated.rate);
  response.caller = authenticated.holder->key.prefix;
  return response;
}

std::variant<Authenticator::AuthenticatedCaller, HttpResponse> Authenticator::authenticate(
    const HttpRequest& request, schema::Scope needed) {
  if (request.headers.count("Authorization") == 0) return missing_api_key();
  const std::optional<std::string> text = api_key_from_header(request);
  if (!text || !sync::is_api_key(*text)) return refused_api_key();
  // The checksum fits, so it is a key, known or not. Its first characters are not secret.
  auto result = authenticate_key(*text, needed);
  if (auto* refusal = std::get_if<HttpResponse>(&result)) refusal->caller = sync::public_prefix(*text);
  return result;
}

std::variant<Authenticator::AuthenticatedCaller, HttpResponse> Authenticator::authenticate_key(
    const std::string& text, schema::Scope needed) {
  const std::string hash = sync::api_key_hash(text);
  std::shared_ptr<const schema::store::ApiKeyOwner> holder = key_cache_.get(hash);
  if (!holder || !platform::equal_in_constant_time(holder->key.hash, hash)) return refused_api_key();
  switch (sync::access_of(*holder, needed, clock_())) {
    case sync::ApiKeyAccess::allowed:
      break;
    case sync::ApiKeyAccess::refused:
      return refused_api_key();
    case sync::ApiKeyAccess::plan_without_api_access:
      return plan_without_api_access(holder->account.plan);
    case sync::ApiKeyAccess::missing_scope:
      return missing_scope(needed);
  }
  const RequestRateLimiter::Count count = rate_limiter_.count_request(holder->key.id.value);
  if (count.is_exceeded) return rate_limited(*count.rate);
  record_use(holder->key.id);
  return AuthenticatedCaller{std::move(holder), count.rate};
}

void Authenticator::record_use(schema::ApiKeyId key) {
  const platform::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  last_used_[key] = now;
}

void Authenticator::flush_last_used() {
  std::map<schema::ApiKeyId, platform::UtcMillis> last_used;
  {
    const std::lock_guard lock(mutex_);
    last_used.swap(last_used_);
  }
  try {
    accounts_.update_last_used({last_used.begin(), last_used.end()});
  } catch (const platform::DependencyError&) {
    const std::lock_guard lock(mutex_);
    last_used_.merge(last_used);  // later uses have been recorded meanwhile
    throw;
  }
}

}  // namespace giftsync::daemon::http
