// cli: `secret rotate` and `secret show` (OPS-37).
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "cli/cli_context.h"
#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/listing.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/host_identity.h"
#include "daemon/wiring/secret_rotation.h"
#include "daemon/wiring/server_secret.h"
#include "platform/visible_text.h"
#include "schema/store/daemon_instances.h"

namespace giftsync::cli {
namespace {

/// A daemon that was not seen for that long has ended.
constexpr std::int64_t kSeenMillis = kMinuteMillis;

struct RotateSecretOptions {
  std::string grace = "30d";
  bool force = false;
  bool yes = false;

  std::int64_t grace_millis() const { return *parse_duration(grace); }
};

Check grace_of_links() {
  return {[](const std::string& text) -> std::string {
    if (parse_duration(text)) return {};
    return fmt::format(
        "found {}; allowed: a number with s, m, h or d such as 30d, at most {}d; 0 ends the former links at "
        "once",
        in_quotes(text), kMaxDurationDays);
  }};
}

std::string fingerprint_of(const wiring::ServerSecrets& secrets) {
  return sync::LinkSigner(secrets.current).fingerprint();
}

/// "web2, web3": other machines on which daemons of this store run; empty: none.
std::string other_hosts(const config::Settings& settings) {
  std::set<std::string> hosts;
  for (const auto& daemon : store::DaemonInstances(wiring::store_dsn(settings.store)).list()) {
    if (daemon.unseen_millis < kSeenMillis && daemon.instance.host != wiring::host_identity())
      hosts.insert(printable(daemon.instance.host));
  }
  return fmt::format("{}", fmt::join(hosts, ", "));
}

/// The exit code where the other machines must get the next secret before it is used; nothing where they
/// have it, or there are none.
std::optional<int> refuse_before_copies(const Console& console, const config::Settings& settings) {
  const std::string path = wiring::next_server_secret_path(settings);
  std::error_code ignored_error;
  const std::string hosts = other_hosts(settings);
  if (hosts.empty() || std::filesystem::exists(path, ignored_error)) return std::nullopt;
  wiring::prepare_next_secret(settings);
  return console.fail(
      EX_TEMPFAIL,
      fmt::format(
          "daemons of this store run on other machines too: {}. Nothing was rotated yet. Copy {} to the "
          "folder of giftsync.secret on each (mode 0600, owner giftsync), then run this again",
          hosts, path));
}

/// The exit code while links of another former secret are valid, which a second rotation would end.
std::optional<int> refuse_second(const Console& console, store::Store& store, bool force) {
  const auto rotation = wiring::secret_rotation_of(store);
  if (!rotation || rotation->links_until <= console.now() || force) return std::nullopt;
  return console.fail(
      EX_DATAERR,
      fmt::format(
          "the secret was rotated at {} UTC, and links of the former one are valid until {} UTC: wait "
          "until then, or add --force, which ends them at once",
          minute_text(rotation->rotated_at), minute_text(rotation->links_until)));
}

std::string question_of(const RotateSecretOptions& options, UtcMillis now) {
  if (options.grace_millis() == 0)
    return "Replace the server secret, and end all links in mails and CRM records so far at once?";
  return fmt::format(
      "Replace the server secret, and end all links in mails and CRM records so far at {} UTC?",
      minute_text(now + options.grace_millis()));
}

void tell_sealed_again(const Console& console, const wiring::SealedAgain& done) {
  if (done.unreadable > 0)
    console.info(fmt::format("{} of the store's sealed texts were readable with neither secret and stay.",
                             done.unreadable));
  if (!done.is_complete)
    console.info(
        "Some of the store's sealed texts are sealed with the former secret still: giftsyncd seals them "
        "again.");
}

/// The former secret of before is of use no more once nothing is sealed with it.
wiring::SealedAgain finish_former_rotation(const config::Settings& settings,
                                           const wiring::ServerSecrets& secrets, UtcMillis now) {
  return wiring::finish_rotation(settings, secrets, now, [] { return true; });
}

int rotate_opened(const Console& console, const config::Settings& settings, store::Store& store,
                  const RotateSecretOptions& options) {
  if (!store.metadata(store::kSecretFingerprintFact))
    return console.fail(EX_DATAERR,
                        "this store has no server secret yet: the first start of giftsyncd makes it");
  const wiring::ServerSecrets former = wiring::load_server_secrets(settings, store);
  const wiring::SealedAgain before = finish_former_rotation(settings, former, console.now());
  if (const auto refused = refuse_second(console, store, options.force)) return *refused;
  if (!before.is_complete)
    return console.fail(
        EX_TEMPFAIL,
        "texts of the store that the former secret sealed were changed meanwhile; nothing was "
        "rotated: run this again");
  if (const auto refused = refuse_before_copies(console, settings)) return *refused;
  if (const auto refused = refuse_unconfirmed(console, options.yes, question_of(options, console.now())))
    return *refused;
  const UtcMillis now = console.now();  // the answer may have taken long
  const std::string next = sync::LinkSigner(wiring::prepare_next_secret(settings)).fingerprint();
  audit_object(console, next, fmt::format("replaces {} --grace {}", fingerprint_of(former), options.grace));
  const auto rotated = wiring::rotate_server_secret(settings, store, former, options.grace_millis(), now);
  if (!rotated)
    return console.fail(EX_TEMPFAIL,
                        "another command rotated the secret meanwhile; \"giftsyncctl secret show\" shows it");
  tell_sealed_again(console, finish_former_rotation(settings, *rotated, now));
  console.out << fingerprint_of(*rotated) << '\n';
  console.info(
      options.grace_millis() == 0
          ? std::string("Links of the former secret end as soon as each giftsyncd sees it, within seconds.")
          : fmt::format("Links of the former secret are valid until {} UTC.",
                        minute_text(now + options.grace_millis())));
  console.info(fmt::format(
      "A running giftsyncd takes the new secret within seconds. Back up the store and {} now: the former "
      "backup's file does not fit this store any more.",
      wiring::server_secret_path(settings)));
  return EX_OK;
}

int rotate(const Console& console, const config::Settings& settings, const RotateSecretOptions& options) try {
  const auto store = open_store_alone(settings);
  if (!store) return console.fail(store.error());
  if (console.audit) console.audit->begin(**store);
  return rotate_opened(console, settings, **store, options);
} catch (const wiring::ConfigError& fault) {
  return console.fail(EX_CONFIG, fault.what());
} catch (const wiring::ServerSecretError& fault) {
  return console.fail(fault.kind() == wiring::ServerSecretError::Kind::not_written ? EX_CANTCREAT : EX_CONFIG,
                      fault.what());
}

struct ShowSecretOptions {
  bool json = false;
};

void describe_secret(ListedRow& row, const std::string& fingerprint, std::string_view state,
                     std::optional<UtcMillis> since, std::optional<UtcMillis> links_until) {
  row.add("fingerprint", {"FINGERPRINT"}, fingerprint);
  row.add("state", {"STATE"}, state);
  row.add("since", {"SINCE (UTC)"}, since);
  row.add("links_until", {"LINKS UNTIL (UTC)"}, links_until);
}

int show(const Console& console, store::Store& store, const ShowSecretOptions& options) {
  const auto fingerprint = store.metadata(store::kSecretFingerprintFact);
  const auto rotation = wiring::secret_rotation_of(store);
  Listing list(console.out, options.json);
  if (fingerprint)
    list.add([&](ListedRow& row) {
      describe_secret(row, *fingerprint, "current",
                      rotation ? std::optional(rotation->rotated_at) : std::nullopt, std::nullopt);
    });
  if (rotation)
    list.add([&](ListedRow& row) {
      describe_secret(row, rotation->former_fingerprint,
                      rotation->links_until > console.now() ? "former" : "ended", std::nullopt,
                      rotation->links_until);
    });
  list.finish();
  if (!fingerprint)
    console.info("This store has no server secret yet: the first start of giftsyncd makes it.");
  else if (rotation && !rotation->sealed_former.empty())
    console.info("The former secret is kept, sealed with the current one, until giftsyncd drops it.");
  return EX_OK;
}

void add_rotate(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RotateSecretOptions>();
  Command* verb = commands.verb(
      noun, "rotate",
      "Replace the server secret, from which all links are derived: new links come from a new one, links of "
      "the former one are valid until the grace period ends, and all that it seals in the store is sealed "
      "again. Prints the new fingerprint. A running giftsyncd takes the new secret within seconds. Where "
      "daemons run on other machines too, the first call makes giftsync.secret.next and says where to copy "
      "it, and the second call uses it. A call that was interrupted is finished by the next one: \"secret "
      "show\" says whether it has rotated.",
      {"secret rotate", "secret rotate --grace 7d --yes", "secret rotate --grace 0 --yes"});
  verb->add_option("--grace", options->grace,
                   "How long links of the former secret are valid: 12h, 30d, 0 for a secret that leaked "
                   "(default 30d)")
      ->option_text("TIME")
      ->check(grace_of_links());
  verb->add_flag("--force", options->force,
                 "Rotate although links of another former secret are valid still: they end at once");
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, rotate);
}

void add_show(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ShowSecretOptions>();
  Command* verb = commands.verb(
      noun, "show",
      "Show the fingerprints of the server secret and of the former one, since when, and until when links of "
      "the former one are valid. Never a secret.",
      {"secret show", "secret show --json"});
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run_with_store_alone(verb, options, show);
}

}  // namespace

void add_secret_commands(Commands& commands) {
  Command* noun = commands.noun("secret", "The server secret, from which all links are derived");
  add_rotate(commands, *noun);
  add_show(commands, *noun);
}

}  // namespace giftsync::cli
