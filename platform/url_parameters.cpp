#include "platform/url_parameters.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync {

std::optional<std::vector<std::pair<std::string, std::string>>> parse_url_parameters(std::string_view text) {
  try {
    Poco::URI uri;
    uri.setRawQuery(std::string(text));
    return uri.getQueryParameters();
  } catch (const Poco::Exception&) {
    return std::nullopt;
  }
}

tl::expected<std::map<std::string, std::string>, std::string> unique_url_parameters(std::string_view text) {
  std::map<std::string, std::string> all;
  const auto parameters = parse_url_parameters(text);
  if (!parameters) return tl::unexpected(std::string("is not a valid query"));
  for (const auto& [name, value] : *parameters) {
    if (!is_storable_text(name) || !is_storable_text(value))
      return tl::unexpected(std::string("has a parameter that is not valid text"));
    if (!all.emplace(name, value).second) return tl::unexpected("repeats the parameter " + in_quotes(name));
  }
  return all;
}

std::map<std::string, std::string> first_url_parameters(std::string_view text) {
  std::map<std::string, std::string> first;
  const auto parameters = parse_url_parameters(text);
  if (!parameters) return first;
  for (const auto& [name, value] : *parameters)
    if (is_storable_text(name) && is_storable_text(value)) first.emplace(name, value);
  return first;
}

}  // namespace giftsync
