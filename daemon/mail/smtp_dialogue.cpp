#include "daemon/mail/smtp_dialogue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::array<std::pair<std::string_view, SmtpMoment>, 9> kCommands{{
    {"EHLO", SmtpMoment::hello},
    {"HELO", SmtpMoment::hello},
    {"STARTTLS", SmtpMoment::start_tls},
    {"AUTH", SmtpMoment::authentication},
    {"NOOP", SmtpMoment::readiness},
    {"MAIL", SmtpMoment::sender},
    {"RCPT", SmtpMoment::recipient},
    {"DATA", SmtpMoment::data},
    {"QUIT", SmtpMoment::idle},
}};

constexpr int kServiceCloses = 421;
constexpr std::size_t kMaxWordsBytes = 4096;

// Codes that speak of the session or of a missing login (RFC 4954), whatever they answer.
constexpr std::array<int, 6> kNeverAboutTheRecipient{kServiceCloses, 503, 530, 534, 535, 538};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_with_code(std::string_view line) {
  return line.size() >= 3 && std::all_of(line.begin(), line.begin() + 3, is_digit);
}

int code_of(std::string_view line) {
  return (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
}

SendVerdict verdict_of_refusal(int code) {
  const auto& faults = kNeverAboutTheRecipient;
  if (std::find(faults.begin(), faults.end(), code) != faults.end()) return SendVerdict::transport_fault;
  if (code / 100 == 4) return SendVerdict::try_later;
  if (code / 100 == 5) return SendVerdict::refused;
  return SendVerdict::transport_fault;
}

}  // namespace

void SmtpDialogue::begin_exchange() {
  enter(SmtpMoment::idle);
  refusal_.reset();
  greeted_ = false;
  over_ = false;
}

void SmtpDialogue::enter(SmtpMoment moment) {
  moment_ = moment;
  reply_.reset();
  lines_so_far_.clear();
}

void SmtpDialogue::command(std::string_view line) {
  if (over_) return;
  // The answers to a login's challenges (334) are bare base64, which may well spell "DATA".
  if (moment_ == SmtpMoment::authentication && reply_ && reply_->code == 334) {
    enter(SmtpMoment::authentication);
    return;
  }
  const std::string_view verb = line.substr(0, line.find_first_of(" \r\n"));
  for (const auto& [name, moment] : kCommands) {
    if (verb != name) continue;
    if (name != "QUIT") {
      enter(moment);
    } else if (moment_ != SmtpMoment::idle) {  // else it ends an older connection
      over_ = true;
    }
    return;
  }
}

void SmtpDialogue::final_dot() {
  enter(SmtpMoment::final_dot);
}

void SmtpDialogue::reply_line(std::string_view line) {
  line = schema::trimmed(line);
  if (over_ || !begins_with_code(line)) return;
  if (moment_ == SmtpMoment::idle) {
    enter(SmtpMoment::greeting);
    greeted_ = true;
    authenticated_ = false;
  }
  if (!lines_so_far_.empty() && lines_so_far_.size() < kMaxWordsBytes) lines_so_far_ += ' ';
  lines_so_far_ += line.substr(0, kMaxWordsBytes - std::min(kMaxWordsBytes, lines_so_far_.size()));
  if (line.size() > 3 && line[3] == '-') return;
  reply_ = SmtpReply{moment_, code_of(line), std::exchange(lines_so_far_, {})};
  refusal_ = reply_->code >= 400 ? reply_ : std::nullopt;
  if (moment_ == SmtpMoment::authentication && reply_->code == 235) authenticated_ = true;
}

bool SmtpDialogue::answered_well() const {
  return reply_ && reply_->code / 100 == 2;
}

bool SmtpDialogue::nothing_began() const {
  if (greeted_) return false;
  switch (moment_) {
    case SmtpMoment::idle:
      return true;
    case SmtpMoment::readiness:
    case SmtpMoment::sender:
      return !reply_ || reply_->code == kServiceCloses;
    default:
      return false;
  }
}

SendVerdict SmtpDialogue::verdict(bool login_missing) const {
  if (moment_ == SmtpMoment::final_dot) {
    if (!reply_) return SendVerdict::uncertain;
    if (answered_well()) return SendVerdict::accepted;
    // A preliminary code here means nothing that RFC 5321 knows of: the relay may have kept the mail.
    if (reply_->code < 400 || reply_->code > 599) return SendVerdict::uncertain;
  } else if ((moment_ != SmtpMoment::recipient && moment_ != SmtpMoment::data) || !reply_) {
    return SendVerdict::transport_fault;
  }
  return login_missing ? SendVerdict::transport_fault : verdict_of_refusal(reply_->code);
}

}  // namespace giftsync::daemon
