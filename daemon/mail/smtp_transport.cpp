// SMTP by libcurl: one easy handle, so that one connection serves many mails. libcurl implements the protocol
// (and dot stuffing); SmtpSession tracks it and derives outcomes; BoundedBody enforces the lease.
#include "daemon/mail/smtp_transport.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include "platform/clock.h"
#include "platform/digest.h"
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

/// "5.1.1" of "550-5.1.1 no such user", also of "550 #5.1.1 ..."; empty when there is none.
std::string_view enhanced_code_of(std::string_view line) {
  line.remove_prefix(std::min<std::size_t>(line.size(), 4));
  if (line.starts_with('#')) line.remove_prefix(1);
  const std::string_view code = line.substr(0, line.find_first_not_of("0123456789."));
  return code.starts_with("5.") && std::count(code.begin(), code.end(), '.') == 2 ? code : std::string_view();
}

bool is_recipient_code(std::string_view code) {
  return code.starts_with("5.2.") || sync::is_bad_address_code(code);
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
  names_bad_address_.reset();
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
  if (const std::string_view code = enhanced_code_of(line); !code.empty()) {
    names_recipient_ = names_recipient_.value_or(true) && is_recipient_code(code);
    names_bad_address_ = names_bad_address_.value_or(true) && sync::is_bad_address_code(code);
  }
  if (line.size() > 3 && line[3] == '-') return;
  reply_ = SmtpReply{phase_, code_of(line), std::exchange(partial_reply_, {}),
                     std::exchange(names_recipient_, {}).value_or(false),
                     std::exchange(names_bad_address_, {}).value_or(false)};
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

namespace {

constexpr long kConnectTimeoutMillis = 20000;
/// A connection on which the relay replied this recently needs no NOOP.
constexpr std::int64_t kIdleCheckMillis = 5000;
constexpr std::string_view kLeaseEnded = "not sent: the lease on this mail expired before its final dot";

struct EasyCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyCleanup>;
using List = std::unique_ptr<curl_slist, ListCleanup>;

Easy new_easy() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once for all threads
  Easy easy(initialised == CURLE_OK ? curl_easy_init() : nullptr);
  if (!easy) throw std::bad_alloc();
  return easy;
}

/// True for an address that would end or extend its SMTP command.
bool is_unsafe_in_command(const std::string& address) {
  return std::any_of(address.begin(), address.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '<' || c == '>';
  });
}

/// A libcurl handle with at most one open connection to the relay. It reports the dialogue to a session.
class RelayConnection {
 public:
  RelayConnection(const SmtpOptions& options, SmtpSession& session, const std::atomic<bool>& is_stopping)
      : options_(options), session_(session), is_stopping_(is_stopping) {
    open_handle();
  }
  /// libcurl would send QUIT now and wait for the reply, up to two minutes.
  ~RelayConnection() { shut_down_sockets(); }
  RelayConnection(const RelayConnection&) = delete;
  RelayConnection& operator=(const RelayConnection&) = delete;

