#include "daemon/sources/amazon_fetch.h"

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

std::optional<std::string> AmazonFetch::operator()(const std::string& url) {
  if (!is_sns_url(url)) return std::nullopt;
  const schema::UtcMillis now = clock_();
  {
    const std::lock_guard lock(mutex_);
    const auto known = certificates_.find(url);
    if (known != certificates_.end() && now.value - known->second.at.value < schema::kDayMillis)
      return known->second.text;
    if (!may_call(now)) return std::nullopt;
  }
  WebRequest request;
  request.url = url;
  request.max_bytes = kMostBytes;
  request.timeout_millis = kTimeoutMillis;
  request.https_only = true;
  const WebAnswer answer = fetch_(request, [] { return true; });
  if (answer.status != 200) return std::nullopt;
  if (url.ends_with(".pem")) {
    const std::lock_guard lock(mutex_);
    if (certificates_.size() >= kMostCertificates) certificates_.clear();
    certificates_[url] = {answer.body, now};
  }
  return answer.body;
}

}  // namespace giftsync::daemon
