#include "daemon/config/read_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "daemon/config/cross_checks.h"
#include "daemon/config/parsed_config.h"
#include "daemon/config/text_checks.h"
#include "platform/yaml_document.h"

namespace giftsync::config {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

tl::unexpected<SettingsFaults> to_unexpected(std::vector<FileFault> faults, const std::string& path) {
  std::stable_sort(faults.begin(), faults.end(),
                   [](const FileFault& a, const FileFault& b) { return a.line < b.line; });
  SettingsFaults lines;
  for (const FileFault& fault : faults) lines.lines.push_back(to_line(fault, path));
  return tl::unexpected(std::move(lines));
}

tl::unexpected<SettingsFaults> file_fault(const std::string& path, std::string found, std::string next_step) {
  return to_unexpected({{0, "", std::move(found), "a settings file", std::move(next_step)}}, path);
}

}  // namespace

std::string default_settings_path() {
  const char* named = std::getenv("GIFTSYNC_CONFIG");
  return named && *named ? named : "/etc/giftsync/giftsyncd.yaml";
}

namespace {

std::filesystem::path absolute_path(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

/// Of a file without any value.
SettingsReading faulty_reading(const std::string& path, std::vector<std::string> faults) {
  SettingsReading reading;
  reading.settings.file = absolute_path(path).string();
  reading.faults = std::move(faults);
  reading.has_store = false;
  return reading;
}

bool store_is_faultless(const ParsedConfig& parsed) {
  const auto is_of_store = [](const FileFault& fault) {
    return fault.key.empty() || fault.key == "store" || fault.key.starts_with("store.");
  };
  return parsed.has("store.connection") &&
         std::none_of(parsed.faults.begin(), parsed.faults.end(), is_of_store);
}

/// A secret in the file itself, not a reference to one.
bool contains_secret(const Settings& settings) {
  const auto is_literal = [](const auto& source) {
    return source.second.reference.find("literal") != std::string::npos;
  };
  const auto hides_password = [](StoreBackend backend, const std::string& connection) {
    return backend == StoreBackend::postgresql && has_password(connection);
  };
  return hides_password(settings.store.backend, settings.store.connection) ||
         hides_password(settings.crm.backend, settings.crm.connection) ||
         std::any_of(settings.provenance.begin(), settings.provenance.end(), is_literal);
}

bool is_world_readable(const std::string& path) {
  std::error_code error;
  const auto permissions = std::filesystem::status(path, error).permissions();
  return !error && (permissions & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

SettingsReading reading_of(const std::string& text, const std::string& path) {
  const std::filesystem::path absolute = absolute_path(path);
  const YamlDocument document = read_yaml(text);
  if (!document.faults.empty())
    return faulty_reading(path, to_unexpected(document.faults, path).value().lines);
  ParsedConfig parsed = parse_config(document.root, absolute.parent_path());
  cross_check(parsed, absolute.parent_path());
  SettingsReading reading;
  reading.has_store = store_is_faultless(parsed);
  if (!parsed.faults.empty()) reading.faults = to_unexpected(std::move(parsed.faults), path).value().lines;
  parsed.settings.file = absolute.string();
  for (const SettingsWarning& warning : parsed.warnings) {
    parsed.settings.warnings.push_back(
        fmt::format("{}:{}: {}: {}", path, warning.line, warning.key, warning.text));
  }
  reading.settings = std::move(parsed.settings);
  return reading;
}

tl::expected<Settings, SettingsFaults> settings_or_faults(SettingsReading reading) {
  if (!reading.faults.empty()) return tl::unexpected(SettingsFaults{std::move(reading.faults)});
  return std::move(reading.settings);
}

/// The file's text.
tl::expected<std::string, SettingsFaults> read_text(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return file_fault(path, "nothing there",
                      "check the path after --config, or start from /usr/share/giftsync/giftsyncd.yaml "
                      "(in the sources conf/giftsyncd.yaml)");
  }
  if (std::filesystem::is_directory(status)) return file_fault(path, "a folder", "name the file in it");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    const std::string reason = std::generic_category().message(errno);
    return file_fault(path, "a file that cannot be read (" + reason + ")", "let the service's user read it");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) return file_fault(path, "more than 1 MiB", "name the right file");
  return text;
}

}  // namespace

tl::expected<Settings, SettingsFaults> read_settings_text(const std::string& text, const std::string& path) {
  return settings_or_faults(reading_of(text, path));
}

tl::expected<Settings, SettingsFaults> read_settings(const std::string& path) {
  return settings_or_faults(read_settings_despite_faults(path));
}

SettingsReading read_settings_despite_faults(const std::string& path) {
  auto text = read_text(path);
  if (!text) return faulty_reading(path, std::move(text.error().lines));
  SettingsReading reading = reading_of(*text, path);
  if (contains_secret(reading.settings) && is_world_readable(path))
    reading.settings.warnings.push_back(fmt::format(
        "{}: it contains a secret and is readable by all users of this host; run chmod o-r on it", path));
  return reading;
}

}  // namespace giftsync::config
