#include "daemon/process.h"

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "daemon/config/read_settings.h"
#include "daemon/config/suggestion.h"
#include "daemon/daemon.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/quoted_text.h"
#include "platform/visible_text.h"
#include "schema/store/store.h"
#include "wiring/components_config.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"
#include "wiring/store_owner.h"
#include "wiring/store_preflight.h"

namespace giftsync::daemon {
namespace {

struct Arguments {
  std::string config = config::default_settings_path();
  bool check = false;
  bool offline = false;
};

/// What is wrong with the command line.
std::string argument_fault(const CLI::App& app, const CLI::ParseError& fault, int argc, char** argv) {
  const std::vector<std::string> known{"--config", "--check", "--offline", "--help", "--version"};
  for (int i = 1; i < argc; ++i) {
    const std::string argument(argv[i]);
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with('-') || app.get_option_no_throw(name) != nullptr) continue;
    const std::string suggestion = config::suggestion_for(name, known);
    return fmt::format("unknown option {}{}", platform::in_quotes(name),
                       suggestion.empty() ? "" : fmt::format("; did you mean {}?", suggestion));
  }
  return fault.what();
}

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

/// Blocks SIGHUP during the start: its default action ends the process. A pending one causes a reload once
/// the application runs.
void block_sighup() {
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
}

/// From now on a signal ends the process at once: a second SIGTERM during the stop.
void restore_fatal_signals() {
  for (const int number : {SIGTERM, SIGINT}) ::signal(number, [](int received) { ::_exit(128 + received); });
  ::signal(SIGHUP, SIG_IGN);
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

/// How long to wait for a signal between two watchdog notifications; one second without a watchdog.
timespec watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return {1, 0};
  const std::uint64_t interval = std::min<std::uint64_t>(microseconds / 4, 1'000'000);
  return {static_cast<time_t>(interval / 1'000'000), static_cast<long>(interval % 1'000'000 * 1000)};
}

/// Extends the systemd watchdog timeout while it exists: a reload checks databases that may be slow.
class WatchdogExtension {
 public:
  WatchdogExtension() {
    if (sd_watchdog_enabled(0, &configured_usec_) > 0) sd_notifyf(0, "WATCHDOG_USEC=%llu", kExtendedUsec);
  }
  ~WatchdogExtension() {
    if (configured_usec_ > 0)
      sd_notifyf(0, "WATCHDOG_USEC=%llu\nWATCHDOG=1", static_cast<unsigned long long>(configured_usec_));
  }
  WatchdogExtension(const WatchdogExtension&) = delete;
  WatchdogExtension& operator=(const WatchdogExtension&) = delete;

 private:
  static constexpr unsigned long long kExtendedUsec = 180'000'000;  // above the unit's TimeoutStopSec
  std::uint64_t configured_usec_ = 0;
};

void announce(const Daemon& daemon, const config::Settings& settings) {
  const std::vector<std::string> addresses = daemon.listen_addresses();
  spdlog::info("giftsyncd {} with {}; store: {}; CRM: {}", GIFTSYNC_VERSION, settings.file,
               wiring::store_location(settings),
               wiring::crm_capabilities(settings).has_package ? "built-in, in the store's database"
                                                              : wiring::crm_location(settings));
  for (const std::string& address : addresses) spdlog::info("listening on http://{}", address);
  sd_notifyf(0, "READY=1\nSTATUS=Listening on %s with %s", addresses.front().c_str(), settings.file.c_str());
}

/// Why the new settings cannot be used now.
std::vector<std::string> reload_faults(const config::Settings& settings) {
  std::vector<std::string> faults = wiring::local_faults(settings);
  if (!faults.empty()) return faults;
  try {
    if (wiring::existing_store_version(settings) == 0)
      return {wiring::store_location(settings) +
              ": there is no store, and a reload makes none: correct store.connection, or restart giftsyncd"};
    const schema::sql::Dsn address = wiring::store_dsn(settings.store);
    schema::store::migrate_store(address);
    schema::store::check_store_writable(address);
    return wiring::check_databases(settings).faults;
  } catch (const std::runtime_error& fault) {
    return {fault.what()};
  }
}

void log_warnings(const config::Settings& settings) {
  for (const std::string& warning : settings.warnings) spdlog::warn("{}", warning);
}

/// Reloads the settings from their file. On any fault the old ones stay in force; returns the fault's lines.
std::vector<std::string> try_reload(Daemon& daemon, config::Settings& settings) {
  auto read = config::read_settings(settings.file);
  if (!read) return read.error().lines;
  if (auto faults = reload_faults(*read); !faults.empty()) return faults;
  try {
    daemon.reload(*read);
  } catch (const std::runtime_error& fault) {
    return {fault.what()};
  }
  settings = std::move(*read);
  return {};
}

void reload(Daemon& daemon, config::Settings& settings) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
             static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000);
  const WatchdogExtension extension;
  const std::vector<std::string> faults = try_reload(daemon, settings);
  for (const std::string& line : faults) spdlog::error("{}", line);
  if (!faults.empty()) {
    daemon.record_refused_reload(faults);
    spdlog::error("the settings were not reloaded; the old ones stay in force");
    sd_notify(0, "READY=1");
    return;
  }
  platform::set_up_logging(settings.log.level, settings.log.json);
  log_warnings(settings);
  spdlog::info("settings reloaded from {}", settings.file);
  announce(daemon, settings);
}

