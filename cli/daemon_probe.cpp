#include "cli/daemon_probe.h"

#include <string_view>

#include "platform/http_client.h"

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

/// The id after "instance: " on the second line.
std::string instance_id_in(const std::string& body) {
  constexpr std::string_view kLabel = "\ninstance: ";
  const std::size_t label = body.find(kLabel);
  if (label == std::string::npos) return {};
  const std::size_t begin = label + kLabel.size();
  return body.substr(begin, body.find('\n', begin) - begin);
}

}  // namespace

DaemonProbe probe_daemon(const std::string& listen) {
  DaemonProbe probe;
  if (listen.ends_with(":0")) {
    probe.fault = "server.listen has port 0, so the port is not known";
    return probe;
  }
  probe.address = reachable(listen);
  platform::HttpGetRequest request;
  request.url = "http://" + probe.address + "/-/ready";
  request.max_bytes = kMaxBytes;
  request.timeout_millis = kTimeoutMillis;
  request.bypass_proxy = true;
  const platform::HttpGetResponse response = platform::http_get(request, [] { return true; });
  probe.instance_id = instance_id_in(response.body);
  if (response.status == 0) {
    probe.state = DaemonState::unreachable;
    probe.fault = response.error;
  } else if (probe.instance_id.empty()) {
    probe.state = DaemonState::another_program;
  } else if (response.status == 200) {
    probe.state = DaemonState::ready;
  } else {
    probe.state = DaemonState::not_ready;
    probe.fault = response.body.substr(0, response.body.find('\n'));
  }
  return probe;
}

}  // namespace giftsync::cli
