// tests: a real SMTP server (tests/system/smtp_server.py) as a child process with its own folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace giftsync::tests {

class SmtpServer {
 public:
  enum class Tls { none, start_tls, implicit };
  struct Options {
    Tls tls = Tls::none;
    std::string user;  ///< empty: no AUTH
    std::string password;
    bool auth_without_tls = false;
  };

  SmtpServer();
  explicit SmtpServer(const Options& options);
  ~SmtpServer();
  SmtpServer(const SmtpServer&) = delete;
  SmtpServer& operator=(const SmtpServer&) = delete;

  /// "smtp://127.0.0.1:2525"; the certificate is for localhost and 127.0.0.1.
  std::string url() const;
  std::string certificate() const { return (folder_ / "cert.pem").string(); }

  /// Sets the server's behaviour from now on (see smtp_server.py --help).
  void set_behaviour(const std::string& json);
  void stop();

  struct AcceptedMail {
    std::string message_id;
    std::string from;
    std::vector<std::string> to;
    std::string bytes;
  };
  /// The mails that it accepted, in order.
  std::vector<AcceptedMail> accepted_mails() const;
  /// What happened on all connections, in order: "connect", "mail", "rcpt", "data", "message", ... An event
  /// whose reply was delayed occurs a second time after the delay: "data", "data delayed".
  std::vector<std::string> events() const;
  /// Waits until `event` has happened `times` times; false after a minute.
  bool wait_for_event(const std::string& event, std::size_t times = 1) const;

 private:
  void make_certificate();
  void start(const Options& options);

  std::filesystem::path folder_;
  std::string scheme_ = "smtp";
  std::string port_;
  pid_t pid_ = -1;
};

}  // namespace giftsync::tests
