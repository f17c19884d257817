#include "daemon/service.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "daemon/crm_of_settings.h"
#include "daemon/house.h"
#include "daemon/logging.h"
#include "daemon/settings/nearest_word.h"
#include "daemon/settings/read_settings.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/store_address.h"
#include "daemon/store_folder.h"
#include "schema/broken_world.h"
#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

struct Arguments {
  std::string config = "/etc/giftsync/giftsyncd.yaml";
  bool check = false;
};

/// What is wrong with the command line.
std::string argument_fault(const CLI::App& app, const CLI::ParseError& fault, int argc, char** argv) {
  const std::vector<std::string> known{"--config", "--check", "--help", "--version"};
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with('-') || app.get_option_no_throw(name) != nullptr) continue;
    const std::string nearest = nearest_word(name, known);
    return fmt::format("there is no option {}{}", in_quotes(name),
                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  return fault.what();
}

void print_faults(const SettingsFaults& faults) {
  for (const std::string& line : faults.lines) std::fprintf(stderr, "%s\n", line.c_str());
}

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

/// A SIGHUP that comes during the start, whose default is death, waits and is a reload once the house stands.
void let_hangups_wait() {
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
}

/// From now on a signal ends the process at once: for the second SIGTERM, while the first is being obeyed.
void let_signals_kill() {
  for (const int number : {SIGTERM, SIGINT}) ::signal(number, [](int received) { ::_exit(128 + received); });
  ::signal(SIGHUP, SIG_IGN);
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

/// How long to wait for a signal before the watchdog wants to be fed; a second when systemd runs none.
timespec watchdog_pace() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return {1, 0};
  const std::uint64_t pace = std::min<std::uint64_t>(microseconds / 4, 1'000'000);
  return {static_cast<time_t>(pace / 1'000'000), static_cast<long>(pace % 1'000'000 * 1000)};
}

/// While it lives systemd waits longer for a sign of life: a house that is torn down finishes its mail first.
class LongerWatch {
 public:
  LongerWatch() {
    if (sd_watchdog_enabled(0, &usual_) > 0) sd_notifyf(0, "WATCHDOG_USEC=%llu", kLonger);
  }
  ~LongerWatch() {
    if (usual_ > 0) sd_notifyf(0, "WATCHDOG_USEC=%llu\nWATCHDOG=1", static_cast<unsigned long long>(usual_));
  }
  LongerWatch(const LongerWatch&) = delete;
  LongerWatch& operator=(const LongerWatch&) = delete;

 private:
  static constexpr unsigned long long kLonger = 180'000'000;  // above the unit's TimeoutStopSec
  std::uint64_t usual_ = 0;
};

void announce(const House& house, const Settings& settings) {
  for (const std::string& address : house.listens_on()) spdlog::info("listening on http://{}", address);
  sd_notifyf(0, "READY=1\nSTATUS=Listening on %s with %s", house.listens_on().front().c_str(),
             settings.file.c_str());
}

/// Why the settings' store or CRM cannot be worked with now: then the house that stands is left standing.
std::optional<std::string> database_fault(const Settings& settings) {
  if (auto fault = store_folder_fault(settings)) return fault;
  try {
    const schema::DatabaseAddress address = store_address(settings.store);
    schema::migrate_store(address);
    schema::check_store_writable(address);
    if (!settings.crm.is_foreign()) return std::nullopt;
    const std::vector<std::string> faults = check_crm(settings).faults;
    return faults.empty() ? std::nullopt : std::optional(faults.front());
  } catch (const schema::BrokenWorld& fault) {
    return fault.what();
  }
}

void tell_warnings(const Settings& settings) {
  for (const std::string& warning : settings.warnings) spdlog::warn("{}", warning);
}

