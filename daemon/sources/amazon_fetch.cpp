#include "daemon/sources/amazon_fetch.h"

#include "daemon/crypto/public_key.h"
#include "daemon/sources/sns.h"

namespace giftsync::daemon {
namespace {

constexpr int kCallsInMinute = 10;
constexpr std::size_t kMostCertificates = 20;
constexpr std::size_t kMostBytes = std::size_t{64} << 10;
constexpr std::int64_t kTimeoutMillis = 5'000;

}  // namespace

bool AmazonFetch::may_call(schema::UtcMillis now) {
  if (now.value - minute_.value >= schema::kMinuteMillis || now < minute_) {
    minute_ = now;
    calls_ = 0;
  }
  return calls_++ < kCallsInMinute;
}

std::optional<std::string> AmazonFetch::call(const std::string& url) {
  WebRequest request;
  request.url = url;
  request.max_bytes = kMostBytes;
  request.timeout_millis = kTimeoutMillis;
  request.https_only = true;
  WebAnswer answer = fetch_(request, [] { return true; });
  if (answer.status != 200) return std::nullopt;
  return std::move(answer.body);
}

std::optional<std::string> AmazonFetch::operator()(const std::string& url) {
  if (!is_sns_url(url)) return std::nullopt;
  const bool is_certificate = is_sns_certificate_url(url);
  const schema::UtcMillis now = clock_();
  std::optional<std::string> old;
  {
    const std::lock_guard lock(mutex_);
    const auto known = certificates_.find(url);
    if (known != certificates_.end()) {
      if (now.value - known->second.at.value < schema::kDayMillis) return known->second.text;
      old = known->second.text;
    }
    if (!may_call(now)) return old;
  }
  std::optional<std::string> text = call(url);
  if (!is_certificate) return text;
  // Whatever stands between us and Amazon may answer too.
  if (!text || !PublicKey::from_certificate(*text)) return old;
  const std::lock_guard lock(mutex_);
  if (certificates_.size() >= kMostCertificates) certificates_.clear();
  certificates_[url] = {*text, now};
  return text;
}

}  // namespace giftsync::daemon
