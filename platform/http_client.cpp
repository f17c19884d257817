#include "platform/http_client.h"

#include <Poco/DeflatingStream.h>
#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <sstream>

#include "platform/ip_address.h"
#include "platform/text.h"

namespace giftsync {
namespace {

constexpr long kSlowBytesPerSecond = 10;
constexpr std::size_t kMinCompressedBytes = 1024;
constexpr std::size_t kMaxHeaderBytes = 256 * 1024;  ///< of a response, with its interim responses
/// Networks drop connections that were silent for minutes without a sign; a probe keeps them.
constexpr long kKeepAliveSeconds = 30;

using CurlHeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

std::string gzip(const std::string& text) {
  std::ostringstream compressed;
  Poco::DeflatingOutputStream stream(compressed, Poco::DeflatingStreamBuf::STREAM_GZIP);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  return compressed.str();
}

/// One request under way: what libcurl's callbacks read and write.
struct Transfer {
  HttpResponse response = {};
  std::string body = {};       ///< of the request, as sent
  std::size_t body_taken = 0;  ///< bytes of it that libcurl has taken
  bool too_large = false;
  std::size_t header_bytes = 0;  ///< of all responses to the request
  bool too_many_headers = false;
  const KeepGoing& keep_going;
  const HttpClientOptions& options;
  std::string refused_address = {};  ///< why an address may not be reached
};

std::size_t on_upload(char* buffer, std::size_t, std::size_t space, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t count = transfer.body.copy(buffer, space, transfer.body_taken);
  transfer.body_taken += count;
  return count;
}

/// libcurl calls it with decoded bytes, so the limit counts those.
std::size_t on_body(char* data, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (const std::size_t space = transfer.options.max_bytes - transfer.response.body.size(); count > space) {
    if (transfer.options.cuts_body) transfer.response.body.append(data, space);
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body.append(data, count);
  return count;
}

std::size_t on_header(char* data, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  // libcurl bounds a line, and not in each version the number of lines.
  transfer.header_bytes += count;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.too_many_headers = true;
    return 0;
  }
  auto& headers = transfer.response.headers;
  const std::string_view line(data, count);
  if (line.starts_with("HTTP/")) headers.clear();  // of a proxy or an interim response
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    headers.emplace_back(ascii_lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return count;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const KeepGoing& keep_going = static_cast<Transfer*>(user)->keep_going;
  return !keep_going || keep_going() ? 0 : 1;
}

/// Opens the socket itself, since only libcurl knows which address of the name it takes.
curl_socket_t on_open_socket(void* user, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(user);
  const auto ip = ip_address_of(address->addr);
  const auto refused = ip ? transfer.options.address_check(*ip) : "its address is not one of IP";
  if (refused) {
    transfer.refused_address = *refused;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CurlHeaderList header_list(const std::vector<std::string>& headers) {
  CurlHeaderList list(nullptr, curl_slist_free_all);
  for (const std::string& header : headers) {
    curl_slist* appended = curl_slist_append(list.get(), header.c_str());
    if (appended == nullptr) continue;
    static_cast<void>(list.release());
    list.reset(appended);
  }
  return list;
}

bool has_body(const HttpRequest& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

void set_connection_options(CURL* handle, const HttpClientOptions& options) {
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR,
                   options.plain_http == PlainHttp::nowhere ? "https" : "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // a name that is being looked up does not delay a stop
  // All encodings that this libcurl can decode. Without this option it decodes nothing, not even unsolicited
  // encodings.
  if (options.asks_for_compression) curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "giftsync/" GIFTSYNC_VERSION);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_millis));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout_millis));
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
  if (options.stalled_seconds > 0) {
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stalled_seconds));
  }
  if (!options.verify_tls) {
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!options.ca_file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
}

void set_callbacks(CURL* handle, Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  if (transfer.options.address_check) {
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &transfer);
  }
}

/// The body goes through a callback that cannot rewind: libcurl repeats a request by itself when a kept
/// connection ends without a response, and a write must not happen twice unnoticed.
void set_request(CURL* handle, const HttpRequest& request, Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  if (has_body(request)) {
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    if (request.may_repeat) {
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, transfer.body.data());  // libcurl rewinds it by itself
    } else {
      curl_easy_setopt(handle, CURLOPT_READFUNCTION, on_upload);
      curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
    }
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.body.size()));
  }
  if (request.method != "GET") curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

