#include "cli/daemon_probe.h"

#include "platform/http_client.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

constexpr std::int64_t kTimeoutMillis = 2000;
constexpr std::size_t kMaxBytes = 4096;

/// The address at which a client on this host reaches the listener.
std::string reachable(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string host = listen.substr(0, colon);
  const std::string local = host == "0.0.0.0" ? "127.0.0.1" : host == "[::]" ? "[::1]" : host;
  return local + listen.substr(colon);
}

}  // namespace

DaemonProbe probe_daemon(const daemon::config::ServerSettings& server) {
  DaemonProbe probe;
  if (server.listen.ends_with(":0")) {
    probe.fault = "server.listen has port 0, so the port is not known";
    return probe;
  }
  probe.address = reachable(server.listen);
  platform::HttpGetRequest request;
  request.url = "http://" + probe.address + "/-/ready";
  request.max_bytes = kMaxBytes;
  request.timeout_millis = kTimeoutMillis;
  request.bypass_proxy = true;
  const platform::HttpGetResponse response = platform::http_get(request, [] { return true; });
  if (response.status == 0) {
    probe.state = DaemonState::unreachable;
    probe.fault = response.error;
  } else if (response.status == 200) {
    probe.state = DaemonState::ready;
  } else {
    probe.state = DaemonState::not_ready;
    probe.fault = platform::trimmed(response.body);
  }
  return probe;
}

}  // namespace giftsync::cli
