#include "daemon/pages/posted_form.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>

#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostFormBytes = 16 * 1024;

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

std::map<std::string, std::string> posted_fields(std::string_view body) {
  std::map<std::string, std::string> fields;
  if (body.size() > kMostFormBytes) return fields;
  try {
    Poco::URI uri;
    uri.setRawQuery(std::string(body));
    for (const auto& [name, value] : uri.getQueryParameters()) {
      if (schema::is_storable_text(value)) fields.emplace(name, value);
    }
  } catch (const Poco::Exception&) {
    fields.clear();
  }
  return fields;
}

bool is_from_elsewhere(const HttpRequest& request, std::string_view base_url) {
  if (const auto site = request.header("Sec-Fetch-Site")) return *site != "same-origin" && *site != "none";
  const auto origin = request.header("Origin");
  if (!origin || *origin == "null") return false;
  if (schema::ascii_lower(*origin) == schema::ascii_lower(origin_of(base_url))) return false;
  const auto host = request.header("Host");
  return !host || schema::ascii_lower(host_of(*origin)) != schema::ascii_lower(*host);
}

}  // namespace giftsync::daemon
