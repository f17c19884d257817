#include "daemon/content/logo.h"

#include <fstream>

#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::daemon::content {
namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view type;
  std::string_view extension;
};

bool is_svg(std::string_view bytes) {
  if (!platform::is_storable_text(bytes)) return false;
  const std::string_view text = platform::trimmed(platform::without_byte_order_mark(bytes));
  const bool begins = text.starts_with("<svg") || text.starts_with("<?xml") || text.starts_with("<!");
  return begins && text.find("<svg") != std::string_view::npos;
}

/// By the first bytes; empty for an unsupported type.
Kind kind_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return {"image/png", ".png"};
  if (bytes.starts_with("\xFF\xD8\xFF"sv)) return {"image/jpeg", ".jpg"};
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) return {"image/webp", ".webp"};
  if (is_svg(bytes)) return {"image/svg+xml", ".svg"};
  return {};
}

}  // namespace

tl::expected<Logo, std::string> read_logo(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMaxLogoBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) return tl::make_unexpected("which cannot be read");
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > kMaxLogoBytes) return tl::make_unexpected("which is larger than 200 KiB");
  const Kind kind = kind_of(bytes);
  if (kind.type.empty()) return tl::make_unexpected("which is not a supported picture");
  const std::string name = "logo-" + platform::sha256_hex(bytes).substr(0, 20) + std::string(kind.extension);
  return Logo{std::move(bytes), std::string(kind.type), name};
}

}  // namespace giftsync::daemon::content
