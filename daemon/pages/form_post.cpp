#include "daemon/pages/form_post.h"

#include "platform/text.h"
#include "platform/url_parameters.h"

namespace giftsync::daemon::pages {
namespace {

constexpr std::size_t kMaxFormBytes = 16 * 1024;

/// "https://gifts.example.com" of "https://gifts.example.com/g".
std::string_view origin_of(std::string_view url) {
  const std::size_t begin = url.find("://");
  return begin == std::string_view::npos ? url : url.substr(0, url.find('/', begin + 3));
}

std::string_view host_of(std::string_view origin) {
  const std::size_t begin = origin.find("://");
  return begin == std::string_view::npos ? std::string_view() : origin.substr(begin + 3);
}

}  // namespace

std::map<std::string, std::string> form_fields(std::string_view body) {
  if (body.size() > kMaxFormBytes) return {};
  return platform::first_url_parameters(body);
}

bool is_cross_site(const http::HttpRequest& request, std::string_view base_url) {
  if (const auto fetch_site = request.header("Sec-Fetch-Site"))
    return *fetch_site != "same-origin" && *fetch_site != "none";
  const auto origin = request.header("Origin");
  if (!origin || *origin == "null") return false;
  if (platform::ascii_lower(*origin) == platform::ascii_lower(origin_of(base_url))) return false;
  const auto host = request.header("Host");
  return !host || platform::ascii_lower(host_of(*origin)) != platform::ascii_lower(*host);
}

}  // namespace giftsync::daemon::pages
