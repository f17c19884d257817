// SMTP by libcurl: one easy handle, so that one connection serves many mails. libcurl speaks the protocol
// (and stuffs dots); SmtpDialogue listens and judges; SmtpBody keeps the lease.
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/mail/smtp_body.h"
#include "daemon/mail/smtp_dialogue.h"
#include "daemon/mail/smtp_fault.h"
#include "daemon/mail/smtp_option_rules.h"
#include "daemon/mail/transport.h"

namespace giftsync::daemon {
namespace {

constexpr long kConnectTimeoutMillis = 20000;
/// A connection on which the relay answered this recently needs no NOOP.
constexpr std::int64_t kFreshMillis = 5000;
constexpr std::string_view kLeaseEnded = "not sent: the lease on this mail ended before its final dot";

struct EasyCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyCleanup>;
using List = std::unique_ptr<curl_slist, ListCleanup>;

Easy new_easy() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once, whatever the threads
  Easy easy(initialised == CURLE_OK ? curl_easy_init() : nullptr);
  if (!easy) throw std::bad_alloc();
  return easy;
}

/// An address that would end its command, or add to it, if it were sent.
bool breaks_a_command(const std::string& address) {
  return std::any_of(address.begin(), address.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '<' || c == '>';
  });
}

class SmtpTransport final : public MailTransport {
 public:
  explicit SmtpTransport(const SmtpOptions& options);
  ~SmtpTransport() override;
  SmtpTransport(const SmtpTransport&) = delete;
  SmtpTransport& operator=(const SmtpTransport&) = delete;

  std::optional<SendResult> prepare(const OutgoingMail& mail) override;
  SendResult send(const OutgoingMail& mail, std::int64_t budget_millis) override;
  std::optional<SendResult> recall(const std::string&) override { return std::nullopt; }

 private:
  static int on_debug(CURL*, curl_infotype type, char* text, std::size_t size, void* self);
  static std::size_t on_read(char* buffer, std::size_t size, std::size_t count, void* self);

  /// libcurl shows the reply to NOOP as if it were content.
  static std::size_t on_write(char*, std::size_t size, std::size_t count, void*) { return size * count; }
  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address);
  static int on_close(void* self, curl_socket_t socket);

  /// Sets the options of one exchange; on a new handle it is called again.
  using Request = std::function<void()>;

  template <class Value>
  void set(CURLoption option, Value value);
  void set_up_handle();
  void set_up_tls();
  /// Holds one exchange of at most `millis`, on the open connection or a new one.
  CURLcode exchange(std::int64_t millis, const Request& request);
  CURLcode perform(std::int64_t millis);
  void ask_readiness();
  void hand_over(const OutgoingMail& mail, curl_slist* recipients);
  /// After this nothing leaves any more, not even libcurl's parting QUIT.
  void break_connection();
  /// Nothing of it is left: the next exchange opens a new one.
  void forget_connection();
  /// A login is set up, but the relay took none.
  bool login_missing() const { return !options_.username.empty() && !dialogue_.authenticated(); }
  SendResult concluded(SendVerdict verdict, CURLcode code) const;
  SendResult fault(std::string_view words) const;

  const SmtpOptions options_;
  const std::string options_fault_;
  std::set<curl_socket_t> sockets_;  ///< open ones
  SmtpDialogue dialogue_;
  std::optional<SmtpBody> body_;  ///< of the mail being sent
  bool open_ = false;             ///< the last exchange left a connection behind
  std::int64_t heard_at_ = 0;     ///< when it ended, by boot_millis()
  char error_[CURL_ERROR_SIZE] = "";
  Easy easy_;  ///< last, because closing it still uses the others
};

template <class Value>
void SmtpTransport::set(CURLoption option, Value value) {
  // An option that libcurl lacks is a bug.
  if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK) std::terminate();
}

