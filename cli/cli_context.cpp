#include "cli/cli_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "daemon/config/read_settings.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/erased_addresses.h"
#include "daemon/wiring/server_secret.h"
#include "daemon/wiring/store_preflight.h"
#include "schema/store/server_check.h"
#include "sync/access/sending_budgets.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::cli {
namespace {

/// More text follows.
std::string without_full_stop(std::string text) {
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  return text;
}

/// With peer authentication the server takes the user of the operating system for its role.
bool is_root_refused(const DependencyError& fault) {
  return ::geteuid() == 0 && std::string_view(fault.what()).find("\"root\"") != std::string_view::npos;
}

std::string check_first(const config::Settings& settings, const DependencyError& fault, bool is_crm) {
  const config::StoreBackend backend = is_crm ? settings.crm.backend : settings.store.backend;
  if (backend == config::StoreBackend::postgresql) {
    if (is_root_refused(fault))
      return fmt::format(
          "the server knows no root; run it as the service's user: runuser -u giftsync -- {}...",
          program_with(settings));
    return fmt::format("check that the server runs and that {}.connection in {} leads to it",
                       is_crm ? "crm" : "store", settings.file);
  }
  // The fault names a cause that it knows, and what to do.
  const std::string& file = is_crm ? settings.crm.connection : settings.store.connection;
  if (wiring::refused_store_file(file))
    return fmt::format("{}.connection in {} names it", is_crm ? "crm" : "store", settings.file);
  const auto full = is_crm ? std::nullopt : wiring::full_disk_clause(settings);
  return full ? *full + "; free some space there"
              : "check the disk and whether another program holds the file";
}

std::string remote_crm_failure(const config::Settings& settings, const DependencyError& fault) {
  const std::string location = wiring::crm_location(settings);
  if (dynamic_cast<const UnreachableError*>(&fault) == nullptr)
    return fmt::format("{}: {}", location, fault.what());
  return fmt::format("{}: {}; check the network, and that {} in {} leads to the org", location,
                     without_full_stop(fault.what()), wiring::crm_address_key(settings), settings.file);
}

std::optional<Refusal> refuse_to_create(const config::Settings& settings, StoreAccess access) {
  if (auto fault = wiring::secret_without_store_fault(settings))
    return Refusal{access == StoreAccess::existing ? EX_NOINPUT : EX_CONFIG, {std::move(*fault)}};
  if (access == StoreAccess::existing)
    return Refusal{
        EX_NOINPUT,
        {fmt::format("{}: there is no store; correct store.connection in {}, or make a store: start "
                     "giftsyncd, or run \"giftsyncctl db migrate\"",
                     wiring::store_location(settings), settings.file)}};
  return std::nullopt;
}

}  // namespace

std::string database_failure(const config::Settings& settings, const DependencyError& fault) {
  const bool is_crm = fault.of_external_crm();
  if (is_crm && wiring::crm_capabilities(settings).is_remote) return remote_crm_failure(settings, fault);
  // A retry would fail in the same way.
  const bool is_owners = is_crm && !fault.transient();
  return fmt::format("{}: {}; {}", is_crm ? wiring::crm_location(settings) : wiring::store_location(settings),
                     without_full_stop(fault.what()),
                     is_owners ? "its owner has to correct it" : check_first(settings, fault, is_crm));
}

std::optional<Refusal> refuse_newer_tables(const config::Settings& settings, int store,
                                           const wiring::CrmUpgradePlan& crm) {
  if (auto fault = wiring::newer_tables_fault(settings, store, crm))
    return Refusal{EX_CONFIG, {std::move(*fault)}};
  return std::nullopt;
}

std::optional<Refusal> refuse_older_store(const config::Settings& settings, StoreAccess access, int version,
                                          int supported) {
  if (version == 0 || version >= supported || access == StoreAccess::create_or_upgrade) return std::nullopt;
  return Refusal{
      EX_CONFIG,
      {fmt::format(
          "{}: the store is of version {}, and this giftsyncctl works with version {}; start this version's "
          "giftsyncd to upgrade it, or run \"giftsyncctl db migrate\" while no giftsyncd runs",
          wiring::store_location(settings), version, supported)}};
}