  template <class Value>
  void set(CURLoption option, Value value) {
    // An option that libcurl does not know is a bug.
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK) std::terminate();
  }

  /// One exchange with the options that are set, with the bytes of `body` if it has any.
  CURLcode perform(std::int64_t millis, BoundedBody* body) {
    body_ = body;
    session_.begin_exchange();
    error_[0] = '\0';
    set(CURLOPT_TIMEOUT_MS,
        static_cast<long>(std::max<std::int64_t>(1, std::min(millis, options_.timeout_millis))));
    const CURLcode code = curl_easy_perform(easy_.get());
    if (error_[0] == '\0') std::strncpy(error_, curl_easy_strerror(code), sizeof error_ - 1);
    return code;
  }
  /// The message of the last exchange's error.
  const char* error() const { return error_; }

  /// Closes the connection: the next exchange opens a new one.
  void reset() {
    shut_down_sockets();
    open_handle();
  }

 private:
  static int on_debug(CURL*, curl_infotype type, char* text, std::size_t size, void* self) {
    auto& connection = *static_cast<RelayConnection*>(self);
    if (type == CURLINFO_HEADER_OUT) connection.session_.command({text, size});
    if (type == CURLINFO_HEADER_IN) connection.session_.reply_line({text, size});
    // QUIT was sent; libcurl would wait for the reply, up to two minutes.
    if (connection.session_.is_closed()) connection.shut_down_sockets();
    return 0;
  }
  static std::size_t on_read(char* buffer, std::size_t size, std::size_t count, void* self) {
    auto& connection = *static_cast<RelayConnection*>(self);
    const auto taken = connection.body_->read(buffer, size * count);
    if (!taken) {
      connection.shut_down_sockets();
      return CURL_READFUNC_ABORT;
    }
    if (*taken == 0) connection.session_.final_dot();
    return *taken;
  }
  /// libcurl calls it at least once a second. A mail whose final dot may have left needs the reply.
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& connection = *static_cast<RelayConnection*>(self);
    if (!connection.is_stopping_ || connection.session_.phase() == SmtpPhase::final_dot) return 0;
    connection.shut_down_sockets();
    return 1;
  }
  /// Discards the reply to NOOP, which libcurl passes on as content.
  static std::size_t on_write(char*, std::size_t size, std::size_t count, void*) { return size * count; }
  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address) {
    const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (socket >= 0) static_cast<RelayConnection*>(self)->sockets_.insert(socket);
    return socket;
  }
  static int on_close(void* self, curl_socket_t socket) {
    static_cast<RelayConnection*>(self)->sockets_.erase(socket);
    return ::close(socket);
  }

  void open_handle() {
    easy_ = new_easy();
    // libcurl takes the name for EHLO from the path.
    set(CURLOPT_URL,
        (options_.url + (options_.client_name.empty() ? "" : "/" + options_.client_name)).c_str());
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    set(CURLOPT_PROXY, "");  // not from the environment
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMillis);
    set(CURLOPT_ERRORBUFFER, error_);
    set(CURLOPT_VERBOSE, 1L);
    set(CURLOPT_DEBUGFUNCTION, &RelayConnection::on_debug);
    set(CURLOPT_DEBUGDATA, this);
    set(CURLOPT_READFUNCTION, &RelayConnection::on_read);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_WRITEFUNCTION, &RelayConnection::on_write);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &RelayConnection::on_progress);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_QUICK_EXIT, 1L);  // a name that is still being looked up does not delay a stop
    set(CURLOPT_OPENSOCKETFUNCTION, &RelayConnection::on_open);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_CLOSESOCKETFUNCTION, &RelayConnection::on_close);
    set(CURLOPT_CLOSESOCKETDATA, this);
    const bool verified = requires_verified_tls(options_);
    set(CURLOPT_USE_SSL, static_cast<long>(options_.require_tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_VERIFYPEER, verified ? 1L : 0L);
    set(CURLOPT_SSL_VERIFYHOST, verified ? 2L : 0L);
    if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
    if (options_.username.empty()) return;
    set(CURLOPT_USERNAME, options_.username.c_str());
    set(CURLOPT_PASSWORD, options_.password.c_str());
  }

  /// After this no byte is sent, not even libcurl's final QUIT.
  void shut_down_sockets() {
    for (const curl_socket_t socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }

  const SmtpOptions& options_;
  SmtpSession& session_;
  const std::atomic<bool>& is_stopping_;
  BoundedBody* body_ = nullptr;      ///< of the mail being sent
  std::set<curl_socket_t> sockets_;  ///< open ones
  char error_[CURL_ERROR_SIZE] = "";
  Easy easy_;  ///< last member: closing it still uses the others
};

sync::SendResult fault(std::string_view description) {
  return {sync::SendOutcome::transport_error, std::string(description)};
}

sync::SendResult stopped() {
  return {sync::SendOutcome::transport_error, {}, false, false, true};
}

class SmtpTransport final : public sync::MailTransport {
 public:
  explicit SmtpTransport(const SmtpOptions& options)
      : options_(options), options_fault_(smtp_options_fault(options)) {}

  std::optional<sync::SendResult> prepare(const sync::OutgoingMail&) override {
    if (!options_fault_.empty()) return fault(options_fault_);
    if (is_ready()) return std::nullopt;
    const CURLcode code = exchange(options_.timeout_millis, nullptr, [this] {
      connection_.set(CURLOPT_UPLOAD, 0L);
      connection_.set(CURLOPT_NOBODY, 1L);
      connection_.set(CURLOPT_CUSTOMREQUEST, "NOOP");
    });
    // Also a relay that stops at the same moment is not at fault.
    if (code != CURLE_OK && is_stopping_) return stopped();
    if (session_.phase() != SmtpPhase::readiness || !session_.is_positive_reply())
      return make_result(sync::SendOutcome::transport_error, code);
    if (!login_missing()) return std::nullopt;
    reset_connection();
    return fault("the relay accepts no login; remove email.smtp.username or check email.smtp.url");
  }

