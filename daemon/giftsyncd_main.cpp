// giftsyncd: the daemon as a process: arguments, signals, systemd. SIGTERM and SIGINT stop it cleanly, a
// second signal stops it at once. SIGHUP reloads the settings; faulty settings leave the old ones in force.
//
// Exit codes are sysexits: 0, 64 usage, 69 store or CRM unreachable, 71 address in use, 78 faulty settings, a
// CRM that does not match them, or newer tables.
#include <Poco/Util/HelpFormatter.h>
#include <Poco/Util/OptionException.h>
#include <Poco/Util/ServerApplication.h>
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "daemon/config/read_settings.h"
#include "daemon/daemon.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

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

/// The listening sockets that systemd keeps from one process to the next (FileDescriptorStoreMax), or has
/// opened itself (a socket unit): while the daemon is restarted connections wait and none is refused
/// (OPS-39).
class KeptSockets {
 public:
  /// Takes those that this process got.
  KeptSockets() {
    char** names = nullptr;
    const int count = sd_listen_fds_with_names(1, &names);
    for (int i = 0; i < count; ++i) {
      const int socket = SD_LISTEN_FDS_START + i;
      const std::string address = http::address_of_socket(socket).value_or("no TCP address");
      inherited_[address] = socket;
      (names[i] == name_of(address) ? kept_ : of_units_).insert(address);
      ::free(names[i]);
    }
    ::free(names);
  }

  std::vector<int> inherited() const {
    std::vector<int> sockets;
    for (const auto& [address, socket] : inherited_) sockets.push_back(socket);
    return sockets;
  }

  /// Before the daemon listens as `settings` say: what systemd keeps besides is closed, so that connections
  /// there are refused and the address may be opened in another way. Logs what a socket unit opened besides.
  void leave_others(const config::Settings& settings) {
    std::set<std::string> named;
    for (const std::string& listen :
         {settings.server.listen, settings.server.admin_listen, settings.metrics.listen})
      if (!listen.empty()) named.insert(http::resolved_address(listen));
    leave([&](const std::string& address) { return !named.contains(address); });
    for (const std::string& address : of_units_)
      if (!named.contains(address))
        log_event(
            LogEvent::socket_unit_unused,
            fmt::format(
                "a socket unit of systemd listens on {}, where the daemon will not answer: write the same "
                "address in its ListenStream and in server.listen, server.admin_listen or metrics.listen, "
                "then restart both",
                address));
  }

  /// The start has failed: connections are refused, as long as no process can answer them.
  void leave_all() {
    leave([](const std::string&) { return true; });
  }

  /// Lets systemd keep what the daemon listens on.
  void keep(Daemon& daemon) {
    const std::vector<std::string> addresses = daemon.listen_addresses();
    const std::vector<int> sockets = daemon.listening_sockets();
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::string state = "FDSTORE=1\nFDNAME=" + name_of(addresses[i]);
      const bool is_of_unit = of_units_.contains(addresses[i]);
      if (!is_of_unit && sd_pid_notify_with_fds(0, 0, state.c_str(), &sockets[i], 1) <= 0) continue;
      if (!is_of_unit) kept_.insert(addresses[i]);
      daemon.expect_successor();
    }
  }

 private:
  /// A name has no colon.
  static std::string name_of(std::string address) {
    std::ranges::replace(address, ':', '/');
    return address;
  }

  template <class Condition>
  void leave(Condition is_left) {
    constexpr std::uint64_t kBarrierMicros = 5'000'000;
    const auto left = std::erase_if(kept_, [&](const std::string& address) {
      if (!is_left(address)) return false;
      if (const auto socket = inherited_.extract(address)) ::close(socket.mapped());
      sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name_of(address).c_str());
      return true;
    });
    if (left > 0) sd_notify_barrier(0, kBarrierMicros);  // systemd has closed its copies
  }

  std::map<std::string, int> inherited_;  ///< by address
  std::set<std::string> kept_;            ///< addresses
  std::set<std::string> of_units_;        ///< addresses
};

