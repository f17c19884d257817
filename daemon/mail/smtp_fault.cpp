#include "daemon/mail/smtp_fault.h"

#include <openssl/evp.h>

#include <algorithm>

#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMaxCodePoints = 500;
constexpr std::string_view kHidden = "********";

std::string base64(std::string_view text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  encoded.resize(static_cast<std::size_t>(length));
  return encoded;
}

void hide(std::string& text, std::string_view secret) {
  if (secret.empty()) return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kHidden.size())) {
    text.replace(at, secret.size(), kHidden);
  }
}

/// "the relay refused DATA", the beginning of a sentence about a negative reply.
std::string_view refusal(SmtpMoment moment) {
  switch (moment) {
    case SmtpMoment::idle:
    case SmtpMoment::greeting:
      return "the relay refused the connection";
    case SmtpMoment::hello:
      return "the relay refused EHLO";
    case SmtpMoment::start_tls:
      return "the relay refused STARTTLS";
    case SmtpMoment::authentication:
      return "the relay refused the login; check email.smtp.username and email.smtp.password";
    case SmtpMoment::readiness:
      return "the relay refused NOOP";
    case SmtpMoment::sender:
      return "the relay refused the sender address; check email.from";
    case SmtpMoment::recipient:
      return "the relay refused RCPT for a reason that is not the recipient's";
    case SmtpMoment::data:
      return "the relay refused DATA for a reason that is not the recipient's";
    case SmtpMoment::final_dot:
      return "the relay refused the mail for a reason that is not the recipient's";
  }
  return "the relay refused";
}

std::string_view next_step(CURLcode code) {
  switch (code) {
    case CURLE_LOGIN_DENIED:
      return "the relay takes no login that giftsync can give; check email.smtp.username and "
             "email.smtp.password";
    case CURLE_USE_SSL_FAILED:
      return "the relay offers no STARTTLS; email.smtp.require_tls: false would send in the clear";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "the relay's certificate is not trusted; check email.smtp.url and email.smtp.ca_file";
    default:
      return "the connection to the relay failed";
  }
}

}  // namespace

std::string explain_fault(const SmtpDialogue& dialogue, CURLcode code, std::string_view words) {
  if (const auto& said = dialogue.refusal()) return std::string(refusal(said->to)) + ": " + said->words;
  return std::string(next_step(code)) + ": " + std::string(words);
}

std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets) {
  std::string line(text);
  for (const std::string& secret : secrets) {
    hide(line, secret);
    hide(line, base64(secret));
  }
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (!schema::is_storable_text(line)) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return std::string(schema::truncated(schema::trimmed(line), kMaxCodePoints));
}

}  // namespace giftsync::daemon
