#include "cli/account/credential_pauses.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/account/key_commands.h"
#include "cli/command_audit.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "sync/access/credential.h"
#include "sync/access/credential_changes.h"

namespace giftsync::cli {
namespace {

using Change = sync::CredentialChange;

struct PauseOptions {
  std::string of;  ///< the first characters of the key or token, or the key's name
  std::string reason;
};

/// The audit event names a key by its first characters, and an organization by its name.
void audit_credential(const Console& console, const store::Credential& credential,
                      const std::string& reason) {
  if (credential.kind == CredentialKind::api_key) return audit_object(console, credential.prefix);
  audit_object(console, credential.owner,
               "token " + credential.prefix + (reason.empty() ? "" : " --reason " + reason));
}

void pause(const Console& console, store::Store& store, const store::Credential& credential,
           const std::string& reason) {
  const std::string owner = printable(credential.owner);
  audit_credential(console, credential, reason);
  switch (sync::pause_credential(store.credentials, credential, reason, console.now())) {
    case Change::done:
      console.info(
          fmt::format("{} of {} is paused: within a second its calls that would send get 403. \"giftsyncctl "
                      "{}\" ends it.",
                      credential.prefix, owner, sync::release_command(credential)));
      return;
    case Change::already:
      console.info(fmt::format("{} of {} is already paused (since {} UTC{}{}).", credential.prefix, owner,
                               minute_text(credential.paused_at), credential.pause_reason.empty() ? "" : ": ",
                               printable(credential.pause_reason)));
      return;
    case Change::unusable:
      console.info(fmt::format("{} of {} is already {}: it sends nothing.", credential.prefix, owner,
                               to_word(sync::state_of(credential, console.now()))));
  }
}

int release(const Console& console, store::Store& store, const store::Credential& credential) {
  const std::string owner = printable(credential.owner);
  audit_credential(console, credential, "");
  const Change change = sync::release_credential(store, credential, console.now());
  if (change == Change::unusable)
    return console.fail(EX_DATAERR,
                        fmt::format("{} of {} is {}: nothing lets it send again", credential.prefix, owner,
                                    to_word(sync::state_of(credential, console.now()))));
  console.info(fmt::format("{} of {} {}.", credential.prefix, owner,
                           change == Change::done ? "may send again" : "may send already: it is not paused"));
  return EX_OK;
}

int pause_keys(const Console& console, store::Store& store, const PauseOptions& options) {
  const auto keys = find_api_keys(store, options.of, console.now());
  if (!keys) return console.fail(EX_DATAERR, keys.error());
  for (const store::Credential& key : *keys) pause(console, store, key, options.reason);
  return EX_OK;
}

int release_keys(const Console& console, store::Store& store, const PauseOptions& options) {
  const auto keys = find_api_keys(store, options.of, console.now());
  if (!keys) return console.fail(EX_DATAERR, keys.error());
  int code = EX_OK;
  for (const store::Credential& key : *keys) code = std::max(code, release(console, store, key));
  return code;
}

int pause_token(const Console& console, store::Store& store, const PauseOptions& options) {
  const auto token = find_token(store, options.of);
  if (!token) return console.fail(EX_DATAERR, token.error());
  pause(console, store, *token, options.reason);
  return EX_OK;
}

int release_token(const Console& console, store::Store& store, const PauseOptions& options) {
  const auto token = find_token(store, options.of);
  if (!token) return console.fail(EX_DATAERR, token.error());
  return release(console, store, *token);
}

void add_reason(Command& verb, PauseOptions& options) {
  verb.add_option("--reason", options.reason, "Why, for the other admins; callers do not see it")
      ->option_text("TEXT")
      ->check(plain_reason());
}

void add_key(Command& verb, PauseOptions& options) {
  verb.add_option("KEY", options.of,
                  "The key's name, or its first characters, enough to be unique; gsk_live_ may be left out")
      ->required();
}

void add_token(Command& verb, PauseOptions& options) {
  verb.add_option("PREFIX", options.of,
                  "The token's first characters, enough to be unique; got_live_ may be left out")
      ->required();
}

}  // namespace

void add_key_pause_commands(Commands& commands, Command& key) {
  const auto options = std::make_shared<PauseOptions>();
  Command* verb = commands.verb(
      key, "pause",
      "Pause a key, until \"key release\": within a second each call with it that would create a gift or a "
      "request record gets 403 (key_paused), also a repeat under an Idempotency-Key. Reading and approving "
      "go on, and so do the gifts that it asked for before. A name stands for all its keys.",
      {"key pause gsk_live_x3Kd9aQ", "key pause website --reason \"runaway flow\""});
  add_key(*verb, *options);
  add_reason(*verb, *options);
  commands.run_with_store_alone(verb, options, pause_keys);
  const auto released = std::make_shared<PauseOptions>();
  verb = commands.verb(key, "release", "Let a paused key send again.",
                       {"key release gsk_live_x3Kd9aQ", "key release website"});
  add_key(*verb, *released);
  commands.run_with_store_alone(verb, released, release_keys);
}

void add_token_pause_commands(Commands& commands, Command& organization) {
  const auto options = std::make_shared<PauseOptions>();
  Command* verb = commands.verb(
      organization, "pause-token",
      "Pause a token, until \"organization release-token\": within a second each call of the CRM's sending "
      "interface with it gets 403 (key_paused). Request records that are approved in the CRM are still sent.",
      {"organization pause-token got_live_x3Kd9aQ",
       "organization pause-token x3K --reason \"wrong campaign\""});
  add_token(*verb, *options);
  add_reason(*verb, *options);
  commands.run_with_store_alone(verb, options, pause_token);
  const auto released = std::make_shared<PauseOptions>();
  verb = commands.verb(organization, "release-token", "Let a paused token send again.",
                       {"organization release-token got_live_x3Kd9aQ", "organization release-token x3K"});
  add_token(*verb, *released);
  commands.run_with_store_alone(verb, released, release_token);
}

}  // namespace giftsync::cli
