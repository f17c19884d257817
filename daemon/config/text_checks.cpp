#include "daemon/config/text_checks.h"

#include <arpa/inet.h>

#include <algorithm>

#include "daemon/content/messages.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::size_t kMaxNamespace = 15;
constexpr std::size_t kMaxFieldName = 80;
constexpr std::size_t kMaxTableName = 63;
constexpr std::size_t kMaxPlainText = 255;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<int> number_up_to(std::string_view digits, int maximum) {
  const auto number = platform::parse_number<int>(digits);
  return number && *number >= 0 && *number <= maximum ? number : std::nullopt;
}

bool is_address(int family, std::string_view text) {
  in6_addr buffer{};  // large enough for either family
  return inet_pton(family, std::string(text).c_str(), &buffer) == 1;
}

}  // namespace

bool has_only_lower_case(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  });
}

TextFault check_listen_address(std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.ends_with(']')) return "whose port is missing";
  const std::string_view host = std::string_view(text).substr(0, colon);
  if (!number_up_to(std::string_view(text).substr(colon + 1), 65535))
    return "whose port is not a number from 0 to 65535";
  if (host.empty() || host == "*")
    return "which has no address (0.0.0.0 listens on all of IPv4, [::] on all)";
  if (host.starts_with('[') && host.ends_with(']')) {
    if (is_address(AF_INET6, host.substr(1, host.size() - 2))) return std::nullopt;
    return "whose part in brackets is not an IPv6 address";
  }
  if (host.find(':') != std::string_view::npos) return "whose IPv6 address is not in brackets";
  if (host == "localhost") return "which is a name (127.0.0.1 is this host)";
  if (!is_address(AF_INET, host)) return "which does not begin with a numeric address";
  return std::nullopt;
}

TextFault check_address_block(std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = std::string_view(text).substr(0, slash);
  const bool is_v6 = address.find(':') != std::string_view::npos;
  if (!is_address(is_v6 ? AF_INET6 : AF_INET, address)) return "which does not begin with a numeric address";
  if (slash == std::string::npos) return std::nullopt;
  const int maximum = is_v6 ? 128 : 32;
  if (number_up_to(std::string_view(text).substr(slash + 1), maximum)) return std::nullopt;
  return "whose prefix length is not a number from 0 to " + std::to_string(maximum);
}

TextFault check_email_address(std::string& text) {
  text = std::string(platform::trimmed(text));
  if (std::optional<std::string> fault = schema::email_error(text)) return "which " + *fault;
  return std::nullopt;
}

TextFault check_region(std::string& text) {
  if (schema::is_phone_region(text)) return std::nullopt;
  return "which is not a region with phone numbers";
}

TextFault check_namespace(std::string& text) {
  if (!is_name(text)) return "which is not a letter followed by letters, digits and underscores";
  if (text.size() > kMaxNamespace) return "which has more than 15 characters";
  if (text.find("__") != std::string::npos) return "which has two underscores in a row";
  if (text.ends_with('_')) return "which ends with an underscore";
  return std::nullopt;
}

TextFault check_field_name(std::string& text) {
  if (!is_name(text)) return "which is not a letter followed by letters, digits and underscores";
  if (text.size() > kMaxFieldName) return "which has more than 80 characters";
  return std::nullopt;
}

TextFault check_table_name(std::string& text) {
  const std::size_t dot = text.find('.');
  const std::string_view schema = dot == std::string::npos ? "x" : std::string_view(text).substr(0, dot);
  const std::string_view table = std::string_view(text).substr(dot == std::string::npos ? 0 : dot + 1);
  if (!is_name(schema) || !is_name(table))
    return "which is not a name of letters, digits and underscores, or two of them with a dot between";
  if (schema.size() > kMaxTableName || table.size() > kMaxTableName)
    return "which has more than 63 characters";
  return std::nullopt;
}

TextFault check_colour(std::string& text) {
  text = platform::ascii_lower(text);
  const bool is_hex = text.size() == 7 && text.front() == '#' &&
                      text.find_first_not_of("0123456789abcdef", 1) == std::string::npos;
  if (!is_hex) return "which is not # and six hex digits";
  return std::nullopt;
}

TextFault check_language(std::string& text) {
  text = platform::ascii_lower(text);
  if (content::find_messages(text) != nullptr) return std::nullopt;
  std::string known;
  for (const content::Messages& messages : content::all_messages())
    known += (known.empty() ? "" : ", ") + messages.language();
  return "which is not available; available: " + known;
}

TextFault check_plain_text(std::string& text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), is_control)) return "which has control characters";
  if (platform::count_code_points(text) > kMaxPlainText) return "which has more than 255 characters";
  return std::nullopt;
}

bool is_connection_uri(std::string_view connection) {
  return connection.starts_with("postgresql://") || connection.starts_with("postgres://");
}

bool has_password(std::string_view connection) {
  if (is_connection_uri(connection)) {
    const std::size_t user = connection.find("//") + 2;
    const std::size_t at = connection.find('@', user);
    const bool before_host = at != std::string_view::npos &&
                             connection.substr(user, at - user).find(':') != std::string_view::npos;
    return before_host || connection.find("password=") != std::string_view::npos;
  }
  for (std::size_t at = 0; (at = connection.find("password", at)) != std::string_view::npos; ++at) {
    const std::string_view rest =
        platform::trimmed(connection.substr(at + std::string_view("password").size()));
    if (rest.starts_with('=')) return true;
  }
  return false;
}

}  // namespace giftsync::daemon::config
