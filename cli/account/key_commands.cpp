#include "cli/account/key_commands.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "cli/command_audit.h"
#include "cli/console.h"
#include "cli/day_or_time.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kMaxKeyNameCodePoints = 64;

/// A key's row, and the key itself, which is not stored.
struct IssuedKey {
  store::ApiKey row;
  std::string text;
};

/// Creates a key and stores its hash.
IssuedKey issue_key(const Console& console, CliContext& ctx, AccountId account, const std::string& name,
                    const std::set<Scope>& scopes) {
  const sync::NewCredential key = sync::make_api_key();
  store::ApiKey row;
  row.account = account;
  row.name = name;
  row.prefix = key.prefix;
  row.hash = key.hash;
  row.scopes = scopes;
  row.created_at = console.now();
  audit_object(console, row.prefix);
  ctx.store.accounts.insert_key(row);
  return {row, key.text};
}

void say_shown_once(const Console& console, const IssuedKey& key) {
  console.info(fmt::format("This key is shown only now; listings show it as {}...", key.row.prefix));
}

void print_key(const Console& console, const IssuedKey& key) {
  console.out << key.text << std::endl;
  say_shown_once(console, key);
}

Json scopes_json(const std::set<Scope>& scopes) {
  Json words = Json::array();
  for (const Scope scope : scopes) words.push_back(to_word(scope));
  return words;
}

/// The key itself and what `key list --json` shows of a new one.
void print_key_json(const Console& console, const IssuedKey& key, const std::string& account) {
  const Json json{{"key", key.text},
                  {"prefix", key.row.prefix},
                  {"name", text_or_null(key.row.name)},
                  {"account", account},
                  {"scopes", scopes_json(key.row.scopes)},
                  {"created_at", json_time(key.row.created_at)}};
  console.out << json_text(json, 2) << std::endl;
  say_shown_once(console, key);
}

struct NewKeyOptions {
  std::string account;
  std::string name;
  std::vector<std::string> scopes{"send", "read", "request"};
  bool json = false;
};

/// A usable key of the account with this name: a second one could not be distinguished from it.
std::optional<store::ApiKey> find_namesake(const Console& console, CliContext& ctx, AccountId account,
                                           const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const store::ApiKeyOwner& holder : ctx.store.accounts.list_keys()) {
    const store::ApiKey& key = holder.key;
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
  std::set<Scope> scopes;
  for (const std::string& word : options.scopes) scopes.insert(*scope_from_word(word));
  const IssuedKey key = issue_key(console, ctx, account->id, name, scopes);
  if (options.json) {
    print_key_json(console, key, account->email);
  } else {
    print_key(console, key);
  }
  if (!has_api_access(account->plan))
    console.info(
        "The account's plan has no API access: the key is refused (403) until you change the plan with "
        "\"giftsyncctl account set-plan\".");
  if (!account->active)
    console.info("The account is deactivated: the key is refused (401) until it is activated.");
  return EX_OK;
}

std::string scope_list(const std::set<Scope>& scopes) {
  std::string text;
  for (const Scope scope : scopes) text.append(text.empty() ? "" : ",").append(to_word(scope));
  return text;
}

Json json_of(const store::ApiKeyOwner& holder, UtcMillis now) {
  return {{"prefix", holder.key.prefix},
          {"name", text_or_null(holder.key.name)},
          {"account", holder.account.email},
          {"scopes", scopes_json(holder.key.scopes)},
          {"state", to_word(sync::state_of(holder.key, now))},
          {"created_at", json_time(holder.key.created_at)},
          {"expires_at", json_time(holder.key.expires_at)},
          {"revoked_at", json_time(holder.key.revoked_at)},
          {"last_used_at", json_time(holder.key.last_used_at)}};
}