SmtpTransport::SmtpTransport(const SmtpOptions& options)
    : options_(options), options_fault_(smtp_options_fault(options)) {
  set_up_handle();
}

void SmtpTransport::set_up_handle() {
  easy_ = new_easy();
  set(CURLOPT_URL, options_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  set(CURLOPT_PROXY, "");  // not from the environment
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMillis);
  set(CURLOPT_ERRORBUFFER, error_);
  set(CURLOPT_VERBOSE, 1L);
  set(CURLOPT_DEBUGFUNCTION, &SmtpTransport::on_debug);
  set(CURLOPT_DEBUGDATA, this);
  set(CURLOPT_READFUNCTION, &SmtpTransport::on_read);
  set(CURLOPT_READDATA, this);
  set(CURLOPT_WRITEFUNCTION, &SmtpTransport::on_write);
  set(CURLOPT_OPENSOCKETFUNCTION, &SmtpTransport::on_open);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_CLOSESOCKETFUNCTION, &SmtpTransport::on_close);
  set(CURLOPT_CLOSESOCKETDATA, this);
  set_up_tls();
  if (options_.username.empty()) return;
  set(CURLOPT_USERNAME, options_.username.c_str());
  set(CURLOPT_PASSWORD, options_.password.c_str());
}

void SmtpTransport::set_up_tls() {
  const bool verified = demands_verified_tls(options_);
  set(CURLOPT_USE_SSL, static_cast<long>(options_.require_tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, verified ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, verified ? 2L : 0L);
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
}

SmtpTransport::~SmtpTransport() {
  // libcurl would say QUIT now and wait for the answer, two minutes if the relay is stuck.
  break_connection();
}

int SmtpTransport::on_debug(CURL*, curl_infotype type, char* text, std::size_t size, void* self) {
  auto& transport = *static_cast<SmtpTransport*>(self);
  if (type == CURLINFO_HEADER_OUT) transport.dialogue_.command({text, size});
  if (type == CURLINFO_HEADER_IN) transport.dialogue_.reply_line({text, size});
  // QUIT has left; libcurl would wait for its answer, two minutes if the relay is stuck.
  if (transport.dialogue_.over()) transport.break_connection();
  return 0;
}

std::size_t SmtpTransport::on_read(char* buffer, std::size_t size, std::size_t count, void* self) {
  auto& transport = *static_cast<SmtpTransport*>(self);
  const auto taken = transport.body_->read(buffer, size * count);
  if (!taken) {
    transport.break_connection();
    return CURL_READFUNC_ABORT;
  }
  if (*taken == 0) transport.dialogue_.final_dot();
  return *taken;
}

curl_socket_t SmtpTransport::on_open(void* self, curlsocktype, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (socket >= 0) static_cast<SmtpTransport*>(self)->sockets_.insert(socket);
  return socket;
}

int SmtpTransport::on_close(void* self, curl_socket_t socket) {
  static_cast<SmtpTransport*>(self)->sockets_.erase(socket);
  return ::close(socket);
}

void SmtpTransport::break_connection() {
  for (const curl_socket_t socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

void SmtpTransport::forget_connection() {
  break_connection();
  open_ = false;
  set_up_handle();
}

CURLcode SmtpTransport::perform(std::int64_t millis) {
  dialogue_.begin_exchange();
  error_[0] = '\0';
  set(CURLOPT_TIMEOUT_MS,
      static_cast<long>(std::max<std::int64_t>(1, std::min(millis, options_.timeout_millis))));
  const CURLcode code = curl_easy_perform(easy_.get());
  if (error_[0] == '\0') std::strncpy(error_, curl_easy_strerror(code), sizeof error_ - 1);
  return code;
}

CURLcode SmtpTransport::exchange(std::int64_t millis, const Request& request) {
  const std::int64_t deadline = boot_millis() + millis;
  request();
  CURLcode code = perform(millis);
  // The relay may close a connection between two mails; that says nothing about this one.
  if (code != CURLE_OK && code != CURLE_OPERATION_TIMEDOUT && open_ && dialogue_.nothing_began()) {
    forget_connection();
    request();
    code = perform(deadline - boot_millis());
  }
  open_ = true;
  heard_at_ = boot_millis();
  // libcurl keeps a connection whose final dot failed: a late reply would answer the next mail's command.
  if (code != CURLE_OK) forget_connection();
  return code;
}

void SmtpTransport::ask_readiness() {
  set(CURLOPT_UPLOAD, 0L);
  set(CURLOPT_NOBODY, 1L);
  set(CURLOPT_CUSTOMREQUEST, "NOOP");
}

void SmtpTransport::hand_over(const OutgoingMail& mail, curl_slist* recipients) {
  set(CURLOPT_CUSTOMREQUEST, nullptr);
  set(CURLOPT_NOBODY, 0L);
  // The size stays untold: a relay that finds it too large says so at DATA, where it concerns this mail only.
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_MAIL_FROM, mail.envelope_from.c_str());
  set(CURLOPT_MAIL_RCPT, recipients);
}

std::optional<SendResult> SmtpTransport::prepare(const OutgoingMail&) {
  if (!options_fault_.empty()) return fault(options_fault_);
  if (open_ && boot_millis() - heard_at_ < kFreshMillis) return std::nullopt;
  const CURLcode code = exchange(options_.timeout_millis, [this] { ask_readiness(); });
  if (dialogue_.moment() != SmtpMoment::readiness || !dialogue_.answered_well()) {
    return concluded(SendVerdict::transport_fault, code);
  }
  if (login_missing()) {
    forget_connection();
    return fault("the relay takes no login; remove email.smtp.username or check email.smtp.url");
  }
  return std::nullopt;
}

SendResult SmtpTransport::send(const OutgoingMail& mail, std::int64_t budget_millis) {
  if (!options_fault_.empty()) return fault(options_fault_);
  if (breaks_a_command(mail.envelope_from)) {
    return fault("email.from holds a character that no address may have");
  }
  if (breaks_a_command(mail.envelope_to)) {
    return {SendVerdict::refused, "the recipient's address holds a character that no address may have"};
  }
  if (budget_millis <= 0) return fault(kLeaseEnded);
  body_.emplace(mail.bytes, boot_millis() + budget_millis, boot_millis);
  const List recipients(curl_slist_append(nullptr, mail.envelope_to.c_str()));
  const CURLcode code = exchange(budget_millis, [&] { hand_over(mail, recipients.get()); });
  SendResult result = concluded(dialogue_.verdict(login_missing()), code);
  set(CURLOPT_MAIL_RCPT, nullptr);  // the list ends here
  body_.reset();
  return result;
}

SendResult SmtpTransport::concluded(SendVerdict verdict, CURLcode code) const {
  if (body_ && body_->lease_over()) return fault(kLeaseEnded);
  const std::vector<std::string> secrets{options_.password,
                                         '\0' + options_.username + '\0' + options_.password};
  switch (verdict) {
    case SendVerdict::accepted:
    case SendVerdict::refused:
    case SendVerdict::try_later:
      return {verdict, as_log_line(dialogue_.reply()->words, secrets)};
    case SendVerdict::uncertain:
      return {
          verdict,
          as_log_line(std::string("the final dot was sent, but its reply did not come: ") + error_, secrets)};
    case SendVerdict::transport_fault:
      break;
  }
  return fault(as_log_line(explain_fault(dialogue_, code, error_), secrets));
}

SendResult SmtpTransport::fault(std::string_view words) const {
  return {SendVerdict::transport_fault, std::string(words)};
}

}  // namespace

std::unique_ptr<MailTransport> make_smtp_transport(const SmtpOptions& options) {
  return std::make_unique<SmtpTransport>(options);
}

}  // namespace giftsync::daemon
