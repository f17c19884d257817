#include "platform/quoted_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/text.h"

namespace giftsync::platform {
namespace {

constexpr std::size_t kShownCodePoints = 80;

std::string without_url_user(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  const std::size_t at = text.rfind('@');
  if (scheme_end == std::string_view::npos || at == std::string_view::npos || at < scheme_end)
    return std::string(text);
  return std::string(text.substr(0, scheme_end + 3)) + "********" + std::string(text.substr(at));
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const std::string safe = without_url_user(text);
  const std::string_view shown = truncated(safe, kShownCodePoints);
  std::string quotation = "\"";
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quotation += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      quotation += fmt::format("\\x{:02x}", byte);
    } else {
      quotation += c;
    }
  }
  if (shown.size() < safe.size()) quotation += "...";
  return quotation + "\"";
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("@%_-+=:,./").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word.append("'\\''") : word.append(1, c);
  return word + "'";
}

}  // namespace giftsync::platform
