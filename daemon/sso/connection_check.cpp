#include "daemon/sso/connection_check.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "daemon/settings/settings_fault.h"
#include "daemon/sso/certificate.h"
#include "daemon/sso/connection_addresses.h"
#include "daemon/sso/provider_documents.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 20;
constexpr std::int64_t kPatienceMillis = 20'000;

class ConnectionCheck {
 public:
  ConnectionCheck(const SsoSettings& sso, const SsoConnectionSettings& connection, const WebFetch& fetch,
                  schema::UtcMillis now)
      : sso_(sso), connection_(connection), fetch_(fetch), now_(now) {}

  Findings run() {
    if (connection_.kind == SsoKind::saml)
      check_saml();
    else
      check_provider();
    return std::move(findings_);
  }

 private:
  WebAnswer ask(const std::string& url) {
    WebRequest request;
    request.url = url;
    request.ca_file = connection_.ca_file;
    request.max_bytes = kMaxDocumentBytes;
    request.timeout_millis = kPatienceMillis;
    request.https_only = true;
    return fetch_(request, [] { return true; });
  }

  void tell_no_answer(const std::string& what, const std::string& url, const std::string& reason) {
    const bool is_trust = reason.find("certificate") != std::string::npos;
    findings_.unreachable(fmt::format(
        "{} at {} cannot be had: {}.{}", what, url, reason,
        is_trust ? " Its TLS certificate is not trusted here; if it comes from an authority of its own, name "
                   "that one as ca_file."
                 : ""));
  }

  std::optional<std::string> document(const std::string& what, const std::string& url) {
    const WebAnswer answer = ask(url);
    if (answer.status == 200) return answer.body;
    if (answer.status == 0) {
      tell_no_answer(what, url, answer.fault);
    } else if (answer.status >= 300 && answer.status < 400) {
      findings_.fault(fmt::format("{} at {} is somewhere else: {}. Write the address that it leads to.", what,
                                  url, in_quotes(answer.location)));
    } else if (answer.status >= 500 || answer.status == 429) {
      findings_.unreachable(
          fmt::format("{} at {} cannot be had: the provider answers {}.", what, url, answer.status));
    } else {
      findings_.fault(fmt::format("{} at {} is not there: the provider answers {}. Is the address right?",
                                  what, url, answer.status));
    }
    return std::nullopt;
  }

  void check_provider() {
    const auto discovery =
        document("The discovery document", provider_addresses(sso_, connection_).discovery);
    if (!discovery) return;
    const ToldAddresses told = judge_discovery(*discovery, sso_, connection_, findings_);
    if (told.keys.empty()) return;
    if (const auto keys = document("The list of keys", told.keys)) judge_keys(*keys, now_, findings_);
  }

  void check_certificate() {
    std::ifstream file(connection_.certificate, std::ios::binary);
    const std::string pem{std::istreambuf_iterator<char>(file), {}};
    const std::string name = in_quotes(connection_.certificate);
    const auto read = read_certificate(pem);
    if (const auto* fault = std::get_if<std::string>(&read))
      return findings_.fault(fmt::format("The certificate is {}, {}.", name, *fault));
    const CertificateFacts& facts = std::get<CertificateFacts>(read);
    const CertificateJudgement judged = judge_certificate(facts, now_);
    for (const std::string& fault : judged.faults)
      findings_.fault(fmt::format("The certificate is {}, {}.", name, fault));
    for (const std::string& warning : judged.warnings)
      findings_.warn(fmt::format("The certificate is {}, {}.", name, warning));
    if (judged.faults.empty()) {
      findings_.good(fmt::format("certificate of {}: {} {} bits, until {}", facts.subject, facts.key_type,
                                 facts.key_bits, schema::to_rfc3339(facts.not_after).substr(0, 10)));
    }
  }

  void check_saml() {
    check_certificate();
    if (connection_.sha1)
      findings_.warn(
          "Signatures with SHA1 are accepted; SHA1 can be forged. Ask for SHA256 at the provider.");
    const WebAnswer answer = ask(connection_.sign_in_url);
    if (answer.status == 0) return tell_no_answer("The sign-in page", connection_.sign_in_url, answer.fault);
    // Without a request it may complain, but it is there.
    if (answer.status == 404 || answer.status == 410) {
      return findings_.fault(fmt::format("There is no sign-in page at {}: the provider answers {}.",
                                         connection_.sign_in_url, answer.status));
    }
    if (answer.status >= 500) {
      return findings_.warn(fmt::format("The sign-in page at {} answers {} to a visit without a request.",
                                        connection_.sign_in_url, answer.status));
    }
    findings_.good(fmt::format("sign-in page: {}", connection_.sign_in_url));
  }

  const SsoSettings& sso_;
  const SsoConnectionSettings& connection_;
  const WebFetch& fetch_;
  const schema::UtcMillis now_;
  Findings findings_;
};

}  // namespace

Findings check_connection(const SsoSettings& sso, const SsoConnectionSettings& connection,
                          const WebFetch& fetch, schema::UtcMillis now) {
  return ConnectionCheck(sso, connection, fetch, now).run();
}

}  // namespace giftsync::daemon
