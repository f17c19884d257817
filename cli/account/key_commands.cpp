#include "cli/account/key_commands.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "cli/account/credential_pauses.h"
#include "cli/command_audit.h"
#include "cli/console.h"
#include "cli/day_or_time.h"
#include "cli/listing.h"
#include "daemon/wiring/components_config.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"
#include "sync/access/credential_changes.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kMaxKeyNameCodePoints = 64;

Json scopes_json(const std::set<Scope>& scopes) {
  Json words = Json::array();
  for (const Scope scope : scopes) words.push_back(to_word(scope));
  return words;
}

/// Stores a key with the account, name and scopes of `wanted`, for tests if its prefix is, and prints it, or
/// with --json also what `key list --json` shows of a new one. Returns its first characters. The audit event
/// is about the key, or about the account that is created with it.
std::string issue_key(const Console& console, CliContext& ctx, const store::Credential& wanted, bool json,
                      const std::string& new_account = {}) {
  const bool is_test = is_test_key(wanted.prefix);
  sync::NewCredential key = sync::make_credential(CredentialKind::api_key, console.now(), is_test);
  key.account = wanted.account;
  key.name = wanted.name;
  key.scopes = wanted.scopes;
  if (new_account.empty())
    audit_object(console, key.prefix);
  else
    audit_object(console, new_account, "key " + key.prefix);
  ctx.store.credentials.insert(key);
  const Json shown{{"key", key.text},
                   {"prefix", key.prefix},
                   {"name", text_or_null(key.name)},
                   {"account", wanted.owner},
                   {"scopes", scopes_json(key.scopes)},
                   {"created_at", json_time(key.created_at)}};
  console.out << (json ? json_text(shown, 2) : key.text) << std::endl;
  console.info(fmt::format("This key is shown only now; listings show it as {}...", key.prefix));
  return key.prefix;
}

struct NewKeyOptions {
  std::string account;
  std::string name;
  std::vector<std::string> scopes{"send", "read", "request"};
  bool test = false;
  bool json = false;
};

/// With the scopes of the options.
store::Credential key_of(const store::Account& account, const NewKeyOptions& options) {
  store::Credential key{.account = account.id, .owner = account.email};
  for (const std::string& word : options.scopes) key.scopes.insert(*scope_from_word(word));
  return key;
}

/// A usable key of the account with this name: a second one could not be distinguished from it.
std::optional<store::Credential> find_namesake(const Console& console, CliContext& ctx, AccountId account,
                                               const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const store::Credential& key : ctx.store.credentials.list(CredentialKind::api_key)) {
    if (key.account == account && key.name == name && sync::is_usable(sync::state_of(key, console.now())))
      return key;
  }
  return std::nullopt;
}

Check key_name() {
  return {
      [](const std::string& text) -> std::string {
        if (trimmed(text).starts_with("gsk_"))
          return "found a text that begins with gsk_, as keys do; allowed: any other name";
        if (!trimmed(text).empty() && is_plain_line(text) && count_code_points(text) <= kMaxKeyNameCodePoints)
          return {};
        return fmt::format("found {}; allowed: 1 to {} printable characters", in_quotes(text),
                           kMaxKeyNameCodePoints);
      },
      ""};
}

int create_key(const Console& console, CliContext& ctx, const NewKeyOptions& options) {
  const auto account = ctx.store.accounts.find_by_email(options.account);
  if (!account) {
    return console.fail(
        EX_DATAERR, fmt::format("--account: there is no account {}; \"giftsyncctl account list\" shows them",
                                in_quotes(options.account)));
  }
  const std::string name(trimmed(options.name));
  if (const auto namesake = find_namesake(console, ctx, account->id, name)) {
    return console.fail(
        EX_DATAERR,
        fmt::format("--name: {} already has a key named {} ({}); \"giftsyncctl key rotate\" replaces it",
                    account->email, in_quotes(name), namesake->prefix));
  }
  store::Credential wanted = key_of(*account, options);
  wanted.name = name;
  if (options.test) wanted.prefix = kTestKeyPrefix;
  issue_key(console, ctx, wanted, options.json);
  if (options.test && !ctx.settings.test.enabled)
    console.info("test.enabled in the settings is false: the key is refused (403) until you set it to true.");
  if (!has_api_access(account->plan))
    console.info(
        "The account's plan has no API access: the key is refused (403) until you change the plan with "
        "\"giftsyncctl account set-plan\".");
  if (!account->active)
    console.info("The account is deactivated: the key is refused (401) until it is activated.");
  return EX_OK;
}

