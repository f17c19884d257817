#include "cli/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

/// What the program's own texts of several lines contain.
constexpr std::string_view kLayout = "\n\t";

}  // namespace

int Console::fail(int exit_code, std::string_view message) const {
  out.flush();  // so that a terminal shows the data first
  err << "giftsyncctl: " << visible_text(message, kLayout) << '\n';
  return exit_code;
}

int Console::fail(const Refusal& refusal) const {
  for (const std::string& line : refusal.lines) fail(refusal.exit_code, line);
  return refusal.exit_code;
}

void Console::info(std::string_view message) const {
  err << visible_text(message, kLayout) << '\n';
}

bool is_output_closed(int descriptor) {
  pollfd polled{descriptor, POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

namespace {

std::string current_os_user() {
  const uid_t uid = ::getuid();
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  const bool named = ::getpwuid_r(uid, &entry, text.data(), text.size(), &found) == 0 && found != nullptr;
  std::string name = named ? std::string(entry.pw_name) : "uid " + std::to_string(uid);
  const char* sudo = std::getenv("SUDO_USER");
  if (uid == 0 && sudo != nullptr && *sudo != '\0') name += std::string(" (sudo: ") + sudo + ")";
  return name;
}

std::optional<std::string>& remembered_os_user() {
  static std::optional<std::string> name;
  return name;
}

}  // namespace

std::string os_user() {
  return remembered_os_user().value_or(current_os_user());
}

void remember_os_user() {
  remembered_os_user() = current_os_user();
}

namespace {

/// True if a person can see the question and answer it.
bool can_ask(const Console& console) {
  return console.err_is_terminal && &console.in == &std::cin && isatty(STDIN_FILENO) == 1;
}

}  // namespace

Confirmation confirmation_of(const std::string& question, bool yes, bool is_terminal, std::istream& in,
                             std::ostream& err) {
  if (yes) return Confirmation::given;
  if (!is_terminal) return Confirmation::not_possible;
  err << question << " [y/N] " << std::flush;
  std::string line;
  std::getline(in, line);
  const std::string answer = ascii_lower(trimmed(line));
  return answer == "y" || answer == "yes" ? Confirmation::given : Confirmation::declined;
}

void add_yes_flag(Command& verb, bool& yes) {
  verb.add_flag("--yes", yes, "Do not ask for confirmation; required without a terminal");
}

std::optional<int> refuse_unconfirmed(const Console& console, bool yes, const std::string& question,
                                      const std::string& consequence) {
  switch (confirmation_of(question, yes, can_ask(console), console.in, console.err)) {
    case Confirmation::given:
      return std::nullopt;
    case Confirmation::declined:
      return console.fail(EX_USAGE, "not confirmed; nothing was changed");
    case Confirmation::not_possible:
      break;
  }
  return console.fail(EX_USAGE, question + " " + consequence + "add --yes to confirm it");
}

namespace {

constexpr std::uint64_t kInputCells = 40;
constexpr std::uint64_t kWorkCells = 30;
constexpr std::uint64_t kCountStep = 10'000;

/// "[#####.....]  50 %".
std::string bar_text(std::uint64_t done, std::uint64_t total, std::uint64_t cells) {
  const std::uint64_t full = std::min(cells, done * cells / total);
  return fmt::format("[{:#<{}}{:.<{}}] {:3} %", "", full, "", cells - full, done * 100 / total);
}

}  // namespace

void ProgressLine::show(const std::string& text) {
  console_.err << '\r' << text << std::flush;
  visible_ = true;
}

void ProgressLine::clear() {
  if (visible_) console_.err << "\r\033[K" << std::flush;
  visible_ = false;
}

void InputProgress::update(std::uint64_t lines, std::uint64_t bytes) {
  if (!console_.err_is_terminal) {
    const std::uint64_t messages = lines / kLinesPerMessage;
    if (messages > drawn_) console_.info(fmt::format("{} lines read", messages * kLinesPerMessage));
    drawn_ = messages;
    return;
  }
  if (bytes_.value_or(kMinBytes) < kMinBytes) return;
  const std::uint64_t step = bytes_ ? bytes * 100 / *bytes_ : lines / kCountStep;
  if (step == drawn_ && line_.visible()) return;
  drawn_ = step;
  const std::string bar = bytes_ ? bar_text(bytes, *bytes_, kInputCells) + "  " : "";
  line_.show(fmt::format("{}{} lines", bar, lines));
}

std::string duration_text(std::int64_t millis) {
  const std::int64_t seconds = millis / kSecondMillis;
  if (seconds >= 3600) return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
  if (seconds >= 60) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} s", seconds);
}

WorkProgress::WorkProgress(const Console& console, std::string what, std::int64_t total,
                           std::int64_t done_before)
    : console_(console),
      what_(std::move(what)),
      total_(total),
      done_before_(done_before),
      started_at_(console.now()),
      last_shown_at_(started_at_),
      line_(console) {}

std::string WorkProgress::rate_text(std::int64_t done, std::int64_t elapsed_millis) const {
  const std::int64_t done_in_this_run = done - done_before_;
  if (done_in_this_run <= 0 || elapsed_millis <= 0) return "";
  const std::int64_t left = std::max<std::int64_t>(total_ - done, 0);
  return fmt::format(", {} {}/s, {} left", done_in_this_run * kSecondMillis / elapsed_millis, what_,
                     duration_text(left * elapsed_millis / done_in_this_run));
}

void WorkProgress::update(std::int64_t done) {
  const UtcMillis now = console_.now();
  if (now < last_shown_at_ + (console_.err_is_terminal ? kRedrawMillis : kMessageMillis)) return;
  last_shown_at_ = now;
  // The total was counted at the start and may have grown since.
  const std::int64_t total = std::max(total_, std::max<std::int64_t>(done, 1));
  const std::string rest = rate_text(done, now.value - started_at_.value);
  if (!console_.err_is_terminal) {
    console_.info(fmt::format("{} of {} {}{}", done, total, what_, rest));
    return;
  }
  const std::string bar =
      bar_text(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total), kWorkCells);
  line_.show(fmt::format("\033[K{}  {} {}{}", bar, done, what_, rest));
}

void SearchProgress::update(std::int64_t gift) {
  const UtcMillis now = console_.now();
  if (!console_.err_is_terminal || now < last_shown_at_ + WorkProgress::kRedrawMillis) return;
  last_shown_at_ = now;
  line_.show(fmt::format("\033[Ksearching, at gift {}", gift));
}

}  // namespace giftsync::cli
