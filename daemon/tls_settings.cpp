#include "daemon/tls_settings.h"

#include <fmt/format.h>

#include "daemon/config/text_checks.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::daemon {
namespace {

constexpr const char* kCertificateKey = "server.tls.certificate";

std::string key_location(const config::Settings& settings, const char* key) {
  const auto source = settings.provenance.find(key);
  if (source == settings.provenance.end()) return fmt::format("{}: {}", settings.file, key);
  return fmt::format("{}:{}: {}", settings.file, source->second.line, key);
}

std::string expiry_clause(UtcMillis not_after, UtcMillis now) {
  const std::string time = minute_text(not_after) + " UTC";
  return not_after <= now ? "which expired at " + time + ": clients refuse it" : "which expires at " + time;
}

}  // namespace

tl::expected<std::shared_ptr<http::TlsContext>, std::string> make_tls(const config::Settings& settings,
                                                                      UtcMillis now) {
  const config::TlsSettings& tls = settings.server.tls;
  if (tls.certificate.empty()) return nullptr;
  auto made = http::TlsContext::make({tls.certificate, tls.key, tls.requires_1_3}, now);
  if (made) return std::move(*made);
  const char* key = made.error().is_of_key ? "server.tls.key" : kCertificateKey;
  return tl::unexpected(fmt::format("{}: {}", key_location(settings, key), made.error().text));
}

std::vector<std::string> tls_warnings(const config::Settings& settings, const http::TlsContext* tls,
                                      UtcMillis now) {
  if (tls == nullptr) return {};
  std::vector<std::string> warnings;
  const std::string subject =
      fmt::format("{}: {}", key_location(settings, kCertificateKey), settings.server.tls.certificate);
  const auto add = [&](const std::string& clause) { warnings.push_back(subject + ", " + clause); };
  if (tls->not_after() <= now + kRenewalNoticeMillis)
    add(expiry_clause(tls->not_after(), now) + "; renew it, giftsyncd then takes the new files by itself");
  for (const auto& [key, url] : {std::pair{"server.base_url", &settings.server.base_url},
                                 std::pair{"server.admin_url", &settings.server.admin_url}}) {
    const std::string host = config::host_of_url(*url);
    if (!tls->covers(host))
      add(fmt::format("which is not for {} of {}: clients refuse it; have one made with this name",
                      in_quotes(host), key));
  }
  return warnings;
}

void TlsWatch::check(const config::Settings& settings, UtcMillis now) {
  if (!tls_) return;
  const auto [what, fault] = tls_->renew(now);
  if (what == http::TlsContext::Renewal::refused)
    log_event(
        LogEvent::certificate_refused,
        fmt::format("the changed certificate and key are not used, the former ones stay in use: {}", fault));
  if (what == http::TlsContext::Renewal::renewed) {
    log_event(LogEvent::certificate_changed,
              fmt::format("new connections use the changed certificate, which expires at {} UTC",
                          minute_text(tls_->not_after())));
    warned_at_ = UtcMillis{INT64_MIN / 2};
  }
  if (!has_elapsed(warned_at_, kDayMillis, now)) return;
  warned_at_ = now;
  for (const std::string& warning : tls_warnings(settings, tls_.get(), now))
    log_event(LogEvent::certificate_warning, warning);
}

}  // namespace giftsync::daemon
