#include "daemon/mail/transports.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::mail {
namespace {

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

std::string url_part(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool is_loopback(const std::string& host) {
  // libcurl resolves "localhost" itself, to loopback.
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace

bool requires_verified_tls(const SmtpOptions& options) {
  return options.require_tls || ascii_lower(options.url).starts_with("smtps:");
}

std::string smtp_options_fault(const SmtpOptions& options) {
  const Url url(curl_url());
  const bool parsed = curl_url_set(url.get(), CURLUPART_URL, options.url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = parsed ? url_part(url, CURLUPART_SCHEME) : "";
  if (scheme != "smtp" && scheme != "smtps") {
    return "email.smtp.url must have the form smtp://host:port or smtps://host:port";
  }
  if (!url_part(url, CURLUPART_USER).empty() || !url_part(url, CURLUPART_PASSWORD).empty()) {
    return "email.smtp.url contains a login; move it to email.smtp.username and email.smtp.password";
  }
  if (!options.username.empty() && !requires_verified_tls(options) &&
      !is_loopback(url_part(url, CURLUPART_HOST))) {
    return "email.smtp.username is set, but a password is only sent over TLS or to this machine; set "
           "email.smtp.require_tls: true or use an smtps:// url";
  }
  return {};
}

std::string default_client_name(const std::string& host_name, const std::string& from_address) {
  if (host_name.find('.') != std::string::npos) return host_name;
  const std::string from = email_for_envelope(from_address);
  return from.substr(from.rfind('@') + 1);
}

// Mails as files: `.<message id>.tmp` is written and synced, then renamed to `<message id>.eml`, and the
// directory is synced, once for all mails of a batch. The rename is the moment of sending; it can be
// repeated, because the same mail has the same bytes. Until the outcome is stored, `.<message id>.here` marks
// that the mail was prepared in this directory: a mail that was prepared elsewhere (changed setting, other
// machine) is not taken for one that a collector has fetched. The marker is a second name of the draft: ext4
// looks for a free inode the longer the more files were deleted within the last seconds.

namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0640;
constexpr mode_t kFolderMode = 0750;

/// Throws the system's error for `path`.
[[noreturn]] void fail(const char* doing, const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), std::string(doing) + " " + path.string());
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, kFileMode)), path_(path) {
    if (number_ < 0) fail("cannot open", path_);
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), path_(std::move(other.path_)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  /// Sets the mode regardless of the umask.
  void set_mode(mode_t mode) {
    if (::fchmod(number_, mode) != 0) fail("cannot set the mode of", path_);
  }
  /// The disk begins to write, so that sync() of several files waits for about one commit of the file
  /// system's journal. Fails silently where that is not possible: sync() counts.
  void start_writing() { ::sync_file_range(number_, 0, 0, SYNC_FILE_RANGE_WRITE); }
  void sync() {
    if (::fsync(number_) != 0) fail("cannot sync", path_);
  }

 private:
  int number_;
  fs::path path_;
};

void sync_folder(const fs::path& folder) {
  Descriptor(folder, O_RDONLY | O_DIRECTORY).sync();
}

/// Creates the directory and its missing parents, durably.
void create_durable_directory(const fs::path& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0) {
    if (errno == EEXIST) return;
    if (errno != ENOENT || !folder.has_relative_path()) fail("cannot create the folder", folder);
    create_durable_directory(folder.parent_path());
    if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
      fail("cannot create the folder", folder);
  }
  sync_folder(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
}

enum class Presence { there, absent, unknown };
Presence check_presence(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) return Presence::there;
  return errno == ENOENT ? Presence::absent : Presence::unknown;
}

bool is_safe_name(const std::string& message_id) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._-";
  return !message_id.empty() && message_id.find_first_not_of(kAllowed) == std::string::npos;
}

sync::SendResult fault(const std::string& description) {
  return {sync::SendOutcome::transport_error, description};
}

