// daemon/http: who may call (Spec 5, design 3.4): from the Authorization header to an account, or to the
// answer that says why not. A revoke or a rotation, by whichever program, takes effect within a second. Any
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "daemon/clock.h"
#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "daemon/http/request_rate.h"
#include "daemon/short_memory.h"
#include "schema/store/account_book.h"

namespace giftsync::daemon {

class KeyGate {
 public:
  /// `requests_per_minute`: of each key; 0 for no limit.
  KeyGate(schema::AccountBook& accounts, Clock clock, std::int64_t requests_per_minute);

  using Work = std::function<HttpResponse(const schema::KeyHolder& caller)>;
  /// What `work` answers a caller with that scope, with the headers of the key's rate; others are refused.
  /// Throws schema::BrokenWorld when the store cannot be asked.
  HttpResponse answer(const HttpRequest& request, schema::Scope needed, const Work& work);

  /// Writes down when keys were last used; called now and then, not with every request.
  void write_uses();

 private:
  struct Admitted {
    std::shared_ptr<const schema::KeyHolder> holder;  ///< never null
    std::optional<RateLimit> rate;                    ///< for the answer's headers
  };
  /// The caller with that scope, or the refusal.
  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, schema::Scope needed);
  std::variant<Admitted, HttpResponse> admit_key(const std::string& text, schema::Scope needed);
  bool is_good(const schema::KeyHolder& holder) const;
  void note_use(schema::KeyId key);

  schema::AccountBook& accounts_;
  const Clock clock_;
  RequestRate rate_;
  ShortMemory<std::string, schema::KeyHolder> keys_;
  std::mutex mutex_;
  std::map<schema::KeyId, schema::UtcMillis> uses_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