/// For a second attempt of the same request, within the remaining time.
void retry_without_encodings(CURL* handle, std::int64_t timeout_millis) {
  curl_off_t micros = 0;
  curl_easy_getinfo(handle, CURLINFO_TOTAL_TIME_T, &micros);
  const std::int64_t left_millis = std::max<std::int64_t>(timeout_millis - micros / 1000, 1);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(left_millis));
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, static_cast<const char*>(nullptr));
}

/// The request's headers; compresses the body of `transfer` if the request asks for it.
std::vector<std::string> headers_with_encoding(const HttpRequest& request, Transfer& transfer) {
  std::vector<std::string> headers = request.headers;
  if (has_body(request))
    headers.emplace_back("Expect:");  // libcurl would wait a second for an interim answer
  if (request.compress_body && request.body.size() > kMinCompressedBytes) {
    transfer.body = gzip(request.body);
    headers.emplace_back("Content-Encoding: gzip");
  }
  return headers;
}

/// Sends the request and completes the response. `may_repeat`: a second time, without decoding.
void perform(CURL* handle, bool may_repeat, const HttpClientOptions& options, Transfer& transfer) {
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
  CURLcode result = curl_easy_perform(handle);
  if (result == CURLE_BAD_CONTENT_ENCODING && may_repeat) {
    // Some vendors write "utf-8" here; the body taken without decoding may be valid.
    retry_without_encodings(handle, options.timeout_millis);
    transfer.response = {};
    *reason = 0;
    result = curl_easy_perform(handle);
  }
  HttpResponse& response = transfer.response;
  long request_bytes = 0;
  curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &request_bytes);
  response.may_have_arrived = request_bytes > 0;
  response.sent_bytes = transfer.body.size();
  response.is_too_large = transfer.too_large;
  const bool is_cut = transfer.too_large && options.cuts_body;
  if (result == CURLE_OK || is_cut) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
  } else {
    response.error =
        !transfer.refused_address.empty() ? transfer.refused_address
        : transfer.too_many_headers ? "more than " + std::to_string(kMaxHeaderBytes) + " bytes of headers"
        : transfer.too_large        ? "more than " + std::to_string(options.max_bytes) + " bytes"
        : result == CURLE_SEND_FAIL_REWIND    ? "the server closed the connection without a response"
        : result == CURLE_ABORTED_BY_CALLBACK ? "no answer in the time that there was for it"
        : *reason != 0                        ? reason
                                              : curl_easy_strerror(result);
  }
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
}

HttpResponse without_response(std::string error) {
  HttpResponse response;
  response.error = std::move(error);
  return response;
}

bool is_encrypted(const std::string& url) {
  return ascii_lower(std::string_view(url).substr(0, 6)) == "https:";
}

}  // namespace

struct HttpClient::Connection {
  CURL* handle = curl_easy_init();
  Connection() = default;
  ~Connection() { curl_easy_cleanup(handle); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
};

HttpClient::HttpClient(HttpClientOptions options) : options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Connection> HttpClient::take_connection() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!ready) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (idle_) return std::move(idle_);
  }
  auto connection = std::make_unique<Connection>();
  return connection->handle == nullptr ? nullptr : std::move(connection);
}

void HttpClient::keep_connection(std::unique_ptr<Connection> connection) {
  curl_easy_reset(connection->handle);  // forgets headers and their secrets; the connection stays
  const std::lock_guard lock(mutex_);
  if (!idle_) idle_ = std::move(connection);
}

HttpResponse HttpClient::send(const HttpRequest& request, const KeepGoing& keep_going) {
  if (options_.plain_http == PlainHttp::to_loopback && !is_https_or_loopback(request.url))
    return without_response("the URL is neither https nor http to this host itself");
  std::unique_ptr<Connection> connection = take_connection();
  if (!connection) return without_response("libcurl cannot be used");
  Transfer transfer{.body = request.body, .keep_going = keep_going, .options = options_};
  const CurlHeaderList headers = header_list(headers_with_encoding(request, transfer));
  CURL* handle = connection->handle;
  set_connection_options(handle, options_);
  set_callbacks(handle, transfer);
  set_request(handle, request, transfer);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  // Else a proxy would carry what must stay on this host.
  if (options_.bypass_proxy || (options_.plain_http == PlainHttp::to_loopback && !is_encrypted(request.url)))
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  perform(handle, !has_body(request), options_, transfer);
  keep_connection(std::move(connection));
  return std::move(transfer.response);
}