sync::SendResult unsafe_name() {
  return fault("the Message-ID cannot name a file: only letters, digits and @ . _ - are allowed");
}

/// Without the path, which is the server's and is on pages of the console; the name of the file is the
/// Message-ID.
sync::SendResult written() {
  return {sync::SendOutcome::accepted, "written to the mail directory"};
}

class FileTransport final : public sync::MailTransport {
 public:
  explicit FileTransport(fs::path folder) : folder_(std::move(folder)) {
    if (!folder_.has_filename() && folder_.has_relative_path()) folder_ = folder_.parent_path();  // "outbox/"
  }

  std::optional<sync::SendResult> prepare(const sync::OutgoingMail& mail) override {
    const sync::OutgoingMail* const one = &mail;
    return prepare_all({&one, 1}).front();
  }
  sync::SendResult send(const sync::OutgoingMail& mail, std::int64_t budget_millis) override {
    const sync::OutgoingMail* const one = &mail;
    return send_all({&one, 1}, budget_millis).front();
  }

  std::vector<std::optional<sync::SendResult>> prepare_all(
      std::span<const sync::OutgoingMail* const> mails) override {
    std::vector<std::optional<sync::SendResult>> faults(mails.size());
    // Does one part of the work for all mails that have no fault yet.
    const auto each = [&](const auto& prepare_one) {
      for (std::size_t i = 0; i < mails.size(); ++i) {
        if (!faults[i]) faults[i] = without_exception(*mails[i], [&] { prepare_one(i); });
      }
    };
    for (std::size_t i = 0; i < mails.size(); ++i) {
      if (!is_safe_name(mails[i]->message_id)) faults[i] = unsafe_name();
    }
    std::vector<std::optional<Descriptor>> drafts(mails.size());
    each([&](std::size_t i) { drafts[i].emplace(written_draft(*mails[i])); });
    each([&](std::size_t i) { drafts[i]->sync(); });
    drafts.clear();
    // After the drafts: a marker without a draft means a mail that was sent.
    each([&](std::size_t i) { create_marker(mails[i]->message_id); });
    const bool has_draft = std::any_of(faults.begin(), faults.end(), [](const auto& one) { return !one; });
    try {
      if (has_draft) sync_folder(folder_);
    } catch (const std::system_error& error) {
      each([&](std::size_t) { throw error; });
    }
    return faults;
  }

  std::vector<sync::SendResult> send_all(std::span<const sync::OutgoingMail* const> mails,
                                         std::int64_t budget_millis) override {
    std::vector<sync::SendResult> results;
    bool is_renamed = false;
    for (const sync::OutgoingMail* mail : mails) {
      results.push_back(rename_draft(*mail, budget_millis));
      is_renamed = is_renamed || results.back().outcome == sync::SendOutcome::accepted;
    }
    try {
      if (is_renamed) sync_folder(folder_);
    } catch (const std::system_error& error) {
      for (sync::SendResult& result : results) {
        if (result.outcome == sync::SendOutcome::accepted)
          result = {sync::SendOutcome::uncertain, error.what()};
      }
    }
    return results;
  }

  /// prepare() synced draft and marker before the mail could count as being sent, and only the rename removes
  /// the draft: a draft means not sent; a marker alone means sent, even if a collector has fetched the mail.
  std::optional<sync::SendResult> recover_outcome(const std::string& message_id) override {
    if (!is_safe_name(message_id)) return std::nullopt;
    const fs::path path = final_path(message_id);
    const Presence draft_presence = check_presence(draft(message_id));
    if (draft_presence == Presence::unknown) return std::nullopt;
    if (draft_presence == Presence::there)
      return sync::SendResult{sync::SendOutcome::try_later, "its file is still a draft: not sent"};
    if (check_presence(marker(message_id)) != Presence::there && check_presence(path) != Presence::there)
      return std::nullopt;
    try {
      sync_folder(folder_);
      return written();
    } catch (const std::system_error&) {
      return std::nullopt;
    }
  }

