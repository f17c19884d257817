#include "daemon/mail/smtp_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "platform/text.h"

namespace giftsync::mail {
namespace {

constexpr std::array<std::pair<std::string_view, SmtpPhase>, 9> kCommands{{
    {"EHLO", SmtpPhase::hello},
    {"HELO", SmtpPhase::hello},
    {"STARTTLS", SmtpPhase::start_tls},
    {"AUTH", SmtpPhase::authentication},
    {"NOOP", SmtpPhase::readiness},
    {"MAIL", SmtpPhase::sender},
    {"RCPT", SmtpPhase::recipient},
    {"DATA", SmtpPhase::data},
    {"QUIT", SmtpPhase::idle},
}};

constexpr int kServiceClosing = 421;
constexpr std::size_t kMaxReplyBytes = 4096;

// Codes that concern the session or a missing login (RFC 4954), after any command.
constexpr std::array<int, 6> kSessionErrorCodes{kServiceClosing, 503, 530, 534, 535, 538};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_with_code(std::string_view line) {
  return line.size() >= 3 && std::all_of(line.begin(), line.begin() + 3, is_digit);
}

int code_of(std::string_view line) {
  return (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
}

/// Unknown address or domain, malformed, moved, no mail domain.
constexpr std::array<std::string_view, 5> kRecipientCodes{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"};

/// "5.1.1" of "550-5.1.1 no such user", also of "550 #5.1.1 ..."; empty when there is none.
std::string_view enhanced_code_of(std::string_view line) {
  line.remove_prefix(std::min<std::size_t>(line.size(), 4));
  if (line.starts_with('#')) line.remove_prefix(1);
  const std::string_view code = line.substr(0, line.find_first_not_of("0123456789."));
  return code.starts_with("5.") && std::count(code.begin(), code.end(), '.') == 2 ? code : std::string_view();
}

bool is_recipient_code(std::string_view code) {
  return code.starts_with("5.2.") ||
         std::find(kRecipientCodes.begin(), kRecipientCodes.end(), code) != kRecipientCodes.end();
}

sync::SendOutcome outcome_of_rejection(int code) {
  const auto& faults = kSessionErrorCodes;
  if (std::find(faults.begin(), faults.end(), code) != faults.end())
    return sync::SendOutcome::transport_error;
  if (code / 100 == 4) return sync::SendOutcome::try_later;
  if (code / 100 == 5) return sync::SendOutcome::refused;
  return sync::SendOutcome::transport_error;
}

}  // namespace

void SmtpSession::begin_exchange() {
  enter(SmtpPhase::idle);
  refusal_.reset();
  was_greeted_ = false;
  is_closed_ = false;
}

void SmtpSession::enter(SmtpPhase phase) {
  phase_ = phase;
  reply_.reset();
  partial_reply_.clear();
  names_recipient_.reset();
}

void SmtpSession::command(std::string_view line) {
  if (is_closed_) return;
  // Responses to login challenges (334) are bare base64, which may spell "DATA".
  if (phase_ == SmtpPhase::authentication && reply_ && reply_->code == 334) {
    enter(SmtpPhase::authentication);
    return;
  }
  const std::string_view verb = line.substr(0, line.find_first_of(" \r\n"));
  for (const auto& [name, phase] : kCommands) {
    if (verb != name) continue;
    if (name != "QUIT") {
      enter(phase);
    } else if (phase_ != SmtpPhase::idle) {  // in idle it ends an older connection
      is_closed_ = true;
    }
    return;
  }
}

void SmtpSession::final_dot() {
  enter(SmtpPhase::final_dot);
}

void SmtpSession::reply_line(std::string_view line) {
  line = trimmed(line);
  if (is_closed_ || !begins_with_code(line)) return;
  if (phase_ == SmtpPhase::idle) {
    enter(SmtpPhase::greeting);
    was_greeted_ = true;
    is_authenticated_ = false;
  }
  if (!partial_reply_.empty() && partial_reply_.size() < kMaxReplyBytes) partial_reply_ += ' ';
  partial_reply_ += line.substr(0, kMaxReplyBytes - std::min(kMaxReplyBytes, partial_reply_.size()));
  if (const std::string_view code = enhanced_code_of(line); !code.empty())
    names_recipient_ = names_recipient_.value_or(true) && is_recipient_code(code);
  if (line.size() > 3 && line[3] == '-') return;
  reply_ = SmtpReply{phase_, code_of(line), std::exchange(partial_reply_, {}),
                     std::exchange(names_recipient_, {}).value_or(false)};
  refusal_ = reply_->code >= 400 ? reply_ : std::nullopt;
  if (phase_ == SmtpPhase::authentication && reply_->code == 235) is_authenticated_ = true;
}

bool SmtpSession::is_positive_reply() const {
  return reply_ && reply_->code / 100 == 2;
}

bool SmtpSession::may_retry_on_new_connection() const {
  if (was_greeted_) return false;
  switch (phase_) {
    case SmtpPhase::idle:
      return true;
    case SmtpPhase::readiness:
    case SmtpPhase::sender:
      return !reply_ || reply_->code == kServiceClosing;
    default:
      return false;
  }
}

sync::SendOutcome SmtpSession::outcome(bool login_missing) const {
  if (phase_ == SmtpPhase::final_dot) {
    if (!reply_) return sync::SendOutcome::uncertain;
    if (is_positive_reply()) return sync::SendOutcome::accepted;
    // RFC 5321 defines no preliminary code here: the relay may have accepted the mail.
    if (reply_->code < 400 || reply_->code > 599) return sync::SendOutcome::uncertain;
  } else if ((phase_ != SmtpPhase::recipient && phase_ != SmtpPhase::data) || !reply_) {
    return sync::SendOutcome::transport_error;
  }
  return login_missing ? sync::SendOutcome::transport_error : outcome_of_rejection(reply_->code);
}

bool SmtpSession::is_ambiguous(bool login_missing) const {
  const bool is_answer_to_mail =
      phase_ == SmtpPhase::recipient || phase_ == SmtpPhase::data || phase_ == SmtpPhase::final_dot;
  if (!is_answer_to_mail || !reply_ || login_missing) return false;
  const sync::SendOutcome meant = outcome(login_missing);
  return meant == sync::SendOutcome::transport_error ||
         (meant == sync::SendOutcome::refused && !reply_->names_recipient);
}

}  // namespace giftsync::mail
