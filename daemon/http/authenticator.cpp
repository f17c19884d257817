#include "daemon/http/authenticator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "sync/access/credential.h"

namespace giftsync::http {
namespace {

constexpr std::string_view kScheme = "bearer";
constexpr std::size_t kMaxKeyLength = 512;

bool is_visible_ascii(char c) {
  return c > ' ' && c <= '~';
}

constexpr std::int64_t kTestRetrySeconds = 1;

/// A failure that a caller must cope with, without doing what was asked; `lost` does it, and the caller never
/// learns what came of it.
Reply respond_as_asked(const HttpRequest& request, const store::ApiKeyOwner& caller,
                       const Authenticator::Handler& handler) {
  if (!is_test_key(caller.key.prefix)) return test_only();
  const std::string asked = request.header(kTestResponse).value_or("");
  if (asked == "429")
    return with_retry_after(
        problem("rate_limited", "The header Giftsync-Test-Response asked for it. Nothing was done."),
        kTestRetrySeconds);
  if (asked == "500") return internal_error(request.request_id);
  if (asked == "503") return unavailable(kTestRetrySeconds);
  if (asked != "lost")
    return invalid_request({{"Giftsync-Test-Response", "unsupported_value",
                             "Giftsync-Test-Response must be 429, 500, 503 or lost."}},
                           CallKind::any);
  return handler(caller).changed([](const Reply::Finish& finish) {
    HttpResponse response = finish();
    response.is_lost = true;
    return response;
  });
}

}  // namespace

std::optional<std::string> api_key_from_header(const HttpRequest& request) {
  const auto header = request.header("Authorization");
  if (!header) return std::nullopt;
  std::string_view key = trimmed(*header);
  if (ascii_lower(key.substr(0, kScheme.size())) == kScheme) {
    const std::string_view rest = key.substr(kScheme.size());
    const bool is_scheme = rest.empty() || rest.front() == ' ' || rest.front() == '\t';
    if (is_scheme) key = trimmed(rest);
  }
  const bool is_plausible =
      !key.empty() && key.size() <= kMaxKeyLength && std::all_of(key.begin(), key.end(), is_visible_ascii);
  return is_plausible ? std::optional<std::string>(key) : std::nullopt;
}

std::string other_credential(const HttpRequest& request, CredentialKind needed) {
  struct Place {
    std::string_view header;
    std::optional<std::string> text;
  };
  std::array<Place, 2> places{{{"Authorization", api_key_from_header(request)},
                               {kOrganizationToken, request.header(kOrganizationToken)}}};
  if (needed != CredentialKind::api_key) std::swap(places.front(), places.back());
  for (const Place& place : places) {
    const auto given = sync::kind_by_beginning(trimmed(place.text.value_or("")));
    if (!given) continue;
    if (given == needed && &place == &places.front()) return {};
    return fmt::format("Found {} in {}; this address takes {} in {}.", sync::describe(*given), place.header,
                       sync::describe(needed), places.front().header);
  }
  return {};
}

Authenticator::Authenticator(store::Credentials& credentials, giftsync::Clock clock,
                             std::int64_t requests_per_minute, bool takes_test_keys)
    : credentials_(credentials),
      clock_(std::move(clock)),
      takes_test_keys_(takes_test_keys),
      rate_limiter_(requests_per_minute, clock_),
      key_cache_(clock_, [this](const std::string& hash) { return credentials_.find_key_by_hash(hash); }) {}

Reply Authenticator::handle_authenticated(const HttpRequest& request, Scope needed, const Handler& handler) {
  auto authenticated = authenticate(request, needed);
  if (!authenticated) return std::move(authenticated.error());
  const KeyOwner& owner = *authenticated;
  Reply reply = rate_limiter_.handle_limited(owner->key.id.value, [&] {
    record_use(owner->key.id);
    if (needed == Scope::send && owner->key.paused_at)
      return Reply(key_paused(CredentialKind::api_key, *owner->key.paused_at));
    return request.headers.contains(kTestResponse) ? respond_as_asked(request, *owner, handler)
                                                   : handler(*owner);
  });
  return std::move(reply).changed([owner](const Reply::Finish& finish) {
    HttpResponse response = finish();
    response.caller = owner->key.prefix;
    return response;
  });
}

tl::expected<Authenticator::KeyOwner, HttpResponse> Authenticator::authenticate(const HttpRequest& request,
                                                                                Scope needed) {
  if (request.headers.count("Authorization") == 0)
    return tl::unexpected(missing_api_key(other_credential(request, CredentialKind::api_key)));
  const std::optional<std::string> text = api_key_from_header(request);
  if (!text || !sync::is_credential(CredentialKind::api_key, *text))
    return tl::unexpected(refused_api_key(other_credential(request, CredentialKind::api_key)));
  // The checksum fits, so it is a key, known or not. Its first characters are not secret.
  auto owner = authenticate_key(*text, needed);
  if (!owner) owner.error().caller = sync::public_prefix(*text);
  return owner;
}

tl::expected<Authenticator::KeyOwner, HttpResponse> Authenticator::authenticate_key(const std::string& text,
                                                                                    Scope needed) {
  const std::string hash = sync::api_key_hash(text);
  KeyOwner owner = key_cache_.get(hash);
  if (!owner || !equal_in_constant_time(owner->key.hash, hash)) return tl::unexpected(refused_api_key());
  switch (sync::access_of(*owner, needed, clock_())) {
    case sync::ApiKeyAccess::allowed:
      if (is_test_key(owner->key.prefix) && !takes_test_keys_) return tl::unexpected(tests_disabled());
      return owner;
    case sync::ApiKeyAccess::refused:
      break;
    case sync::ApiKeyAccess::plan_without_api_access:
      return tl::unexpected(plan_without_api_access(owner->account.plan));
    case sync::ApiKeyAccess::missing_scope:
      return tl::unexpected(missing_scope(needed));
  }
  return tl::unexpected(refused_api_key());
}

void Authenticator::record_use(CredentialId key) {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  last_used_[key] = now;
}

void Authenticator::flush_last_used() {
  std::map<CredentialId, UtcMillis> last_used;
  {
    const std::lock_guard lock(mutex_);
    last_used.swap(last_used_);
  }
  try {
    credentials_.update_last_used({last_used.begin(), last_used.end()});
  } catch (const DependencyError&) {
    const std::lock_guard lock(mutex_);
    last_used_.merge(last_used);  // later uses have been recorded meanwhile
    throw;
  }
}

}  // namespace giftsync::http