int list_keys(const Console& console, store::Store& store, bool json) {
  const auto holders = store.accounts.list_keys();
  const UtcMillis now = console.now();
  Listing list(console.out, json,
               {{"PREFIX"},
                {"NAME", TextTable::Kind::elastic},
                {"ACCOUNT", TextTable::Kind::elastic},
                {"SCOPES"},
                {"STATE"},
                {"CREATED (UTC)"},
                {"LAST USED (UTC)"},
                {"ENDS (UTC)"}});
  for (const store::ApiKeyOwner& holder : holders) {
    const store::ApiKey& key = holder.key;
    list.add([&] { return json_of(holder, now); },
             [&]() -> TextTable::Row {
               return {{key.prefix, key.name, holder.account.email, scope_list(key.scopes),
                        std::string(to_word(sync::state_of(key, now))), minute_text(key.created_at),
                        key.last_used_at ? minute_text(key.last_used_at) : "never",
                        minute_text(key.revoked_at ? key.revoked_at : key.expires_at)}};
             });
  }
  list.finish();
  if (holders.empty() && !json)
    console.info("No keys yet; \"giftsyncctl key create --account EMAIL\" creates one.");
  return EX_OK;
}

int revoke_key(const Console& console, store::Store& store, const RevokeOptions& options) {
  const auto holder = find_api_key(store.accounts.list_keys(), options.of, console.now());
  if (!holder) return console.fail(EX_DATAERR, holder.error());
  const store::ApiKey& key = holder->key;
  if (key.revoked_at) {
    console.info(
        fmt::format("{} is already revoked (since {} UTC).", key.prefix, minute_text(key.revoked_at)));
    return EX_OK;
  }
  const std::string question =
      fmt::format("Revoke key {} of {}?", key.prefix, printable(holder->account.email));
  if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  for (const store::ApiKeyOwner& one : store.accounts.list_keys()) {
    // A name stands for all its keys: one that was replaced may still be in its grace period.
    const bool is_named = !key.name.empty() && options.of == key.name && one.key.name == key.name &&
                          one.account.id == holder->account.id &&
                          sync::is_usable(sync::state_of(one.key, console.now()));
    if (!is_named && one.key.id != key.id) continue;
    audit_object(console, one.key.prefix, "of " + one.account.email);
    store.accounts.revoke_key(one.key.id, console.now());
    console.info(fmt::format("{} of {} is revoked.", one.key.prefix, printable(one.account.email)));
  }
  return EX_OK;
}

int rotate_key(const Console& console, CliContext& ctx, const RotateOptions& options) {
  const UtcMillis now = console.now();
  const auto old = find_api_key(ctx.store.accounts.list_keys(), options.of, now);
  if (!old) return console.fail(EX_DATAERR, old.error());
  const store::ApiKey& key = old->key;
  const sync::CredentialState state = sync::state_of(key, now);
  if (!sync::is_usable(state)) {
    return console.fail(
        EX_DATAERR, fmt::format("{} is {}; create a new key: giftsyncctl key create --account {}", key.prefix,
                                to_word(state), old->account.email));
  }
  const IssuedKey issued = issue_key(console, ctx, old->account.id, key.name, key.scopes);
  if (options.json) {
    print_key_json(console, issued, old->account.email);
  } else {
    print_key(console, issued);
  }
  end_replaced(console, key.prefix, key.expires_at, options, [&](std::optional<UtcMillis> end) {
    audit_object(console, key.prefix, "replaced by " + issued.row.prefix);
    end ? ctx.store.accounts.set_key_expiry(key.id, *end) : ctx.store.accounts.revoke_key(key.id, now);
  });
  return EX_OK;
}

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<NewKeyOptions>();
  Command* verb = commands.verb(noun, "create",
                                "Create an API key. Prints only the key on stdout; it is shown only once.",
                                {"key create --account rose@example.com --name website",
                                 "key create --account rose@example.com --scope send,read"});
  verb->add_option("--account", options->account, "The account's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--name", options->name,
                   "What you call the key, such as the system that uses it; listings show it, and \"key "
                   "revoke\" and \"key rotate\" find the key by it")
      ->option_text("NAME")
      ->check(key_name());
  verb->add_option("--scope", options->scopes,
                   "The scopes of the key: send, read, request, approve (default send,read,request)")
      ->delimiter(',')
      ->option_text("SCOPE,...")
      ->check(one_of({"send", "read", "request", "approve"}));
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

void add_key_commands(Commands& commands) {
  Command* noun = commands.noun("key", "API keys");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_revoke(commands, *noun);
  add_rotate(commands, *noun);
}

