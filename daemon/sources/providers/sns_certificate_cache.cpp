#include "daemon/sources/providers/sns_certificate_cache.h"

#include "daemon/sources/providers/sns.h"
#include "platform/ip_address.h"
#include "platform/public_key.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::size_t kMaxCertificates = 20;
constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 10;
constexpr std::int64_t kTimeoutMillis = 5'000;
/// Each fetch occupies a thread that serves a call.
constexpr int kMaxConcurrentFetches = 4;

/// Counts a fetch while it lasts.
class RunningFetch {
 public:
  explicit RunningFetch(std::atomic<int>& running) : running_(running), before_(running++) {}
  ~RunningFetch() { --running_; }
  RunningFetch(const RunningFetch&) = delete;
  RunningFetch& operator=(const RunningFetch&) = delete;
  bool is_allowed() const { return before_ < kMaxConcurrentFetches; }

 private:
  std::atomic<int>& running_;
  const int before_;
};

}  // namespace

std::optional<std::string> SnsCertificateCache::fetch_body(const std::string& url) {
  platform::HttpGetRequest request;
  request.url = url;
  request.max_bytes = kMaxBodyBytes;
  request.timeout_millis = kTimeoutMillis;
  request.https_only = true;
  platform::HttpGetResponse response = http_get_(request, [] { return true; });
  if (response.status != 200) return std::nullopt;
  return std::move(response.body);
}

std::optional<std::string> SnsCertificateCache::operator()(const std::string& url,
                                                           const std::string& client) {
  const bool is_certificate = has_sns_certificate_path(url);
  const platform::UtcMillis now = clock_();
  std::optional<std::string> stale;
  {
    const std::lock_guard lock(mutex_);
    const auto cached = certificates_.find(url);
    if (cached != certificates_.end()) {
      if (now.value - cached->second.fetched_at.value < platform::kDayMillis) return cached->second.text;
      stale = cached->second.text;
    }
  }
  const RunningFetch running(running_);
  if (!running.is_allowed() || fetches_.count(platform::rate_limit_prefix(client), now).is_exceeded)
    return stale;
  std::optional<std::string> text = fetch_body(url);
  if (!is_certificate) return text;
  // A proxy between this host and Amazon may return another text, so the certificate is checked.
  if (!text || !platform::PublicKey::from_certificate(*text)) return stale;
  const std::lock_guard lock(mutex_);
  if (certificates_.size() >= kMaxCertificates) certificates_.clear();
  certificates_[url] = {*text, now};
  return text;
}

}  // namespace giftsync::daemon::sources