Json json_of(const store::Credential& key, UtcMillis now) {
  return {{"prefix", key.prefix},
          {"name", text_or_null(key.name)},
          {"account", key.owner},
          {"scopes", scopes_json(key.scopes)},
          {"state", to_word(sync::state_of(key, now))},
          {"created_at", json_time(key.created_at)},
          {"expires_at", json_time(key.expires_at)},
          {"revoked_at", json_time(key.revoked_at)},
          {"paused_at", json_time(key.paused_at)},
          {"pause_reason", text_or_null(key.pause_reason)},
          {"last_used_at", json_time(key.last_used_at)}};
}

int list_keys(const Console& console, store::Store& store, bool json) {
  const auto keys = store.credentials.list(CredentialKind::api_key);
  const UtcMillis now = console.now();
  Listing list(console.out, json);
  for (const store::Credential& key : keys) {
    list.add([&](ListedRow& row) {
      if (row.is_json()) return row.set_json(json_of(key, now));
      row.add_cell({"PREFIX"}, key.prefix);
      row.add_cell({"NAME", ListedRow::Kind::elastic}, key.name);
      row.add_cell({"ACCOUNT", ListedRow::Kind::elastic}, key.owner);
      row.add_cell({"SCOPES"}, to_words(key.scopes));
      row.add_cell({"STATE"}, std::string(to_word(sync::state_of(key, now))));
      row.add_cell({"CREATED (UTC)"}, minute_text(key.created_at));
      row.add_cell({"LAST USED (UTC)"}, key.last_used_at ? minute_text(key.last_used_at) : "never");
      row.add_cell({"ENDS (UTC)"}, minute_text(key.revoked_at ? key.revoked_at : key.expires_at));
    });
  }
  list.finish();
  if (keys.empty() && !json)
    console.info("No keys yet; \"giftsyncctl key create --account EMAIL\" creates one.");
  return EX_OK;
}

std::string ambiguous(const std::vector<store::Credential>& found, const std::string& word, bool is_by_name) {
  std::string prefixes;
  for (const store::Credential& key : found) prefixes.append(prefixes.empty() ? "" : ", ").append(key.prefix);
  return fmt::format("{} matches {} keys: {}; {}", in_quotes(word), found.size(), prefixes,
                     is_by_name ? "give the first characters of one of them" : "give more characters");
}

/// The key whose name or full text is `word`, or else that starts with `word`, with or without gsk_live_
/// or gsk_test_. Prefers usable keys over others, and of those with the name the one that was not replaced.
/// Otherwise the error: no such key, or the keys that match.
tl::expected<store::Credential, std::string> find_api_key(store::Store& store, const std::string& word,
                                                          UtcMillis now) {
  const auto is_usable = [now](const store::Credential& key) {
    return sync::is_usable(sync::state_of(key, now));
  };
  const std::vector<store::Credential> keys = store.credentials.list(CredentialKind::api_key);
  std::vector<store::Credential> found;
  for (const store::Credential& key : keys) {
    if (!word.empty() && key.name == word) found.push_back(key);
  }
  const bool is_by_name = !found.empty();
  for (const store::Credential& key : keys) {
    if (!is_by_name && sync::is_meant_by(key, word)) found.push_back(key);
  }
  if (std::any_of(found.begin(), found.end(), is_usable))
    std::erase_if(found, [&](const auto& key) { return !is_usable(key); });
  if (is_by_name && found.size() > 1 && is_usable(found.front())) {
    std::vector<store::Credential> current = found;
    std::erase_if(current, [](const auto& key) { return key.expires_at.has_value(); });
    if (current.size() == 1) return current.front();
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) return tl::unexpected(ambiguous(found, word, is_by_name));
  // A whole key is a secret and must not be printed.
  const std::string shown = sync::is_credential(CredentialKind::api_key, word) ? "this" : in_quotes(word);
  return tl::unexpected(
      fmt::format("no key begins with {} or has that name; \"giftsyncctl key list\" shows them", shown));
}