/// Runs until SIGTERM or SIGINT.
void serve(Daemon& daemon, config::Settings& settings) {
  const sigset_t signals = watched_signals();
  const timespec interval = watchdog_interval();
  enum class Reload { none, requested, delayed } pending = Reload::none;
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &interval);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP && pending == Reload::none) pending = Reload::requested;
    if (pending != Reload::none && daemon.can_reload()) {
      pending = Reload::none;
      reload(daemon, settings);
    } else if (pending == Reload::requested && signal != SIGHUP) {
      pending = Reload::delayed;
      spdlog::info("the reload waits until a mail or request that began before the last reload has ended");
    }
    if (daemon.workers_alive()) sd_notify(0, "WATCHDOG=1");
  }
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "%s\n", platform::visible_text(line).c_str());
}

/// The settings key that leads to what has failed.
std::string address_key(const config::Settings& settings, const platform::DependencyError& fault) {
  return fault.of_external_crm() ? wiring::crm_address_key(settings) : "store.connection";
}

/// What has failed; SQLite calls a full disk "disk I/O error" while it opens the store.
std::string describe(const config::Settings& settings, const platform::DependencyError& fault) {
  const auto full = fault.of_external_crm() ? std::nullopt : wiring::full_disk_clause(settings);
  return fault.what() + (full ? "; " + *full : "");
}

/// Lists what a start with these settings would refuse; changes nothing.
int check_settings(const config::Settings& settings, bool offline) {
  print_lines(settings.warnings);
  std::vector<std::string> faults = wiring::local_faults(settings);
  if (faults.empty() && !offline) {
    try {
      wiring::DatabaseFindings found = wiring::check_databases(settings);
      print_lines(found.warnings);
      print_lines(found.unchecked);
      faults = std::move(found.faults);
    } catch (const schema::store::IncompatibleStoreError& fault) {
      faults = {wiring::store_location(settings) + ": " + fault.what()};
    } catch (const platform::DependencyError& fault) {
      print_lines({fmt::format("{} ({} in {}); --offline checks the rest", describe(settings, fault),
                               address_key(settings, fault), settings.file)});
      return EX_UNAVAILABLE;
    }
  }
  print_lines(faults);
  if (!faults.empty()) return EX_CONFIG;
  std::printf("%s is good\n", settings.file.c_str());
  return EX_OK;
}

/// More heaps would keep more free memory each, after a crowd on many threads.
void limit_heaps() {
  constexpr int kHeaps = 4;
  ::mallopt(M_ARENA_MAX, kHeaps);
}

int run_daemon(config::Settings settings) {
  limit_heaps();
  platform::set_up_logging(settings.log.level, settings.log.json);
  log_warnings(settings);
  for (const auto& fault : {wiring::store_directory_fault(settings), wiring::mail_directory_fault(settings),
                            wiring::relay_fault(settings)}) {
    if (!fault) continue;
    spdlog::error("cannot start: {}", *fault);
    return EX_CONFIG;
  }
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // all threads started later inherit the mask
  ::signal(SIGPIPE, SIG_IGN);
  try {
    platform::TrustedClock trusted_clock;
    std::optional<Daemon> daemon(std::in_place, settings, trusted_clock);
    announce(*daemon, settings);
    serve(*daemon, settings);
    sd_notify(0, "STOPPING=1");
    spdlog::info("stopping: finishing running requests and the current mail; a second signal stops at once");
    restore_fatal_signals();
    daemon.reset();
    spdlog::info("stopped");
    return EX_OK;
  } catch (const wiring::ConfigError& fault) {
    spdlog::error("{}", fault.what());
    return EX_CONFIG;
  } catch (const platform::DependencyError& fault) {
    spdlog::error("cannot start: {} ({} in {})", describe(settings, fault), address_key(settings, fault),
                  settings.file);
    return EX_UNAVAILABLE;
  } catch (const std::runtime_error& fault) {
    spdlog::error("cannot start: {}", fault.what());
    return EX_OSERR;
  }
}

}  // namespace

int run_daemon_process(int argc, char** argv) {
  block_sighup();
  CLI::App app("giftsyncd: sends digital gifts and keeps the CRM's gift records up to date.\n");
  app.footer(
      "Examples:\n  giftsyncd --config /etc/giftsync/giftsyncd.yaml\n  giftsyncd --config giftsyncd.yaml "
      "--check\n\n"
      "It runs in the foreground; SIGTERM stops it, SIGHUP reloads the settings. See giftsyncd(8).");
  Arguments arguments;
  app.add_option("-c,--config", arguments.config, "settings file")->capture_default_str();
  CLI::Option* check =
      app.add_flag("--check", arguments.check,
                   "check settings, folders, store and CRM, list every fault, and exit (0 good, "
                   "69 a database is unreachable, 78 faulty)");
  app.add_flag("--offline", arguments.offline, "with --check: leave out store and CRM")->needs(check);
  app.set_version_flag("--version", "giftsyncd " GIFTSYNC_VERSION);
  static char help_flag[] = "--help";
  static char version_flag[] = "--version";
  if (argc == 2 && argv[1] == std::string_view("help")) argv[1] = help_flag;
  if (argc == 2 && argv[1] == std::string_view("version")) argv[1] = version_flag;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version) == 0 ? EX_OK : EX_USAGE;
  } catch (const CLI::ParseError& fault) {
    std::fprintf(stderr, "giftsyncd: %s; see \"giftsyncd --help\"\n",
                 argument_fault(app, fault, argc, argv).c_str());
    return EX_USAGE;
  }
  auto read = config::read_settings(arguments.config);
  if (!read) {
    print_lines(read.error().lines);
    return EX_CONFIG;
  }
  auto& settings = *read;
  if (arguments.check) {
    // As root, --check opens what another user may have put into the store's folder.
    const auto owner = wiring::owner_to_become(settings);
    if (const auto fault = owner ? wiring::become(*owner) : std::nullopt) {
      print_lines({*fault});
      return EX_NOPERM;
    }
    return check_settings(settings, arguments.offline);
  }
  return run_daemon(std::move(settings));
}

}  // namespace giftsync::daemon
