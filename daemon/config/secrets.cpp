#include "daemon/config/secrets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::config {
namespace {

using Outcome = tl::expected<FetchedSecret, SecretFault>;

constexpr std::size_t kMaxSecretBytes = std::size_t{64} << 10;

tl::unexpected<SecretFault> refused(std::string found, std::string next_step) {
  return tl::unexpected(SecretFault{std::move(found), std::move(next_step)});
}

std::string last_error() {
  return std::generic_category().message(errno);
}

Outcome checked(std::string text, const std::string& location, std::string warning) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) return refused(location + ", which is empty", "put the secret into it");
  if (text.size() > kMaxSecretBytes)
    return refused(location + ", which has more than 64 KiB", "name the right file");
  if (!platform::is_storable_text(text)) {
    return refused(location + ", which is not UTF-8 text without NUL", "name a text file");
  }
  return FetchedSecret{Secret(std::move(text)), std::move(warning)};
}

/// Reads up to one byte more than the limit; nullopt with errno set when the file cannot be read.
std::optional<std::string> text_of(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() <= kMaxSecretBytes) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

Outcome from_file(const std::filesystem::path& path) {
  const std::string location = platform::in_quotes(path.string());
  // Non-blocking, so that a named pipe without a writer does not hold up the start.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return refused(location + ", which cannot be read (" + last_error() + ")",
                   "create the file, or let the service's user read it");
  }
  const std::optional<std::string> text = text_of(descriptor);
  const std::string reason = text ? "" : last_error();
  struct stat facts {};
  const bool is_world_readable = ::fstat(descriptor, &facts) == 0 && (facts.st_mode & S_IROTH) != 0;
  ::close(descriptor);
  if (!text)
    return refused(location + ", which cannot be read (" + reason + ")", "name a file with the secret");
  return checked(
      *text, location,
      is_world_readable ? location + " is readable by all users of this host; run chmod o-r on it" : "");
}

Outcome from_environment(const std::string& name) {
  const char* text = std::getenv(name.c_str());
  if (text == nullptr) {
    return refused("the environment variable " + platform::in_quotes(name) + ", which is not set",
                   "set it for the service, or use file:PATH");
  }
  return checked(text, "the environment variable " + platform::in_quotes(name), "");
}

Outcome from_credential(const std::string& name) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr) {
    return refused("the credential " + platform::in_quotes(name) + " without $CREDENTIALS_DIRECTORY",
                   "add LoadCredential=" + name +
                       ":PATH to the systemd unit; for a command on the host of the running service set "
                       "CREDENTIALS_DIRECTORY=/run/credentials/giftsyncd.service; or use file:PATH");
  }
  if (name.empty() || name.find('/') != std::string::npos) {
    return refused("the credential " + platform::in_quotes(name),
                   "write the name that LoadCredential= gives it, without a slash");
  }
  return from_file(std::filesystem::path(folder) / name);
}

}  // namespace

std::string secret_provenance(const std::string& reference) {
  for (const char* kind : {"file:", "env:", "credential:"})
    if (reference.starts_with(kind)) return reference;
  return "literal";
}

Outcome fetch_secret(const std::string& reference, const std::filesystem::path& folder) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kEnvironment = "env:";
  constexpr std::string_view kCredential = "credential:";
  if (reference.starts_with(kFile)) return from_file(folder / reference.substr(kFile.size()));
  if (reference.starts_with(kEnvironment)) return from_environment(reference.substr(kEnvironment.size()));
  if (reference.starts_with(kCredential)) return from_credential(reference.substr(kCredential.size()));
  return checked(reference, "a text",
                 "the settings file contains the secret itself; put it into a file that only the "
                 "service's user can read and write file:PATH");
}

}  // namespace giftsync::daemon::config