int revoke_key(const Console& console, store::Store& store, const RevokeOptions& options) {
  const auto keys = find_api_keys(store, options.of, console.now());
  if (!keys) return console.fail(EX_DATAERR, keys.error());
  if (const auto refused = refuse_revocation(console, keys->front(), "key", options.yes)) return *refused;
  for (const store::Credential& credential : *keys) {
    audit_object(console, credential.prefix, "of " + credential.owner);
    revoke(console, store, credential);
  }
  return EX_OK;
}

int rotate_key(const Console& console, CliContext& ctx, const RotateOptions& options) {
  const UtcMillis now = console.now();
  const auto old = find_api_key(ctx.store, options.of, now);
  if (!old) return console.fail(EX_DATAERR, old.error());
  const sync::CredentialState state = sync::state_of(*old, now);
  if (!sync::is_usable(state)) {
    return console.fail(EX_DATAERR,
                        fmt::format("{} is {}; create a new key: giftsyncctl key create --account {}",
                                    old->prefix, to_word(state), shell_word(old->owner)));
  }
  const std::string prefix = issue_key(console, ctx, *old, options.json);
  audit_object(console, old->prefix, "replaced by " + prefix);
  end_replaced(console, ctx, *old, prefix, options);
  return EX_OK;
}

std::vector<std::string> scope_names() {
  std::vector<std::string> names;
  for (const Scope scope : kAllScopes) names.emplace_back(to_word(scope));
  return names;
}

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<NewKeyOptions>();
  Command* verb = commands.verb(noun, "create",
                                "Create an API key. Prints only the key on stdout; it is shown only once.",
                                {"key create --account rose@example.com --name website",
                                 "key create --account rose@example.com --scope send,read",
                                 "key create --account rose@example.com --scope read,report --name nightly",
                                 "key create --account rose@example.com --name trial --test"});
  verb->add_option("--account", options->account, "The account's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--name", options->name,
                   "What you call the key, such as the system that uses it; listings show it, and \"key "
                   "revoke\" and \"key rotate\" find the key by it")
      ->option_text("NAME")
      ->check(key_name());
  verb->add_option("--scope", options->scopes,
                   "The scopes of the key: send, read, request, approve, report (reads the gifts of its "
                   "organization, or of all), manage (cancels, resends, extends gifts), webhooks (has events "
                   "posted); default "
                   "send,read,request")
      ->delimiter(',')
      ->option_text("SCOPE,...")
      ->check(one_of(scope_names()));
  verb->add_flag("--test", options->test,
                 "A test key (gsk_test_...): its gifts reach neither recipients nor the CRM");
  verb->add_flag("--json", options->json, "Print JSON, with the key");
  commands.run(verb, options, create_key);
}

void add_list(Commands& commands, Command& noun) {
  Command* verb = commands.verb(
      noun, "list",
      "List all keys by their first characters, with their names and the time of their last use.",
      {"key list", "key list --json"});
  commands.run_with_store_alone(verb, json_flag(verb, "Print a JSON array"), list_keys);
}

void add_revoke(Commands& commands, Command& noun) {
  Command* verb = commands.verb(noun, "revoke",
                                "Revoke a key. It stops working now. This cannot be undone. A name stands "
                                "for all its keys, also one that "
                                "was rotated and is in its grace period.",
                                {"key revoke gsk_live_x3Kd9aQ", "key revoke website --yes"});
  const auto options = std::make_shared<RevokeOptions>();
  verb->add_option("KEY", options->of,
                   "The key's name, or its first characters, enough to be unique; gsk_live_ may be left out")
      ->required();
  add_yes_flag(*verb, options->yes);
  commands.run_with_store_alone(verb, options, revoke_key);
}

void add_rotate(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RotateOptions>();
  Command* verb = commands.verb(
      noun, "rotate",
      "Create a key that replaces an old one. Prints only the new key on stdout; the old key works until the "
      "grace period ends.",
      {"key rotate website", "key rotate gsk_live_x3Kd9aQ --grace 7d", "key rotate x3K --grace 0"});
  verb->add_option("KEY", options->of, "The old key's name, or its first characters, enough to be unique")
      ->required();
  add_grace_option(*verb, *options,
                   "How long the old key still works: 90s, 30m, 24h, 7d; 0 ends it now (default 24h)");
  verb->add_flag("--json", options->json, "Print JSON, with the new key");
  commands.run(verb, options, rotate_key);
}

}  // namespace

