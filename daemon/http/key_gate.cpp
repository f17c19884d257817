#include "daemon/http/key_gate.h"

#include <utility>

#include "daemon/crypto/api_key.h"
#include "daemon/crypto/digest.h"
#include "daemon/http/authorization.h"

namespace giftsync::daemon {

KeyGate::KeyGate(schema::AccountBook& accounts, Clock clock, std::int64_t requests_per_minute)
    : accounts_(accounts),
      clock_(std::move(clock)),
      rate_(requests_per_minute, clock_),
      keys_(clock_, [this](const std::string& hash) { return accounts_.find_key(hash); }) {}

bool KeyGate::is_good(const schema::KeyHolder& holder) const {
  const bool expired = holder.key.expires_at && *holder.key.expires_at <= clock_();
  return !holder.key.revoked_at && !expired && holder.account.active;
}

HttpResponse KeyGate::answer(const HttpRequest& request, schema::Scope needed, const Work& work) {
  auto admission = admit(request, needed);
  if (auto* refusal = std::get_if<HttpResponse>(&admission)) return std::move(*refusal);
  const auto& admitted = std::get<Admitted>(admission);
  HttpResponse response = work(*admitted.holder);
  if (admitted.rate) add_rate_limit(response, *admitted.rate);
  response.caller = admitted.holder->key.prefix;
  return response;
}

std::variant<KeyGate::Admitted, HttpResponse> KeyGate::admit(const HttpRequest& request,
                                                             schema::Scope needed) {
  if (request.headers.count("Authorization") == 0) return missing_api_key();
  const std::optional<std::string> text = api_key_of(request);
  if (!text || !is_api_key(*text)) return refused_api_key();
  // It has the form and the checksum of a key, so it is one, if not ours; its first characters are no secret.
  auto admission = admit_key(*text, needed);
  if (auto* refusal = std::get_if<HttpResponse>(&admission)) refusal->caller = public_prefix(*text);
  return admission;
}

std::variant<KeyGate::Admitted, HttpResponse> KeyGate::admit_key(const std::string& text,
                                                                 schema::Scope needed) {
  const std::string hash = api_key_hash(text);
  std::shared_ptr<const schema::KeyHolder> holder = keys_.get(hash);
  if (!holder || !equal_in_constant_time(holder->key.hash, hash) || !is_good(*holder))
    return refused_api_key();
  if (!schema::has_api_access(holder->account.plan)) return plan_without_api_access(holder->account.plan);
  if (!holder->key.scopes.contains(needed)) return missing_scope(needed);
  const RequestRate::Count count = rate_.count(holder->key.id.value);
  if (count.is_over) return rate_limited(*count.rate);
  note_use(holder->key.id);
  return Admitted{std::move(holder), count.rate};
}

void KeyGate::note_use(schema::KeyId key) {
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  uses_[key] = now;
}

void KeyGate::write_uses() {
  std::map<schema::KeyId, schema::UtcMillis> uses;
  {
    const std::lock_guard lock(mutex_);
    uses.swap(uses_);
  }
  try {
    accounts_.note_used({uses.begin(), uses.end()});
  } catch (const schema::BrokenWorld&) {
    const std::lock_guard lock(mutex_);
    uses_.merge(uses);  // what came meanwhile is later
    throw;
  }
}

}  // namespace giftsync::daemon