namespace {

constexpr std::string_view kKeyPrefix = "gsk_live_";

bool matches_prefix(const store::ApiKey& key, const std::string& word) {
  if (sync::is_api_key(word)) return key.hash == sync::api_key_hash(word);
  return has_prefix(key.prefix, kKeyPrefix, word);
}

std::string ambiguous(const std::vector<store::ApiKeyOwner>& found, const std::string& word,
                      bool is_by_name) {
  std::string prefixes;
  for (const store::ApiKeyOwner& holder : found)
    prefixes.append(prefixes.empty() ? "" : ", ").append(holder.key.prefix);
  return fmt::format("{} matches {} keys: {}; {}", in_quotes(word), found.size(), prefixes,
                     is_by_name ? "give the first characters of one of them" : "give more characters");
}

}  // namespace

bool has_prefix(std::string_view prefix, std::string_view kind, std::string_view word) {
  if (word.empty()) return false;
  return prefix.starts_with(word) ||
         (prefix.starts_with(kind) && prefix.substr(kind.size()).starts_with(word));
}

tl::expected<store::ApiKeyOwner, std::string> find_api_key(const std::vector<store::ApiKeyOwner>& keys,
                                                           const std::string& word, UtcMillis now) {
  const auto is_usable = [now](const store::ApiKeyOwner& holder) {
    return sync::is_usable(sync::state_of(holder.key, now));
  };
  std::vector<store::ApiKeyOwner> found;
  for (const store::ApiKeyOwner& holder : keys) {
    if (!word.empty() && holder.key.name == word) found.push_back(holder);
  }
  const bool is_by_name = !found.empty();
  for (const store::ApiKeyOwner& holder : keys) {
    if (!is_by_name && matches_prefix(holder.key, word)) found.push_back(holder);
  }
  if (std::any_of(found.begin(), found.end(), is_usable)) {
    found.erase(
        std::remove_if(found.begin(), found.end(), [&](const auto& holder) { return !is_usable(holder); }),
        found.end());
  }
  if (is_by_name && found.size() > 1 && is_usable(found.front())) {
    std::vector<store::ApiKeyOwner> current = found;
    std::erase_if(current, [](const auto& holder) { return holder.key.expires_at.has_value(); });
    if (current.size() == 1) return current.front();
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) return tl::unexpected(ambiguous(found, word, is_by_name));
  // A whole key is a secret and must not be printed.
  const std::string shown = sync::is_api_key(word) ? "this" : in_quotes(word);
  return tl::unexpected(
      fmt::format("no key begins with {} or has that name; \"giftsyncctl key list\" shows them", shown));
}

void add_key_filter(Command& verb, std::string& word) {
  verb.add_option("--key", word,
                  "Only gifts asked for with this API key or organization token: its first characters or the "
                  "key's name")
      ->option_text("KEY");
}

tl::expected<std::string, std::string> credential_prefix_of(CliContext& ctx, const std::string& word,
                                                            UtcMillis now) {
  for (const store::OrganizationToken& token : ctx.store.organizations.list_tokens()) {
    if (token.prefix == sync::public_prefix(word)) return token.prefix;
  }
  const auto found = find_api_key(ctx.store.accounts.list_keys(), word, now);
  if (!found) return tl::unexpected(found.error());
  return found->key.prefix;
}

std::int64_t RotateOptions::grace_millis() const {
  return *parse_duration(grace);
}

void add_grace_option(Command& verb, RotateOptions& options, const std::string& about) {
  verb.add_option("--grace", options.grace, about)->option_text("TIME")->check({duration_fault});
}

void end_replaced(const Console& console, const std::string& prefix, std::optional<UtcMillis> expires_at,
                  const RotateOptions& options,
                  const std::function<void(std::optional<UtcMillis>)>& store_end) {
  if (options.grace_millis() == 0) {
    store_end(std::nullopt);
    console.info(fmt::format("{} is revoked.", prefix));
    return;
  }
  const UtcMillis latest = console.now() + options.grace_millis();
  const UtcMillis end = std::min(expires_at.value_or(latest), latest);
  store_end(end);
  console.info(fmt::format("{} works until {} UTC.", prefix, minute_text(end)));
}

}  // namespace giftsync::cli