  void discard_marker(const std::string& message_id) override {
    if (is_safe_name(message_id)) ::unlink(marker(message_id).c_str());
  }

  bool has_stale_markers() const override { return may_have_stale_markers_; }

  /// Markers without a draft only: one with a draft belongs to a mail that another connection or daemon is
  /// about to send, and may have lost it by the time of `none_is_sent`.
  void remove_stale_markers(const std::function<bool()>& none_is_sent) override {
    std::vector<fs::path> stale;
    std::error_code failure;
    for (fs::directory_iterator entry(folder_, failure); !failure && entry != fs::directory_iterator();
         entry.increment(failure)) {
      const fs::path& path = entry->path();
      const std::string name = path.filename().string();
      if (!name.starts_with('.') || !name.ends_with(".here")) continue;
      if (check_presence(fs::path(path).replace_extension(".tmp")) == Presence::absent) stale.push_back(path);
    }
    if (!none_is_sent()) return;
    for (const fs::path& path : stale) ::unlink(path.c_str());
    may_have_stale_markers_ = false;
  }

  std::size_t max_batch_size() const override { return 100; }

 private:
  template <class Work>
  std::optional<sync::SendResult> without_exception(const sync::OutgoingMail& mail, const Work& work) {
    try {
      work();
      return std::nullopt;
    } catch (const std::system_error& error) {
      return drop_draft(mail, error);
    }
  }
  /// Open, and to be synced.
  Descriptor written_draft(const sync::OutgoingMail& mail) const {
    create_durable_directory(folder_);
    Descriptor file(draft(mail.message_id), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    file.set_mode(kFileMode);
    file.write(mail.bytes);
    file.start_writing();
    return file;
  }
  /// To be followed by a sync of the directory.
  void create_marker(const std::string& message_id) const {
    if (::link(draft(message_id).c_str(), marker(message_id).c_str()) == 0 || errno == EEXIST) return;
    // Not every file system has hard links, or allows one more.
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
      fail("cannot link", draft(message_id));
    const Descriptor empty(marker(message_id), O_WRONLY | O_CREAT | O_NOFOLLOW);
  }
  /// An incomplete draft must not look like a waiting mail.
  sync::SendResult drop_draft(const sync::OutgoingMail& mail, const std::system_error& error) {
    ::unlink(draft(mail.message_id).c_str());
    discard_marker(mail.message_id);
    return fault(error.what());
  }
  /// `accepted` holds after a sync of the directory.
  sync::SendResult rename_draft(const sync::OutgoingMail& mail, std::int64_t budget_millis) {
    if (!is_safe_name(mail.message_id)) return unsafe_name();
    if (budget_millis <= 0) return fault("not sent: the lease on this mail expired");
    const fs::path path = final_path(mail.message_id);
    if (::rename(draft(mail.message_id).c_str(), path.c_str()) == 0) return written();
    const std::error_code reason(errno, std::generic_category());
    // An earlier attempt may have renamed it already.
    if (::access(path.c_str(), F_OK) == 0) return written();
    return fault("cannot rename " + draft(mail.message_id).string() + " to " + path.string() + ": " +
                 reason.message());
  }
  fs::path draft(const std::string& message_id) const { return folder_ / ("." + message_id + ".tmp"); }
  fs::path marker(const std::string& message_id) const { return folder_ / ("." + message_id + ".here"); }
  fs::path final_path(const std::string& message_id) const { return folder_ / (message_id + ".eml"); }

  fs::path folder_;
  bool may_have_stale_markers_ = true;  // left by the previous daemon
};

}  // namespace

std::unique_ptr<sync::MailTransport> make_file_transport(const std::string& directory) {
  return std::make_unique<FileTransport>(directory);
}

}  // namespace giftsync::mail
