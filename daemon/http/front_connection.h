// daemon/http: one client's connection, from its first byte to its end: read a request, have it handled,
// answer, again.
#pragma once

#include <Poco/Net/TCPServer.h>
#include <Poco/Net/TCPServerConnection.h>
#include <Poco/Net/TCPServerConnectionFactory.h>

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/connection_census.h"
#include "daemon/http/connection_stream.h"
#include "daemon/http/front_answer.h"
#include "daemon/http/front_framing.h"
#include "daemon/http/http_front.h"
#include "daemon/http/trusted_proxies.h"

namespace giftsync::daemon {

/// What all connections of one front share. Outlives them; only the census changes, and it guards itself.
struct FrontShared {
  const FrontOptions& options;
  const HttpHandler& handler;
  const TrustedProxies& proxies;
  ConnectionCensus& census;
};

/// Lives on one thread of the front's pool.
class FrontConnection final : public Poco::Net::TCPServerConnection {
 public:
  FrontConnection(const Poco::Net::StreamSocket& socket, const FrontShared& shared);
  /// Serves requests until one side ends it.
  void run() override;

 private:
  /// False: the connection is over.
  bool serve_next();
  /// Reads while the framing is in `stage`. False: the connection is over, with whatever had to be said to
  /// the client.
  bool read_while(RequestFraming::Stage stage, std::int64_t allowed_millis);
  bool offer_unread(RequestFraming::Stage stage);
  bool answer_request();
  HttpResponse handle() noexcept;
  void refuse(int status, std::string_view detail);
  void greet_waiting_body();
  /// Sends. False: it could not be sent whole in time.
  bool send(const HttpResponse& response, std::string_view request_id, bool close);
  void linger();
  std::string client_of(const HttpRequest& request) const;

  const FrontShared& shared_;
  const IpAddress peer_;
  const bool peer_is_proxy_;
  const std::string peer_text_;
  ConnectionStream stream_;
  RequestFraming framing_;
  RequestIds request_ids_;
  HttpDate date_;
  std::string head_;  ///< kept for its memory
  /// The last member: left first, while the descriptor is still ours.
  ConnectionCensus::Place place_;
};

/// Runs on the accepting thread, once for each connection.
class ArrivalFilter final : public Poco::Net::TCPServerConnectionFilter {
 public:
  explicit ArrivalFilter(ConnectionCensus& census) : census_(census) {}
  bool accept(const Poco::Net::StreamSocket& socket) override {
    census_.note_arrival(socket.impl()->sockfd());
    return true;
  }

 private:
  ConnectionCensus& census_;
};

class FrontConnectionFactory final : public Poco::Net::TCPServerConnectionFactory {
 public:
  explicit FrontConnectionFactory(const FrontShared& shared) : shared_(shared) {}
  Poco::Net::TCPServerConnection* createConnection(const Poco::Net::StreamSocket& socket) override {
    return new FrontConnection(socket, shared_);
  }

 private:
  const FrontShared& shared_;
};

}  // namespace giftsync::daemon