  sync::SendResult send(const sync::OutgoingMail& mail, std::int64_t budget_millis) override {
    if (!options_fault_.empty()) return fault(options_fault_);
    if (is_unsafe_in_command(mail.envelope_from))
      return fault("email.from contains a character that no address may have");
    if (is_unsafe_in_command(mail.envelope_to))
      return {sync::SendOutcome::refused,
              "the recipient's address contains a character that no address may have"};
    if (budget_millis <= 0) return fault(kLeaseEnded);
    BoundedBody body(mail.bytes, boottime_millis() + budget_millis, boottime_millis);
    const List recipients(curl_slist_append(nullptr, mail.envelope_to.c_str()));
    const CURLcode code = exchange(budget_millis, &body, [&] {
      connection_.set(CURLOPT_CUSTOMREQUEST, nullptr);
      connection_.set(CURLOPT_NOBODY, 0L);
      // No SIZE parameter: a relay then refuses a too large mail at DATA, where the refusal concerns this
      // mail only.
      connection_.set(CURLOPT_UPLOAD, 1L);
      connection_.set(CURLOPT_MAIL_FROM, mail.envelope_from.c_str());
      connection_.set(CURLOPT_MAIL_RCPT, recipients.get());
    });
    connection_.set(CURLOPT_MAIL_RCPT, nullptr);  // `recipients` is freed on return
    if (body.lease_over()) return fault(kLeaseEnded);
    if (code != CURLE_OK && is_stopping_ && session_.phase() != SmtpPhase::final_dot && !session_.refusal())
      return stopped();
    sync::SendResult result = make_result(session_.outcome(login_missing()), code);
    result.is_ambiguous = session_.is_ambiguous(login_missing());
    return result;
  }

  void stop() override { is_stopping_ = true; }

  bool is_ready() const override {
    return has_connection_ && boottime_millis() - last_exchange_at_ < kIdleCheckMillis;
  }

  std::optional<sync::SendResult> recover_outcome(const std::string&) override { return std::nullopt; }

 private:
  void reset_connection() {
    has_connection_ = false;
    connection_.reset();
  }

  /// Runs one exchange of at most `millis`, on the open connection or a new one. `configure` sets its
  /// options; it is called again after the handle was replaced.
  CURLcode exchange(std::int64_t millis, BoundedBody* body, const std::function<void()>& configure) {
    const std::int64_t deadline = boottime_millis() + millis;
    configure();
    CURLcode code = connection_.perform(millis, body);
    // The relay may close a connection between two mails; that is no outcome of this mail.
    if (code != CURLE_OK && code != CURLE_OPERATION_TIMEDOUT && !is_stopping_ && has_connection_ &&
        session_.may_retry_on_new_connection()) {
      reset_connection();
      configure();
      code = connection_.perform(deadline - boottime_millis(), body);
    }
    has_connection_ = true;
    last_exchange_at_ = boottime_millis();
    // libcurl keeps a connection whose final dot failed: a late reply would answer the next mail's command.
    if (code != CURLE_OK) reset_connection();
    return code;
  }

  /// A login is configured, but the relay accepted none.
  bool login_missing() const { return !options_.username.empty() && !session_.authenticated(); }

  sync::SendResult make_result(sync::SendOutcome outcome, CURLcode code) const {
    const auto line = [&](std::string_view text) {
      return as_log_line(text, {options_.password, '\0' + options_.username + '\0' + options_.password});
    };
    if (outcome == sync::SendOutcome::transport_error)
      return fault(line(describe_error(session_, code, connection_.error())));
    if (outcome == sync::SendOutcome::uncertain)
      return {outcome,
              line(std::string("the final dot was sent, but no reply was received: ") + connection_.error())};
    return {outcome, line(session_.reply()->text), false,
            outcome == sync::SendOutcome::refused && session_.reply()->names_bad_address};
  }

  const SmtpOptions options_;
  const std::string options_fault_;
  std::atomic<bool> is_stopping_ = false;
  SmtpSession session_;
  RelayConnection connection_{options_, session_, is_stopping_};
  bool has_connection_ = false;        ///< the last exchange left a connection behind
  std::int64_t last_exchange_at_ = 0;  ///< when it ended, by boottime_millis()
};

}  // namespace

std::unique_ptr<sync::MailTransport> make_smtp_transport(const SmtpOptions& options) {
  return std::make_unique<SmtpTransport>(options);
}

BoundedBody::BoundedBody(std::string_view bytes, std::int64_t deadline_millis, LeaseClock clock)
    : remaining_(bytes), deadline_millis_(deadline_millis), clock_(std::move(clock)) {}

std::optional<std::size_t> BoundedBody::read(char* buffer, std::size_t size) {
  if (lease_over_ || clock_() >= deadline_millis_) {
    lease_over_ = true;
    return std::nullopt;
  }
  const std::size_t count = std::min(size, remaining_.size());
  std::copy_n(remaining_.begin(), count, buffer);
  remaining_.remove_prefix(count);
  return count;
}

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
    redact(line, to_base64_text(secret));
  }
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (!is_storable_text(line)) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return std::string(truncated(trimmed(line), kMaxCodePoints));
}

}  // namespace giftsync::mail