std::string HttpResponse::header(std::string_view name) const {
  std::string joined;
  for (const auto& [one, value] : headers) {
    if (one == name) joined += (joined.empty() ? "" : ", ") + value;
  }
  return joined;
}

// One GET over a connection of its own.

namespace {

constexpr std::int64_t kStalledSeconds = 30;

/// The value of the last header of that name.
std::string last_header(const HttpResponse& response, std::string_view name) {
  std::string last;
  for (const auto& [one, value] : response.headers) {
    if (one == name) last = value;
  }
  return last;
}

}  // namespace

HttpGetResponse http_get(const HttpGetRequest& request, const std::function<bool()>& keep_going) {
  HttpClient client({.ca_file = request.ca_file,
                     .max_bytes = request.max_bytes,
                     .timeout_millis = request.timeout_millis,
                     .stalled_seconds = kStalledSeconds,
                     .plain_http = request.https_only ? PlainHttp::nowhere : PlainHttp::anywhere,
                     .bypass_proxy = request.bypass_proxy,
                     .verify_tls = request.verify_tls});
  HttpResponse response = client.send({.url = request.url, .headers = request.headers}, keep_going);
  HttpGetResponse got;
  got.status = response.status;
  got.error = response.error;
  got.body = std::move(response.body);
  got.etag = last_header(response, "etag");
  got.link = response.header("link");
  got.retry_after = last_header(response, "retry-after");
  got.location = last_header(response, "location");
  return got;
}

// URLs and header values of http_client.h.

namespace {

using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

/// Null for a text that is not a URL.
CurlUrl parse_url(const std::string& text) {
  CurlUrl url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

/// Empty when the URL has no such part.
std::string url_part(const CurlUrl& url, CURLUPart part, unsigned flags = CURLU_DEFAULT_PORT) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

/// `host` as in a URL, in lower case; an IPv6 address is in brackets.
bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::optional<IpAddress> address = parse_ip_address(host);
  if (!address) return false;
  return address->is_v4() ? address->octets[12] == 127 : address == parse_ip_address("::1");
}

/// The text up to the next `separator` outside <> and quotes, trimmed; `rest` then begins behind it.
std::string_view take_part(std::string_view& rest, char separator) {
  char closing = 0;  // what ends the brackets or quotes at this position
  std::size_t at = 0;
  for (; at < rest.size() && (closing != 0 || rest[at] != separator); ++at) {
    if (closing == '"' && rest[at] == '\\')
      ++at;
    else if (closing != 0)
      closing = rest[at] == closing ? '\0' : closing;
    else if (rest[at] == '"' || rest[at] == '<')
      closing = rest[at] == '<' ? '>' : '"';
  }
  const std::string_view part = trimmed(rest.substr(0, at));
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

/// The content of a quoted-string; another text unchanged.
std::string unquoted(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('"')) return std::string(text);
  std::string content;
  for (std::size_t at = 1; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    content += text[at];
  }
  return content;
}

}  // namespace

std::optional<UrlParts> url_parts(const std::string& url) {
  const CurlUrl parsed = parse_url(url);
  if (!parsed) return std::nullopt;
  UrlParts parts{ascii_lower(url_part(parsed, CURLUPART_SCHEME)),
                 ascii_lower(url_part(parsed, CURLUPART_HOST)),
                 url_part(parsed, CURLUPART_PORT),
                 url_part(parsed, CURLUPART_USER),
                 url_part(parsed, CURLUPART_PASSWORD),
                 url_part(parsed, CURLUPART_FRAGMENT)};
  if (parts.host.starts_with('[') && parts.host.ends_with(']'))
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  return parts;
}

std::string resolve_url(const std::string& base, const std::string& relative_url) {
  const CurlUrl url = parse_url(base);
  if (!url || relative_url.empty() ||
      curl_url_set(url.get(), CURLUPART_URL, relative_url.c_str(), 0) != CURLUE_OK)
    return {};
  return url_part(url, CURLUPART_URL, 0);
}