void announce(const Daemon& daemon, const config::Settings& settings) {
  log_event(LogEvent::daemon_started,
            fmt::format("giftsyncd {} with {}; store: {}; CRM: {}", GIFTSYNC_VERSION, settings.file,
                        wiring::store_location(settings),
                        wiring::crm_capabilities(settings).has_package ? "built-in, in the store's database"
                                                                       : wiring::crm_location(settings)));
  for (const std::string& url : daemon.listen_urls())
    log_event(LogEvent::daemon_listens, "listening on " + url);
  sd_notifyf(0, "READY=1\nSTATUS=Listening on %s with %s", daemon.listen_addresses().front().c_str(),
             settings.file.c_str());
}

/// What a start or reload with these settings would refuse, as far as this machine's files show.
std::vector<std::string> local_faults(const config::Settings& settings) {
  std::vector<std::string> faults = wiring::local_faults(settings);
  if (auto tls = make_tls(settings, system_now()); !tls) faults.push_back(std::move(tls.error()));
  return faults;
}

/// Why the new settings cannot be used now.
std::vector<std::string> reload_faults(const config::Settings& settings) {
  std::vector<std::string> faults = local_faults(settings);
  if (!faults.empty()) return faults;
  try {
    if (wiring::existing_store_version(settings) == 0)
      return {wiring::store_location(settings) +
              ": there is no store, and a reload makes none: correct store.connection, or restart giftsyncd"};
    const sql::Dsn address = wiring::store_dsn(settings.store);
    store::migrate_store(address);
    store::check_store_writable(address);
    return wiring::check_databases(settings).faults;
  } catch (const std::runtime_error& fault) {
    return {fault.what()};
  }
}

void log_warnings(const config::Settings& settings) {
  for (const std::string& warning : settings.warnings) log_event(LogEvent::settings_warning, warning);
}

/// Reloads the settings from their file. On any fault the old ones stay in force; returns the fault's lines.
std::vector<std::string> try_reload(Daemon& daemon, config::Settings& settings, KeptSockets& sockets) {
  auto read = config::read_settings(settings.file);
  if (!read) return read.error().lines;
  auto faults = reload_faults(*read);
  if (!faults.empty()) return faults;
  try {
    sockets.leave_others(*read);
    daemon.reload(*read);
    settings = std::move(*read);
  } catch (const std::runtime_error& fault) {
    faults = {fault.what()};
  }
  sockets.keep(daemon);
  return faults;
}

void reload(Daemon& daemon, config::Settings& settings, KeptSockets& sockets) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
             static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000);
  const WatchdogExtension extension;
  const std::vector<std::string> faults = try_reload(daemon, settings, sockets);
  for (const std::string& line : faults) log_event(LogEvent::reload_refused, line);
  if (!faults.empty()) {
    daemon.record_refused_reload(faults);
    log_event(LogEvent::reload_refused, "the settings were not reloaded; the old ones stay in force");
    sd_notify(0, "READY=1");
    return;
  }
  set_up_logging(settings.log.level, settings.log.json);
  log_warnings(settings);
  log_event(LogEvent::settings_reloaded, fmt::format("settings reloaded from {}", settings.file));
  announce(daemon, settings);
}

/// Runs until SIGTERM or SIGINT. Throws ConfigError when the daemon has lost its server secret.
void serve(Daemon& daemon, config::Settings& settings, KeptSockets& sockets) {
  const sigset_t signals = watched_signals();
  const timespec interval = watchdog_interval();
  enum class Reload { none, requested, delayed } pending = Reload::none;
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &interval);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP && pending == Reload::none) pending = Reload::requested;
    if (pending != Reload::none && daemon.can_reload()) {
      pending = Reload::none;
      reload(daemon, settings, sockets);
    } else if (pending == Reload::requested && signal != SIGHUP) {
      pending = Reload::delayed;
      log_event(LogEvent::reload_waits,
                "the reload waits until a mail or request that began before the last reload has ended");
    }
    daemon.check_certificate(settings);
    if (daemon.should_follow_rotation(settings)) {
      const WatchdogExtension extension;
      daemon.follow_rotation(settings);
    }
    if (daemon.workers_alive()) sd_notify(0, "WATCHDOG=1");
  }
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "%s\n", visible_text(line).c_str());
}

/// The settings key that leads to what has failed.
std::string address_key(const config::Settings& settings, const DependencyError& fault) {
  return fault.of_external_crm() ? wiring::crm_address_key(settings) : "store.connection";
}

