// tests: a real SMTP server (tests/system/smtp_server.py) as a child process with a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace giftsync::daemon {

class Relay {
 public:
  enum class Tls { none, start_tls, implicit };
  struct Options {
    Tls tls = Tls::none;
    std::string user;  ///< empty: no AUTH
    std::string password;
    bool auth_without_tls = false;
  };

  Relay();
  explicit Relay(const Options& options);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// "smtp://127.0.0.1:2525"; the certificate is for localhost and 127.0.0.1.
  std::string url() const;
  std::string certificate() const { return (folder_ / "cert.pem").string(); }

  /// From now on it behaves so (see smtp_server.py --help).
  void behave(const std::string& json);
  void stop();

  struct KeptMail {
    std::string message_id;
    std::string from;
    std::vector<std::string> to;
    std::string bytes;
  };
  /// The mails that it accepted, in order.
  std::vector<KeptMail> kept() const;
  /// What happened on all connections, in order: "connect", "mail", "rcpt", "data", "message", ... One that
  /// was delayed before its reply is told once more by then: "data", "data delayed".
  std::vector<std::string> moments() const;
  /// Waits until `moment` has happened `times` times; false after a minute.
  bool reaches(const std::string& moment, std::size_t times = 1) const;

 private:
  void make_certificate();
  void start(const Options& options);

  std::filesystem::path folder_;
  std::string scheme_ = "smtp";
  std::string port_;
  pid_t pid_ = -1;
};

}  // namespace giftsync::daemon
