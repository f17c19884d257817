#include "daemon/cli/daemon_look.h"

#include "daemon/sources/web_fetch.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kPatienceMillis = 2000;
constexpr std::size_t kMostBytes = 4096;

/// Where a client on this host reaches what listens there.
std::string reachable(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string host = listen.substr(0, colon);
  const std::string near = host == "0.0.0.0" ? "127.0.0.1" : host == "[::]" ? "[::1]" : host;
  return near + listen.substr(colon);
}

}  // namespace

DaemonLook look_at_daemon(const ServerSettings& server) {
  DaemonLook look;
  if (server.listen.ends_with(":0")) {
    look.fault = "server.listen leaves the port to chance";
    return look;
  }
  look.address = reachable(server.listen);
  WebRequest request;
  request.url = "http://" + look.address + "/-/ready";
  request.max_bytes = kMostBytes;
  request.timeout_millis = kPatienceMillis;
  request.without_proxy = true;
  const WebAnswer answer = fetch_web(request, [] { return true; });
  if (answer.status == 0) {
    look.state = DaemonState::silent;
    look.fault = answer.fault;
  } else if (answer.status == 200) {
    look.state = DaemonState::ready;
  } else {
    look.state = DaemonState::not_ready;
    look.fault = schema::trimmed(answer.body);
  }
  return look;
}

}  // namespace giftsync::daemon