void issue_first_key(const Console& console, CliContext& ctx, const store::Account& account) {
  issue_key(console, ctx, key_of(account, {}), false, account.email);
}

void add_key_commands(Commands& commands) {
  Command* noun = commands.noun("key", "API keys");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_revoke(commands, *noun);
  add_rotate(commands, *noun);
  add_key_pause_commands(commands, *noun);
}

tl::expected<std::vector<store::Credential>, std::string> find_api_keys(store::Store& store,
                                                                        const std::string& word,
                                                                        UtcMillis now) {
  const auto key = find_api_key(store, word, now);
  if (!key) return tl::unexpected(key.error());
  std::vector<store::Credential> found{*key};
  if (key->name.empty() || word != key->name) return found;
  for (const store::Credential& other : store.credentials.list(CredentialKind::api_key))
    if (other.id != key->id && other.name == key->name && other.account == key->account &&
        sync::is_usable(sync::state_of(other, now)))
      found.push_back(other);
  return found;
}

Option* add_key_filter(Command& verb, std::string& word) {
  return verb
      .add_option("--key", word,
                  "Only gifts asked for with this API key or organization token: its first characters or the "
                  "key's name")
      ->option_text("KEY")
      ->check(not_empty());
}

tl::expected<store::Credential, std::string> find_credential(CliContext& ctx, const std::string& word,
                                                             UtcMillis now) {
  for (const store::Credential& token : ctx.store.credentials.list(CredentialKind::organization_token)) {
    if (token.prefix == sync::public_prefix(word)) return token;
  }
  return find_api_key(ctx.store, word, now);
}

tl::expected<std::string, std::string> credential_prefix_of(CliContext& ctx, const std::string& word,
                                                            UtcMillis now) {
  return find_credential(ctx, word, now).map(&store::Credential::prefix);
}

std::int64_t RotateOptions::grace_millis() const {
  return *parse_duration(grace);
}

void add_grace_option(Command& verb, RotateOptions& options, const std::string& about) {
  verb.add_option("--grace", options.grace, about)->option_text("TIME")->check({duration_fault});
}

void end_replaced(const Console& console, CliContext& ctx, const store::Credential& replaced,
                  const std::string& successor, const RotateOptions& options) {
  const UtcMillis now = console.now();
  const auto& approval = ctx.settings.sending.approval;
  const std::set<std::string> known = wiring::rules_naming(approval, successor);
  for (const std::string& rule : wiring::rules_naming(approval, replaced.prefix)) {
    if (!known.contains(rule))
      console.info(
          fmt::format("The rule {} of sending.approval.rules names the old {}, so it holds nothing of "
                      "the new one: add {} to its credentials and reload giftsyncd.",
                      in_quotes(rule), replaced.prefix, successor));
  }
  if (options.grace_millis() == 0) {
    ctx.store.credentials.revoke(replaced, now);
    console.info(fmt::format("{} is revoked.", replaced.prefix));
    return;
  }
  const UtcMillis latest = now + options.grace_millis();
  const UtcMillis end = std::min(replaced.expires_at.value_or(latest), latest);
  ctx.store.credentials.set_expiry(replaced, end);
  console.info(fmt::format("{} works until {} UTC.", replaced.prefix, minute_text(end)));
}

std::optional<int> refuse_revocation(const Console& console, const store::Credential& credential,
                                     std::string_view noun, bool yes) {
  if (credential.revoked_at) {
    console.info(fmt::format("{} is already revoked (since {} UTC).", credential.prefix,
                             minute_text(credential.revoked_at)));
    return EX_OK;
  }
  return refuse_unconfirmed(
      console, yes, fmt::format("Revoke {} {} of {}?", noun, credential.prefix, printable(credential.owner)));
}

void revoke(const Console& console, store::Store& store, const store::Credential& credential) {
  sync::revoke_credential(store.credentials, credential, console.now());
  console.info(fmt::format("{} of {} is revoked.", credential.prefix, printable(credential.owner)));
}

}  // namespace giftsync::cli
