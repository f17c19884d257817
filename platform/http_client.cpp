#include "platform/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "platform/text.h"

namespace giftsync::platform {
namespace {

constexpr long kConnectMillis = 10'000;
constexpr long kSlowBytesPerSecond = 10;
constexpr long kSlowSeconds = 30;

using CurlEasy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using CurlHeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;
using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

struct Transfer {
  HttpGetResponse response;
  std::size_t max_bytes;
  bool too_large = false;
  const std::function<bool()>& keep_going;
};

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
  HttpGetResponse& response = static_cast<Transfer*>(user)->response;
  const std::string_view line(data, count);
  if (line.starts_with("HTTP/"))
    response.etag = response.link = response.retry_after = response.location = "";
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return count;
  const std::string name = ascii_lower(line.substr(0, colon));
  const std::string value(trimmed(line.substr(colon + 1)));
  if (name == "etag") response.etag = value;
  if (name == "link") response.link += (response.link.empty() ? "" : ", ") + value;
  if (name == "retry-after") response.retry_after = value;
  if (name == "location") response.location = value;
  return count;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->keep_going() ? 0 : 1;
}

/// For a second attempt of the same request, within the remaining time.
void retry_without_encodings(CURL* handle, const HttpGetRequest& request) {
  curl_off_t micros = 0;
  curl_easy_getinfo(handle, CURLINFO_TOTAL_TIME_T, &micros);
  const std::int64_t left_millis = std::max<std::int64_t>(request.timeout_millis - micros / 1000, 1);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(left_millis));
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, static_cast<const char*>(nullptr));
}

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

}  // namespace

HttpGetResponse http_get(const HttpGetRequest& request, const std::function<bool()>& keep_going) {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  const CurlEasy easy(ready ? curl_easy_init() : nullptr, curl_easy_cleanup);
  Transfer transfer{{}, request.max_bytes, false, keep_going};
  if (!easy) {
    transfer.response.error = "libcurl cannot be used";
    return transfer.response;
  }
  CurlHeaderList header_list(nullptr, curl_slist_free_all);
  for (const std::string& header : request.headers) {
    curl_slist* appended = curl_slist_append(header_list.get(), header.c_str());
    if (appended == nullptr) continue;
    static_cast<void>(header_list.release());
    header_list.reset(appended);
  }
  char reason[CURL_ERROR_SIZE] = "";
  CURL* handle = easy.get();
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, request.https_only ? "https" : "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, header_list.get());
  // All encodings that this libcurl can decode. Without this option it decodes nothing, not even unsolicited
  // encodings.
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "giftsync/" GIFTSYNC_VERSION);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectMillis);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout_millis));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  if (request.bypass_proxy) curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  if (!request.ca_file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, request.ca_file.c_str());
  CURLcode result = curl_easy_perform(handle);
  if (result == CURLE_BAD_CONTENT_ENCODING) {
    // Some vendors write "utf-8" here; the body taken without decoding may be valid.
    retry_without_encodings(handle, request);
    transfer.response = {};
    *reason = 0;
    result = curl_easy_perform(handle);
  }
  if (result != CURLE_OK) {
    transfer.response.error = transfer.too_large ? "more than " + std::to_string(request.max_bytes) + " bytes"
                              : *reason != 0     ? reason
                                                 : curl_easy_strerror(result);
    return transfer.response;
  }
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  return transfer.response;
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

std::string with_query_parameter(const std::string& url, const std::string& name, const std::string& value) {
  const auto escaped = [](const std::string& text) {
    const std::unique_ptr<char, decltype(&curl_free)> copy(
        curl_easy_escape(nullptr, text.c_str(), static_cast<int>(text.size())), curl_free);
    return std::string(copy ? copy.get() : "");
  };
  return url + (url.find('?') == std::string::npos ? "?" : "&") + escaped(name) + "=" + escaped(value);
}

std::string next_link_url(const std::string& link_header) {
  std::string_view rest = link_header;
  while (true) {
    const std::size_t begin = rest.find('<');
    const std::size_t end = rest.find('>', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    const std::string_view target = rest.substr(begin + 1, end - begin - 1);
    rest.remove_prefix(end + 1);
    const std::string parameters = ascii_lower(rest.substr(0, rest.find('<')));
    const std::size_t rel = parameters.find("rel=");
    if (rel == std::string::npos) continue;
    std::string_view value = std::string_view(parameters).substr(rel + 4);
    value = value.starts_with('"') ? value.substr(1, value.find('"', 1) - 1)
                                   : value.substr(0, value.find_first_of(",; "));
    for (std::string_view relation = value; !relation.empty();) {
      const std::size_t space = std::min(relation.find(' '), relation.size());
      if (relation.substr(0, space) == "next") return std::string(target);
      relation.remove_prefix(std::min(space + 1, relation.size()));
    }
  }
}

}  // namespace giftsync::platform
