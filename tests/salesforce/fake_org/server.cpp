#include "tests/salesforce/fake_org/server.h"

#include <Poco/DeflatingStream.h>
#include <Poco/Exception.h>
#include <Poco/InflatingStream.h>
#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerRequestImpl.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/StreamCopier.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <sstream>
#include <thread>

#include "platform/text.h"

namespace giftsync::tests::fake_org {
namespace {

using Poco::Net::HTTPResponse;
using Poco::Net::HTTPServerRequest;
using Poco::Net::HTTPServerResponse;

struct GuardedOrg {
  GuardedOrg(const std::string& database, const std::filesystem::path& project)
      : org(database, project), api(org) {}
  std::mutex mutex;
  Org org;
  Api api;
};

ApiRequest read_request(HTTPServerRequest& raw) {
  ApiRequest request;
  request.method = raw.getMethod();
  set_address(request, raw.getURI());
  for (const auto& [name, value] : raw) request.headers[name] = value;
  if (request.header("Content-Encoding") == "gzip") {
    Poco::InflatingInputStream inflated(raw.stream(), Poco::InflatingStreamBuf::STREAM_GZIP);
    Poco::StreamCopier::copyToString(inflated, request.body);
  } else {
    Poco::StreamCopier::copyToString(raw.stream(), request.body);
  }
  return request;
}

std::string gzip(const std::string& text) {
  std::ostringstream bytes;
  Poco::DeflatingOutputStream stream(bytes, Poco::DeflatingStreamBuf::STREAM_GZIP, 1);
  stream << text;
  stream.close();
  return bytes.str();
}

/// Compressed for a client that takes it.
void write_answer(HTTPServerResponse& raw, const ApiAnswer& answer, UtcMillis now, bool takes_gzip) {
  raw.setStatusAndReason(static_cast<HTTPResponse::HTTPStatus>(answer.status));
  raw.set("Date", http_date(now.value));
  for (const auto& [name, value] : answer.headers) raw.set(name, value);
  std::string text = !answer.text.empty() || answer.body.is_null() ? answer.text : json_text(answer.body);
  if (!text.empty()) raw.setContentType(answer.content_type);
  if (!text.empty() && takes_gzip) {
    text = gzip(text);
    raw.set("Content-Encoding", "gzip");
  }
  raw.sendBuffer(text.data(), text.size());
}

void cut(HTTPServerRequest& raw, HTTPServerResponse& response) {
  response.setKeepAlive(false);
  dynamic_cast<Poco::Net::HTTPServerRequestImpl&>(raw).socket().shutdown();
}

class Handler : public Poco::Net::HTTPRequestHandler {
 public:
  explicit Handler(GuardedOrg& guarded) : guarded_(guarded) {}

  void handleRequest(HTTPServerRequest& raw, HTTPServerResponse& response) override {
    const ApiRequest request = read_request(raw);
    std::unique_lock lock(guarded_.mutex);
    ApiAnswer answer;
    try {
      answer = guarded_.api.answer(request);
    } catch (const std::exception& error) {
      answer = {
          .status = 500, .text = std::string("fake org: ") + error.what(), .content_type = "text/plain"};
    }
    const UtcMillis now = guarded_.org.now();
    const auto delay = parse_number<int>(guarded_.org.setting("answer_delay_millis"));
    lock.unlock();
    if (delay && request.path.starts_with("/services/data"))
      std::this_thread::sleep_for(std::chrono::milliseconds(*delay));
    if (answer.is_cut)
      cut(raw, response);
    else
      write_answer(response, answer, now,
                   request.header("Accept-Encoding").find("gzip") != std::string::npos);
  }

 private:
  GuardedOrg& guarded_;
};

class HandlerFactory : public Poco::Net::HTTPRequestHandlerFactory {
 public:
  explicit HandlerFactory(GuardedOrg& guarded) : guarded_(guarded) {}
  Poco::Net::HTTPRequestHandler* createRequestHandler(const HTTPServerRequest&) override {
    return new Handler(guarded_);
  }

 private:
  GuardedOrg& guarded_;
};

Poco::Net::HTTPServerParams* parameters() {
  auto* made = new Poco::Net::HTTPServerParams;
  made->setKeepAlive(true);
  made->setMaxThreads(8);
  return made;
}

}  // namespace

struct Server::State {
  State(unsigned short port, const std::string& database, const std::filesystem::path& project)
      : guarded(database, project),
        socket(Poco::Net::SocketAddress("127.0.0.1", port)),
        server(new HandlerFactory(guarded), socket, parameters()) {
    server.start();
  }
  GuardedOrg guarded;
  Poco::Net::ServerSocket socket;
  Poco::Net::HTTPServer server;
};

Server::Server(unsigned short port, const std::string& database, const std::filesystem::path& project)
    : state_(std::make_shared<State>(port, database, project)) {}

Server::~Server() {
  state_->server.stopAll(true);
}

unsigned short Server::port() const {
  return state_->socket.address().port();
}

std::string Server::url() const {
  return "http://127.0.0.1:" + std::to_string(port());
}

void Server::with_org(const std::function<void(Org&)>& action) {
  const std::lock_guard lock(state_->guarded.mutex);
  action(state_->guarded.org);
}

}  // namespace giftsync::tests::fake_org