bool is_same_origin(const std::string& one, const std::string& other) {
  const CurlUrl a = parse_url(one);
  const CurlUrl b = parse_url(other);
  if (!a || !b) return false;
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    if (ascii_lower(url_part(a, part)) != ascii_lower(url_part(b, part))) return false;
  }
  return url_part(b, CURLUPART_USER).empty() && url_part(b, CURLUPART_PASSWORD).empty();
}

tl::expected<std::string, std::string> within_origin(const std::string& url, const std::string& target) {
  const CurlUrl from = parse_url(url);
  const CurlUrl to = parse_url(target);
  if (!from || !to) return tl::make_unexpected("to what is no URL");
  if (!url_part(to, CURLUPART_USER).empty() || !url_part(to, CURLUPART_PASSWORD).empty())
    return tl::make_unexpected("to a URL with a user");
  const auto part_of = [](const CurlUrl& curl_url, CURLUPart part) {
    return ascii_lower(url_part(curl_url, part));
  };
  if (part_of(from, CURLUPART_HOST) != part_of(to, CURLUPART_HOST))
    return tl::make_unexpected("to another host");
  const std::string scheme = part_of(from, CURLUPART_SCHEME);
  const std::string target_scheme = part_of(to, CURLUPART_SCHEME);
  const std::string port = url_part(from, CURLUPART_PORT);
  const std::string target_port = url_part(to, CURLUPART_PORT);
  if (scheme == "https" && target_scheme == "http" && (target_port == "80" || target_port == port)) {
    curl_url_set(to.get(), CURLUPART_SCHEME, "https", 0);
    curl_url_set(to.get(), CURLUPART_PORT, port == "443" ? nullptr : port.c_str(), 0);
    return url_part(to, CURLUPART_URL, 0);
  }
  if (scheme == "http" && target_scheme == "https")
    return tl::make_unexpected("from http to https; write https in its url");
  if (scheme != target_scheme) return tl::make_unexpected("to another scheme (" + target_scheme + ")");
  if (port != target_port) return tl::make_unexpected("to another port (" + target_port + ")");
  return target;
}

bool is_https_or_loopback(const std::string& url) {
  const CurlUrl parsed = parse_url(url);
  if (!parsed) return false;
  const std::string scheme = ascii_lower(url_part(parsed, CURLUPART_SCHEME));
  return scheme == "https" ||
         (scheme == "http" && is_loopback(ascii_lower(url_part(parsed, CURLUPART_HOST))));
}

std::string with_query_parameter(const std::string& url, const std::string& name, const std::string& value) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + percent_encoded(name) + "=" +
         percent_encoded(value);
}

std::string percent_encoded(std::string_view text) {
  if (text.empty()) return {};  // libcurl would take the length 0 for an unknown one
  const std::unique_ptr<char, decltype(&curl_free)> copy(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  return copy ? copy.get() : "";
}

std::string next_link_url(const std::string& link_header) {
  std::string_view rest = link_header;
  while (!rest.empty()) {
    std::string_view parameters = take_part(rest, ',');
    const std::string_view target = take_part(parameters, ';');
    if (!target.starts_with('<') || !target.ends_with('>')) continue;
    std::optional<std::string> relations;  // of several, the first counts
    bool has_anchor = false;
    while (!parameters.empty()) {
      std::string_view value = take_part(parameters, ';');
      const std::string name = ascii_lower(take_part(value, '='));
      if (name == "anchor") has_anchor = true;
      if (name == "rel" && !relations) relations = unquoted(value);
    }
    std::istringstream words(ascii_lower(relations.value_or("")));
    const bool is_next = std::find(std::istream_iterator<std::string>(words), {}, "next") !=
                         std::istream_iterator<std::string>();
    if (is_next && !has_anchor) return std::string(target.substr(1, target.size() - 2));
  }
  return {};
}

std::optional<UtcMillis> from_http_date(const std::string& text) {
  const std::time_t seconds = curl_getdate(text.c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return UtcMillis{static_cast<std::int64_t>(seconds) * kSecondMillis};
}

}  // namespace giftsync
