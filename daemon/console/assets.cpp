#include "daemon/console/assets.h"

#include "embedded/giftsync_daemon_console.h"
#include "platform/digest.h"

namespace giftsync::daemon::console {
namespace {

constexpr std::string_view kFolder = "assets/";
constexpr std::size_t kHashDigits = 12;

std::string path_of(std::string_view content, std::string_view name) {
  return std::string(kFolder) + platform::sha256_hex(content).substr(0, kHashDigits) + "/" +
         std::string(name);
}

http::HttpResponse file(std::string type, std::string_view content) {
  return {200,
          {{"Content-Type", std::move(type)},
           {"Cache-Control", "public, max-age=31536000, immutable"},
           {"X-Content-Type-Options", "nosniff"},
           {"Cross-Origin-Resource-Policy", "same-origin"}},
          std::string(content)};
}

}  // namespace

const std::string& style_path() {
  static const std::string path = path_of(embedded::web_console_console_css, "console.css");
  return path;
}
const std::string& script_path() {
  static const std::string path = path_of(embedded::web_console_console_js, "console.js");
  return path;
}
const std::string& icon_path() {
  static const std::string path = path_of(embedded::web_console_icon_svg, "icon.svg");
  return path;
}

std::optional<http::HttpResponse> asset(std::string_view rest) {
  if (rest == std::string_view(style_path()).substr(kFolder.size()))
    return file("text/css; charset=utf-8", embedded::web_console_console_css);
  if (rest == std::string_view(script_path()).substr(kFolder.size()))
    return file("text/javascript; charset=utf-8", embedded::web_console_console_js);
  if (rest == std::string_view(icon_path()).substr(kFolder.size()))
    return file("image/svg+xml", embedded::web_console_icon_svg);
  return std::nullopt;
}

}  // namespace giftsync::daemon::console