/// What has failed; SQLite calls a full disk "disk I/O error" while it opens the store.
std::string describe(const config::Settings& settings, const DependencyError& fault) {
  const auto full = fault.of_external_crm() ? std::nullopt : wiring::full_disk_clause(settings);
  return fault.what() + (full ? "; " + *full : "");
}

/// Lists what a start with these settings would refuse, and a certificate that clients would; changes
/// nothing.
int check_settings(const config::Settings& settings, bool offline) {
  const UtcMillis now = system_now();
  print_lines(settings.warnings);
  std::vector<std::string> faults = local_faults(settings);
  if (const auto tls = make_tls(settings, now)) {
    print_lines(tls_warnings(settings, tls->get(), now));
    if (auto fault = tls_date_fault(settings, tls->get(), now)) faults.push_back(std::move(*fault));
  }
  if (faults.empty() && !offline) {
    try {
      wiring::DatabaseFindings found = wiring::check_databases(settings);
      print_lines(found.warnings);
      print_lines(found.unchecked);
      faults = std::move(found.faults);
    } catch (const store::IncompatibleStoreError& fault) {
      faults = {wiring::store_location(settings) + ": " + fault.what()};
    } catch (const DependencyError& fault) {
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

/// Until it is stopped; returns the exit code.
int run_daemon(config::Settings& settings, KeptSockets& sockets) {
  limit_heaps();
  set_up_logging(settings.log.level, settings.log.json);
  log_warnings(settings);
  const auto tls = make_tls(settings, system_now());
  for (const auto& fault : {wiring::store_directory_fault(settings), wiring::mail_directory_fault(settings),
                            wiring::relay_fault(settings), tls ? std::nullopt : std::optional(tls.error())}) {
    if (!fault) continue;
    log_event(LogEvent::daemon_failed, fmt::format("cannot start: {}", *fault));
    return EX_CONFIG;
  }
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // all threads started later inherit the mask
  ::signal(SIGPIPE, SIG_IGN);
  try {
    TrustedClock trusted_clock;
    sockets.leave_others(settings);
    std::optional<Daemon> daemon(std::in_place, settings, trusted_clock, sockets.inherited());
    sockets.keep(*daemon);
    announce(*daemon, settings);
    serve(*daemon, settings, sockets);
    sd_notify(0, "STOPPING=1");
    log_event(LogEvent::daemon_stopping,
              "stopping: finishing running requests, and mails that the relay has received; a second signal "
              "stops at once");
    restore_fatal_signals();
    daemon.reset();
    log_event(LogEvent::daemon_stopped, "stopped");
    return EX_OK;
  } catch (const wiring::ConfigError& fault) {
    log_event(LogEvent::daemon_failed, fault.what());
    return EX_CONFIG;
  } catch (const DependencyError& fault) {
    log_event(LogEvent::daemon_failed, fmt::format("cannot start: {} ({} in {})", describe(settings, fault),
                                                   address_key(settings, fault), settings.file));
    return EX_UNAVAILABLE;
  } catch (const std::runtime_error& fault) {
    log_event(LogEvent::daemon_failed, fmt::format("cannot start: {}", fault.what()));
    return EX_OSERR;
  }
}

constexpr const char* kHeader =
    "giftsyncd: sends digital gifts and keeps the CRM's gift records up to date.\n\nOptions:";
constexpr const char* kFooter =
    "\nExamples:\n  giftsyncd --config /etc/giftsync/giftsyncd.yaml\n  giftsyncd --config giftsyncd.yaml "
    "--check\n\n"
    "It runs in the foreground; SIGTERM stops it, SIGHUP reloads the settings. See giftsyncd(8).\n";

/// The process by Poco's life cycle: options, then main(). Poco's own options (--daemon, --pidfile, --umask)
/// do not exist here: the unit of systemd says what they say. Signals are watched by serve(), which knows
/// SIGHUP and the watchdog.
class Giftsyncd : public Poco::Util::ServerApplication {
 public:
  /// Returns the exit code.
  int run_with(int argc, char** argv) {
    try {
      init(argc, argv);
    } catch (const Poco::Util::OptionException& fault) {
      return usage_error(option_fault(fault, argc, argv));
    }
    return ServerApplication::run();
  }

 protected:
  using Option = Poco::Util::Option;

  void defineOptions(Poco::Util::OptionSet& options) override {
    options.addOption(Option("help", "h", "print this help and exit"));
    options.addOption(Option("version", "", "print the version and exit"));
    options.addOption(Option("config", "c", "settings file, by default " + config_).argument("FILE"));
    options.addOption(
        Option("check", "",
               "check settings, folders, store and CRM, list every fault, and exit (0 good, 69 a "
               "database is unreachable, 78 faulty)"));
    options.addOption(Option("offline", "", "with --check: leave out store and CRM"));
  }

  void handleOption(const std::string& name, const std::string& value) override {
    if (name == "config") config_ = value;
    given_.insert(name);
    if (name == "help" || name == "version") stopOptionsProcessing();
  }

  int main(const std::vector<std::string>& rest) override { return run_command(rest); }

 private:
  /// An exception that nothing expects ends the process with a core: Poco would hide it in a logger of its
  /// own.
  int run_command(const std::vector<std::string>& rest) noexcept {
    const std::string word =
        rest.empty() || given_.contains("help") || given_.contains("version") ? "" : rest.front();
    if (given_.contains("help") || (word == "help" && rest.size() == 1)) return print_help();
    if (given_.contains("version") || (word == "version" && rest.size() == 1)) {
      std::puts("giftsyncd " GIFTSYNC_VERSION);
      return EX_OK;
    }
    if (!rest.empty())
      return usage_error(fmt::format("found {}; giftsyncd takes options only", in_quotes(word)));
    if (given_.contains("offline") && !given_.contains("check"))
      return usage_error("--offline needs --check");
    auto settings = config::read_settings(config_);
    if (!settings) {
      print_lines(settings.error().lines);
      return EX_CONFIG;
    }
    if (given_.contains("check")) return check(*settings);
    KeptSockets sockets;
    const int code = run_daemon(*settings, sockets);
    if (code != EX_OK) sockets.leave_all();
    return code;
  }

  static int usage_error(const std::string& fault) {
    std::fprintf(stderr, "giftsyncd: %s; see \"giftsyncd --help\"\n", visible_text(fault).c_str());
    return EX_USAGE;
  }

  /// What is wrong with the command line.
  std::string option_fault(const Poco::Util::OptionException& fault, int argc, char** argv) const {
    std::vector<std::string> known;
    for (const Option& option : options()) known.push_back("--" + option.fullName());
    for (int i = 1; i < argc; ++i) {
      const std::string argument(argv[i]);
      const std::string name = argument.substr(0, argument.find('='));
      if (!name.starts_with('-') || name == "-c" || name == "-h" ||
          std::ranges::find(known, name) != known.end())
        continue;
      const std::string suggestion = suggestion_for(name, known);
      return fmt::format("unknown option {}{}", in_quotes(name),
                         suggestion.empty() ? "" : fmt::format("; did you mean {}?", suggestion));
    }
    if (dynamic_cast<const Poco::Util::MissingArgumentException*>(&fault)) return "--config needs a file";
    return "an option has a value that it does not take, or is given twice: " + fault.message();
  }

  int print_help() const {
    Poco::Util::HelpFormatter help(options());
    help.setUnixStyle(true);
    help.setCommand("giftsyncd");
    help.setUsage("[OPTIONS]");
    help.setHeader(kHeader);
    help.setFooter(kFooter);
    help.setWidth(120);
    help.format(std::cout);
    return std::cout.flush() ? EX_OK : EX_IOERR;
  }

  int check(const config::Settings& settings) const {
    // As root, --check opens what another user may have put into the store's folder.
    const auto owner = wiring::owner_to_become(settings);
    if (const auto fault = owner ? wiring::become(*owner) : std::nullopt) {
      print_lines({*fault});
      return EX_NOPERM;
    }
    return check_settings(settings, given_.contains("offline"));
  }

  std::string config_ = config::default_settings_path();
  std::set<std::string> given_;
};

}  // namespace
}  // namespace giftsync::daemon

int giftsyncd_main(int argc, char** argv) {
  giftsync::daemon::block_sighup();
  giftsync::daemon::Giftsyncd process;
  return process.run_with(argc, argv);
}
