#include "daemon/tls_settings.h"

#include <fmt/format.h>

#include <utility>

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

std::optional<std::string> tls_date_fault(const config::Settings& settings, const http::TlsContext* tls,
                                          UtcMillis now) {
  if (tls == nullptr) return std::nullopt;
  const auto fault = date_fault(settings.server.tls.certificate, tls->dates(), now);
  if (!fault) return std::nullopt;
  return fmt::format("{}: {}: clients refuse it; {}", key_location(settings, kCertificateKey), fault->found,
                     fault->next_step);
}

std::vector<std::string> tls_warnings(const config::Settings& settings, const http::TlsContext* tls,
                                      UtcMillis now) {
  if (tls == nullptr) return {};
  std::vector<std::string> warnings;
  const std::string subject =
      fmt::format("{}: {}", key_location(settings, kCertificateKey), settings.server.tls.certificate);
  const auto add = [&](const std::string& clause) { warnings.push_back(subject + ", " + clause); };
  if (const CertificateDates dates = tls->dates(); dates.state_at(now) == CertificateState::ending)
    add("which expires at " + minute_text(dates.not_after) +
        " UTC; renew it, giftsyncd then takes the new files by itself");
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
                          minute_text(tls_->dates().not_after)));
    warned_at_ = UtcMillis{INT64_MIN / 2};
  }
  const CertificateState state = tls_->dates().state_at(now);
  const bool has_changed = std::exchange(state_, state) != state;
  if (!has_changed && !has_elapsed(warned_at_, kDayMillis, now)) return;
  warned_at_ = now;
  if (const auto refusal = tls_date_fault(settings, tls_.get(), now))
    log_event(LogEvent::certificate_not_valid, *refusal);
  for (const std::string& warning : tls_warnings(settings, tls_.get(), now))
    log_event(LogEvent::certificate_warning, warning);
}

}  // namespace giftsync::daemon
