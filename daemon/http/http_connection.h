// daemon/http: one client connection from its first byte to its end: reads a request, has it handled, sends
// the response, repeats.
#pragma once

#include <Poco/Net/TCPServer.h>
#include <Poco/Net/TCPServerConnection.h>
#include <Poco/Net/TCPServerConnectionFactory.h>

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/connection_registry.h"
#include "daemon/http/connection_stream.h"
#include "daemon/http/http_service.h"
#include "daemon/http/request_framing.h"
#include "daemon/http/response_writer.h"

namespace giftsync::daemon::http {

/// Shared by all connections of one server and outlives them. Thread-safe.
struct ConnectionContext {
  const CurrentService& service;
  ConnectionRegistry& registry;
};

/// Runs on one thread of the server's pool.
class HttpConnection final : public Poco::Net::TCPServerConnection {
 public:
  HttpConnection(const Poco::Net::StreamSocket& socket, const ConnectionContext& context)
      : HttpConnection(socket, context, *context.service.get()) {}
  /// Serves requests until one side ends the connection.
  void run() override;

 private:
  /// `service` counts for what concerns the connection as a whole: its idle time, and whether it is a
  /// proxy's.
  HttpConnection(const Poco::Net::StreamSocket& socket, const ConnectionContext& context,
                 const HttpService& service);
  /// False: the connection is over.
  bool serve_request();
  /// Reads while the framing is in `stage`. False: the connection is over; an error response was sent if one
  /// was due.
  bool read_stage(RequestFraming::Stage stage, std::int64_t allowed_millis);
  bool feed_unread(RequestFraming::Stage stage);
  bool handle_request();
  HttpResponse call_handler() noexcept;
  void send_error(int status, std::string_view detail);
  void send_continue();
  /// Sends the response. False: it could not be sent completely in time.
  bool send(const HttpResponse& response, std::string_view request_id, bool close);
  void linger();
  std::string client_address(const HttpRequest& request) const;

  const ConnectionContext& context_;
  const platform::IpAddress peer_;
  const std::string peer_text_;
  std::shared_ptr<const HttpService> service_;  ///< of the request in progress; null between requests
  ConnectionStream stream_;
  RequestFraming framing_;
  RequestIds request_ids_;
  HttpDate date_;
  std::string head_;  ///< member to reuse its memory
  /// Last member: released first, while the descriptor is still open.
  ConnectionRegistry::Slot slot_;
};

/// Runs on the accepting thread, once per connection.
class AcceptRecorder final : public Poco::Net::TCPServerConnectionFilter {
 public:
  explicit AcceptRecorder(ConnectionRegistry& registry) : registry_(registry) {}
  bool accept(const Poco::Net::StreamSocket& socket) override {
    registry_.record_accept(socket.impl()->sockfd());
    return true;
  }

 private:
  ConnectionRegistry& registry_;
};

class HttpConnectionFactory final : public Poco::Net::TCPServerConnectionFactory {
 public:
  explicit HttpConnectionFactory(const ConnectionContext& context) : context_(context) {}
  Poco::Net::TCPServerConnection* createConnection(const Poco::Net::StreamSocket& socket) override {
    return new HttpConnection(socket, context_);
  }

 private:
  const ConnectionContext& context_;
};

}  // namespace giftsync::daemon::http