Refusal refuse_faults(const config::Settings& settings, const std::vector<std::string>& faults) {
  Refusal refusal{EX_CONFIG, {}};
  for (const std::string& fault : faults)
    refusal.lines.push_back(fmt::format("{}: {}", settings.file, fault));
  return refusal;
}

std::optional<Refusal> refuse_unusable_crm(const config::Settings& settings) {
  const wiring::CrmCheck check = wiring::check_crm(settings);
  if (check.faults.empty()) return std::nullopt;
  return refuse_faults(settings, check.faults);
}

tl::expected<config::Settings, Refusal> read_cli_settings(const std::string& path) {
  auto read = config::read_settings(path);
  if (!read) return tl::unexpected(Refusal{EX_CONFIG, std::move(read.error().lines)});
  return std::move(*read);
}

tl::expected<std::unique_ptr<CliContext>, Refusal> open_cli_context(config::Settings settings,
                                                                    const Console& console,
                                                                    StoreAccess access) {
  if (settings.store.backend == config::StoreBackend::sqlite) {
    const bool exists = wiring::store_file_exists(settings.store.connection);
    if (auto refusal = exists ? std::nullopt : refuse_to_create(settings, access))
      return tl::unexpected(*refusal);
    if (auto refusal = prepare_store_file(settings.store.connection)) return tl::unexpected(*refusal);
  }
  const sql::Dsn address = wiring::store_dsn(settings.store);
  const store::ServerCheck server_check(address, wiring::server_file_of_daemon(settings));
  const int version = store::store_version(address);
  if (auto refusal = version > 0 ? std::nullopt : refuse_to_create(settings, access))
    return tl::unexpected(*refusal);
  if (auto refusal = refuse_newer_tables(settings, version, wiring::crm_upgrade_plan(settings)))
    return tl::unexpected(*refusal);
  if (auto refusal = refuse_older_store(settings, access, version)) return tl::unexpected(*refusal);
  if (version < store::kStoreVersion)
    store::migrate_store(address, [&](const std::string& wait) { console.info(wait); });
  wiring::migrate_crm(settings);
  if (version == 0) console.info(fmt::format("The store is new: {}", wiring::store_location(settings)));
  std::unique_ptr<crm::Crm> crm =
      wiring::make_crm(settings, wiring::LookupDuration::unlimited, ThreadCallDeadline::may_continue);
  auto ctx =
      std::unique_ptr<CliContext>(new CliContext{std::move(settings), store::Store(address), std::move(crm)});
  ctx->store.keep_feed(ctx->settings.feed.enabled);
  wiring::open_erased_addresses_if_readable(ctx->settings, ctx->store);
  return ctx;
}

void prepare_sending(const Console& console, CliContext& ctx) {
  ctx.store.gifts.set_test_mail(ctx.settings.test.mail_sender);
  ctx.store.gifts.set_frequency_rule(
      wiring::frequency_rule(ctx.settings.sending.frequency, ctx.store.do_not_send));
  ctx.store.gifts.set_sending_charge(
      [&console, rules = wiring::sending_budget_rules(ctx.settings.sending),
       budgets = sync::SetBudgets(ctx.store.sending_usage.budgets())](const store::GiftRequest& request) {
        return sync::charge_of(rules, budgets, request, console.now(), console.now());
      });
  ctx.store.gifts.set_lifecycle_stamp(sync::terms_stamper(wiring::lifecycle_terms(ctx.settings.lifecycle),
                                                          ctx.settings.lifecycle.expire_unopened_link_days));
}

