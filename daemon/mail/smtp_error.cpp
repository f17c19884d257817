#include "daemon/mail/smtp_error.h"

#include <algorithm>

#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::daemon::mail {
namespace {

constexpr std::size_t kMaxCodePoints = 500;
constexpr std::string_view kRedacted = "********";

void redact(std::string& text, std::string_view secret) {
  if (secret.empty()) return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kRedacted.size())) {
    text.replace(at, secret.size(), kRedacted);
  }
}

/// "the relay refused DATA", the beginning of a sentence about a negative reply.
std::string_view refusal(SmtpPhase phase) {
  switch (phase) {
    case SmtpPhase::idle:
    case SmtpPhase::greeting:
      return "the relay refused the connection";
    case SmtpPhase::hello:
      return "the relay refused EHLO";
    case SmtpPhase::start_tls:
      return "the relay refused STARTTLS";
    case SmtpPhase::authentication:
      return "the relay refused the login; check email.smtp.username and email.smtp.password";
    case SmtpPhase::readiness:
      return "the relay refused NOOP";
    case SmtpPhase::sender:
      return "the relay refused the sender address; check email.from";
    case SmtpPhase::recipient:
      return "the relay refused RCPT for a reason unrelated to the recipient";
    case SmtpPhase::data:
      return "the relay refused DATA for a reason unrelated to the recipient";
    case SmtpPhase::final_dot:
      return "the relay refused the mail for a reason unrelated to the recipient";
  }
  return "the relay refused";
}

std::string_view next_step(CURLcode code) {
  switch (code) {
    case CURLE_LOGIN_DENIED:
      return "the relay offers no login method that giftsync supports; check email.smtp.username and "
             "email.smtp.password";
    case CURLE_USE_SSL_FAILED:
      return "the relay offers no STARTTLS; email.smtp.require_tls: false would send unencrypted";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "the relay's certificate is not trusted; check email.smtp.url and email.smtp.ca_file";
    default:
      return "the connection to the relay failed";
  }
}

}  // namespace

std::string describe_error(const SmtpSession& session, CURLcode code, std::string_view curl_message) {
  if (const auto& reply = session.refusal()) return std::string(refusal(reply->phase)) + ": " + reply->text;
  return std::string(next_step(code)) + ": " + std::string(curl_message);
}

std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets) {
  std::string line(text);
  for (const std::string& secret : secrets) {
    redact(line, secret);
    redact(line, platform::to_base64_text(secret));
  }
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (!platform::is_storable_text(line)) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return std::string(platform::truncated(platform::trimmed(line), kMaxCodePoints));
}

}  // namespace giftsync::daemon::mail