/// Builds a new house from the file; on any fault the old settings get theirs back.
void reload(std::unique_ptr<House>& house, Settings& settings, TimerClock& timer_clock) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
             static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000);
  auto read = read_settings(settings.file);
  if (const auto* faults = std::get_if<SettingsFaults>(&read)) {
    for (const std::string& line : faults->lines) spdlog::error("{}", line);
    spdlog::error("the settings were not reloaded; the old ones stay in force");
    sd_notify(0, "READY=1");
    return;
  }
  if (const auto fault = database_fault(std::get<Settings>(read))) {
    spdlog::error("{}; the settings were not reloaded, the old ones stay in force", *fault);
    sd_notify(0, "READY=1");
    return;
  }
  const LongerWatch watch;
  const Settings old = std::exchange(settings, std::get<Settings>(std::move(read)));
  house.reset();
  set_up_logging(settings.log);
  try {
    house = std::make_unique<House>(settings, timer_clock);
    tell_warnings(settings);
    spdlog::info("settings reloaded from {}", settings.file);
  } catch (const std::runtime_error& fault) {
    spdlog::error("{}; the old settings stay in force", fault.what());
    settings = old;
    set_up_logging(settings.log);
    house = std::make_unique<House>(settings, timer_clock);
  }
  announce(*house, settings);
}

/// Until SIGTERM or SIGINT.
void serve(std::unique_ptr<House>& house, Settings& settings, TimerClock& timer_clock) {
  const sigset_t signals = watched_signals();
  const timespec pace = watchdog_pace();
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &pace);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP) reload(house, settings, timer_clock);
    if (house->loops_alive()) sd_notify(0, "WATCHDOG=1");
  }
}

int run_daemon(Settings settings) {
  set_up_logging(settings.log);
  tell_warnings(settings);
  if (const auto fault = store_folder_fault(settings)) {
    spdlog::error("cannot start: {}", *fault);
    return EX_CONFIG;
  }
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the first thread: all inherit it
  ::signal(SIGPIPE, SIG_IGN);
  try {
    TimerClock timer_clock;
    auto house = std::make_unique<House>(settings, timer_clock);
    announce(*house, settings);
    serve(house, settings, timer_clock);
    sd_notify(0, "STOPPING=1");
    spdlog::info("stopping: finishing requests and the mail in hand; a second signal ends it at once");
    let_signals_kill();
    house.reset();
    spdlog::info("stopped");
    return EX_OK;
  } catch (const UnusableSettings& fault) {
    spdlog::error("{}", fault.what());
    return EX_CONFIG;
  } catch (const schema::BrokenWorld& fault) {
    spdlog::error("cannot start: {} ({}.connection in {})", fault.what(),
                  fault.of_foreign_crm() ? "crm" : "store", settings.file);
    return EX_UNAVAILABLE;
  } catch (const std::runtime_error& fault) {
    spdlog::error("cannot start: {}", fault.what());
    return EX_OSERR;
  }
}

}  // namespace

int run_service(int argc, char** argv) {
  let_hangups_wait();
  CLI::App app("giftsyncd: sends digital gifts and keeps the CRM's gift records true.\n");
  app.footer(
      "Examples:\n  giftsyncd --config /etc/giftsync/giftsyncd.yaml\n  giftsyncd --config giftsyncd.yaml "
      "--check\n\n"
      "It runs in the foreground; SIGTERM stops it, SIGHUP reads the settings again. See giftsyncd(8).");
  Arguments arguments;
  app.add_option("-c,--config", arguments.config, "settings file")->capture_default_str();
  app.add_flag("--check", arguments.check, "check the settings and exit (0 good, 78 bad)");
  app.set_version_flag("--version", "giftsyncd " GIFTSYNC_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version) == 0 ? EX_OK : EX_USAGE;
  } catch (const CLI::ParseError& fault) {
    std::fprintf(stderr, "giftsyncd: %s; see \"giftsyncd --help\"\n",
                 argument_fault(app, fault, argc, argv).c_str());
    return EX_USAGE;
  }
  auto read = read_settings(arguments.config);
  if (const auto* faults = std::get_if<SettingsFaults>(&read)) {
    print_faults(*faults);
    return EX_CONFIG;
  }
  auto& settings = std::get<Settings>(read);
  if (arguments.check) {
    for (const std::string& warning : settings.warnings) std::fprintf(stderr, "%s\n", warning.c_str());
    if (const auto fault = missing_folder_fault(settings)) {
      std::fprintf(stderr, "%s\n", fault->c_str());
      return EX_CONFIG;
    }
    std::printf("%s is good\n", settings.file.c_str());
    return EX_OK;
  }
  return run_daemon(std::move(settings));
}

}  // namespace giftsync::daemon