std::optional<Refusal> refuse_unknown_erased_entries(CliContext& ctx) {
  if (ctx.store.do_not_send.has_erased_address_key() || !ctx.store.do_not_send.has_erased_entries())
    return std::nullopt;
  return Refusal{
      EX_CONFIG,
      {fmt::format("the list has entries of erased people, and {} cannot be read, without which they "
                   "do not compare; run this as the service's user",
                   wiring::server_secret_path(ctx.settings))}};
}

tl::expected<std::unique_ptr<store::Store>, Refusal> open_store_alone(const config::Settings& settings) {
  constexpr StoreAccess kAccess = StoreAccess::existing;
  const bool is_file = settings.store.backend == config::StoreBackend::sqlite;
  if (is_file && !wiring::store_file_exists(settings.store.connection))
    return tl::unexpected(*refuse_to_create(settings, kAccess));
  if (auto refusal = is_file ? prepare_store_file(settings.store.connection) : std::nullopt)
    return tl::unexpected(*refusal);
  const sql::Dsn address = wiring::store_dsn(settings.store);
  const store::ServerCheck server_check(address, wiring::server_file_of_daemon(settings));
  const int version = store::store_version(address);
  if (version == 0) return tl::unexpected(*refuse_to_create(settings, kAccess));
  if (auto refusal = refuse_newer_tables(settings, version, {})) return tl::unexpected(*refusal);
  if (auto refusal = refuse_older_store(settings, kAccess, version)) return tl::unexpected(*refusal);
  auto store = std::make_unique<store::Store>(address);
  store->keep_feed(settings.feed.enabled);
  wiring::open_erased_addresses_if_readable(settings, *store);
  return store;
}

namespace {

constexpr mode_t kStoreFileMode = 0640;  // it contains names and addresses of people

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

Refusal missing_directory(const std::string& path, const std::string& folder) {
  return {
      EX_CANTCREAT,
      {fmt::format(
          "{}: the store cannot be created: there is no folder {}; create it, or correct store.connection",
          path, folder)}};
}

Refusal cannot_create(const std::string& path, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  const auto refusal = wiring::refused_store_file(path);
  return {forbidden ? EX_NOPERM : EX_CANTCREAT,
          {fmt::format("{}: the store cannot be created: {}; {}", path,
                       refusal ? refusal->found : reason_of(error),
                       forbidden ? "run this as the service's user or as root (sudo)"
                       : refusal ? refusal->next_step
                                 : "check the disk")}};
}

Refusal cannot_open(const std::string& path, const wiring::FileRefusal& refusal) {
  return {
      EX_NOPERM,
      {fmt::format("{}: the store cannot be opened: {}; {}", path, refusal.found,
                   refusal.error == EACCES
                       ? "run this as the service's user or as root (sudo), which becomes the owner of the "
                         "store's folder"
                       : refusal.next_step)}};
}

/// Changes the owner only of a file that this process has just created: otherwise the folder's owner could
/// make root give away another file.
std::optional<Refusal> create_for_owner(const std::string& path, const struct stat& folder) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kStoreFileMode);
  if (file < 0 && errno == EEXIST) return std::nullopt;  // another program created it first
  if (file < 0) return cannot_create(path, errno);
  const bool for_another = geteuid() == 0 && (folder.st_uid != 0 || folder.st_gid != 0);
  const int refused = for_another && fchown(file, folder.st_uid, folder.st_gid) != 0 ? errno : 0;
  close(file);
  if (refused == 0) return std::nullopt;
  unlink(path.c_str());
  return cannot_create(path, refused);
}

}  // namespace

std::optional<Refusal> prepare_store_file(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  struct stat found {};
  const bool has_folder = stat(folder.c_str(), &found) == 0 ? S_ISDIR(found.st_mode) : errno == EACCES;
  if (!has_folder) return missing_directory(path, folder);
  if (!wiring::store_file_exists(path)) {
    if (auto refusal = create_for_owner(path, found)) return refusal;
  }
  const auto refusal = wiring::refused_store_file(path);
  return refusal ? std::optional(cannot_open(path, *refusal)) : std::nullopt;
}

}  // namespace giftsync::cli
