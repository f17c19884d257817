#include "platform/http_client.h"

#include <Poco/DeflatingStream.h>
#include <curl/curl.h>

#include <algorithm>
#include <sstream>

#include "platform/text.h"

namespace giftsync::platform {
namespace {

constexpr long kSlowBytesPerSecond = 10;
constexpr std::size_t kMinCompressedBytes = 1024;
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
  HttpResponse response;
  std::string body;            ///< of the request, as sent
  std::size_t body_taken = 0;  ///< bytes of it that libcurl has taken
  std::size_t max_bytes;
  bool too_large = false;
  const KeepGoing& keep_going;
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
  if (transfer.response.body.size() + count > transfer.max_bytes) {
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body.append(data, count);
  return count;
}

std::size_t on_header(char* data, std::size_t, std::size_t count, void* user) {
  auto& headers = static_cast<Transfer*>(user)->response.headers;
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
  // All encodings that this libcurl can decode. Without this option it decodes nothing, not even unsolicited
  // encodings.
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
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
}

/// The body goes through a callback that cannot rewind: libcurl repeats a request by itself when a kept
/// connection ends without a response, and a write must not happen twice unnoticed.
void set_request(CURL* handle, const HttpRequest& request, Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  if (has_body(request)) {
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, on_upload);
    curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
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
  if (result == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
  } else {
    response.is_too_large = transfer.too_large;
    response.error = transfer.too_large ? "more than " + std::to_string(options.max_bytes) + " bytes"
                     : result == CURLE_SEND_FAIL_REWIND
                         ? "the server closed the connection without a response"
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
  Transfer transfer{{}, request.body, 0, options_.max_bytes, false, keep_going};
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

}  // namespace giftsync::platform
