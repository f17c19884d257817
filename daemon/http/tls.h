// daemon/http: TLS of the server's connections (HTTP-54 to HTTP-57), by OpenSSL. OpenSSL's types stay inside
// tls.cpp.
//
// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only, in the server's order of ciphers;
// no renegotiation, no compression, no early data. Sessions resume by tickets, whose keys live in this
// process alone and for a day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "platform/server_certificate.h"
#include "platform/time.h"

struct ssl_ctx_st;

namespace giftsync::http {

/// What a call that never waits has come to.
enum class TlsOutcome : std::uint8_t {
  done,
  wants_read,   ///< call it again once the socket can be read
  wants_write,  ///< call it again once the socket can be written
  ended,        ///< the client has ended its side, with close_notify
  broken,       ///< the connection is of no more use: an attacker, a fault, or an end without close_notify
};

struct TlsTransfer {
  TlsOutcome outcome = TlsOutcome::broken;
  std::size_t bytes = 0;  ///< if done, at least one
};

/// TLS on one connected socket. One thread at a time.
class TlsSession {
 public:
  /// The descriptor stays the caller's and must outlive the session.
  TlsSession(const std::shared_ptr<ssl_ctx_st>& context, int descriptor);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Goes on with the handshake. Takes some hundred microseconds for the first message of the client.
  TlsOutcome shake_hands();
  /// Whether shake_hands() was called.
  bool has_begun() const { return has_begun_; }
  /// Reads at most one record.
  TlsTransfer read(char* buffer, std::size_t size);
  /// What one record takes of `bytes`. After wants_read or wants_write it must get the same bytes.
  TlsTransfer write(std::string_view bytes);
  /// After the handshake: whether it speaks TLS 1.3.
  bool is_1_3() const;
  /// Whether read() may have more without waiting for the socket.
  bool has_unread() const;
  /// From now on its memory for records, 34 KB, stays: else each request takes and gives it back twice.
  void keep_buffers();
  /// Tells the client that no more comes. Not while a write() has to be repeated.
  void end();
  /// Why the last call was broken, for a log: "no shared cipher".
  const std::string& fault() const { return fault_; }

 private:
  struct Socket;
  TlsOutcome outcome_of(int result);

  const std::unique_ptr<Socket> socket_;
  std::string fault_;
  bool has_begun_ = false;
  bool stopped_early_ = false;  ///< read() has handled a record that is not the client's data
};

/// Certificate, key and rules of new connections; shared by all listeners. Any thread.
class TlsContext {
 public:
  struct Options {
    std::string certificate;    ///< path
    std::string key;            ///< path
    bool requires_1_3 = false;  ///< else TLS 1.2 is accepted too
  };
  struct Fault {
    bool is_of_key = false;
    std::string text;  ///< "FILE, which ...; next step"
  };
  /// Reads the files. A pair whose dates are not valid is used too: dates() says so.
  static tl::expected<std::shared_ptr<TlsContext>, Fault> make(const Options& options, UtcMillis now);

  std::unique_ptr<TlsSession> accept(int descriptor) const;
  /// Whether a connection could begin now with the version that `session` speaks.
  bool allows(const TlsSession& session) const { return !options_.requires_1_3 || session.is_1_3(); }

  enum class Renewal { none, renewed, refused };
  struct RenewalResult {
    Renewal what = Renewal::none;
    std::string fault = {};  ///< if refused: why the former pair stays in use; once for each change
  };
  /// Call it every second or so: takes a changed pair for new connections once its files have rested between
  /// two calls, and replaces the tickets' keys each day. Connections that exist are not touched. A pair whose
  /// dates are not valid replaces no valid one: it is taken once they are.
  RenewalResult renew(UtcMillis now);

  /// Of the certificate in use.
  CertificateDates dates() const;
  /// Whether the certificate in use is for this name or address.
  bool covers(const std::string& host) const;

 private:
  explicit TlsContext(Options options) : options_(std::move(options)) {}
  tl::expected<std::shared_ptr<ssl_ctx_st>, std::string> build(const ServerCertificate& certificate) const;
  tl::expected<void, Fault> load(UtcMillis now);
  /// Changes with the files; equal for equal ones.
  std::string facts_of_files() const;

  const Options options_;
  mutable std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;  // guarded by mutex_
  ServerCertificate certificate_;        // guarded by mutex_
  // These are used by renew() alone.
  UtcMillis made_at_;
  std::string loaded_facts_;   ///< of the files that were read last, whether or not they are in use
  std::string changed_facts_;  ///< as the former call saw them
  std::optional<CertificateDates> refused_dates_;  ///< of the pair that load() refused for them
};

}  // namespace giftsync::http
