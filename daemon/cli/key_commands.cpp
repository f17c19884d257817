#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/key_search.h"
#include "daemon/cli/overlap.h"
#include "daemon/cli/text_table.h"
#include "daemon/crypto/api_key.h"
#include "daemon/settings/settings_fault.h"

namespace giftsync::daemon {
namespace {

using schema::Scope;

/// Makes a key, keeps its hash and prints it: the only time that its text is anywhere.
void issue_key(const Console& console, Installation& place, schema::AccountId account,
               const std::set<Scope>& scopes) {
  const NewKey key = make_api_key();
  schema::ApiKey row;
  row.account = account;
  row.prefix = key.prefix;
  row.hash = key.hash;
  row.scopes = scopes;
  row.created_at = console.now();
  place.store.accounts.add_key(row);
  console.out << key.text << std::endl;
  console.note(fmt::format("This key is shown only now; listings show it as {}...", key.prefix));
}

int create_key(const Console& console, Installation& place, const std::string& email,
               const std::vector<std::string>& words) {
  const auto account = place.store.accounts.account_by_email(email);
  if (!account) {
    return console.fail(
        EX_DATAERR, fmt::format("--account: there is no account {}; \"giftsyncctl account list\" shows them",
                                in_quotes(email)));
  }
  std::set<Scope> scopes;
  for (const std::string& word : words) scopes.insert(*schema::scope_from_word(word));
  issue_key(console, place, account->id, scopes);
  if (!has_api_access(account->plan))
    console.note(
        "The account's plan has no API access: the key is refused (403) until \"giftsyncctl account plan\" "
        "changes it.");
  if (!account->active)
    console.note("The account is deactivated: the key is refused (401) until it is activated.");
  return EX_OK;
}

std::string scope_words(const std::set<Scope>& scopes) {
  std::string text;
  for (const Scope scope : scopes) text.append(text.empty() ? "" : ",").append(to_word(scope));
  return text;
}

Json json_of(const schema::KeyHolder& holder, schema::UtcMillis now) {
  Json scopes = Json::array();
  for (const Scope scope : holder.key.scopes) scopes.push_back(to_word(scope));
  return {{"prefix", holder.key.prefix},
          {"account", holder.account.email},
          {"scopes", scopes},
          {"state", key_state(holder.key, now)},
          {"created_at", json_time(holder.key.created_at)},
          {"expires_at", json_time(holder.key.expires_at)},
          {"revoked_at", json_time(holder.key.revoked_at)},
          {"last_used_at", json_time(holder.key.last_used_at)}};
}

int list_keys(const Console& console, Installation& place, bool json) {
  const auto holders = place.store.accounts.keys();
  const schema::UtcMillis now = console.now();
  if (json) {
    JsonList list(console.out);
    for (const schema::KeyHolder& holder : holders) list.add(json_of(holder, now));
    list.finish();
    return EX_OK;
  }
  TextTable table(console.out, {{"PREFIX"},
                                {"ACCOUNT", TextTable::Kind::elastic},
                                {"SCOPES"},
                                {"STATE"},
                                {"CREATED (UTC)"},
                                {"LAST USED (UTC)"},
                                {"ENDS (UTC)"}});
  for (const schema::KeyHolder& holder : holders) {
    const schema::ApiKey& key = holder.key;
    table.add({key.prefix, holder.account.email, scope_words(key.scopes), key_state(key, now),
               minute_text(key.created_at), key.last_used_at ? minute_text(key.last_used_at) : "never",
               minute_text(key.revoked_at ? key.revoked_at : key.expires_at)});
  }
  table.finish();
  if (holders.empty()) console.note("No keys yet; \"giftsyncctl key create --account EMAIL\" makes one.");
  return EX_OK;
}

int revoke_key(const Console& console, Installation& place, const std::string& word) {
  const auto search = find_key(place.store.accounts.keys(), word, console.now());
  if (const auto* fault = std::get_if<std::string>(&search)) return console.fail(EX_DATAERR, *fault);
  const schema::KeyHolder& holder = std::get<schema::KeyHolder>(search);
  if (holder.key.revoked_at) {
    console.note(fmt::format("{} was revoked already ({} UTC).", holder.key.prefix,
                             minute_text(holder.key.revoked_at)));
    return EX_OK;
  }
  place.store.accounts.revoke(holder.key.id, console.now());
  console.note(fmt::format("{} of {} is revoked.", holder.key.prefix, printable(holder.account.email)));
  return EX_OK;
}

int rotate_key(const Console& console, Installation& place, const std::string& word,
               std::int64_t overlap_millis) {
  const auto search = find_key(place.store.accounts.keys(), word, console.now());
  if (const auto* fault = std::get_if<std::string>(&search)) return console.fail(EX_DATAERR, *fault);
  const schema::KeyHolder& old = std::get<schema::KeyHolder>(search);
  const schema::UtcMillis now = console.now();
  if (key_state(old.key, now) == "revoked" || key_state(old.key, now) == "expired") {
    return console.fail(EX_DATAERR,
                        fmt::format("{} is {}; make a new key: giftsyncctl key create --account {}",
                                    old.key.prefix, key_state(old.key, now), old.account.email));
  }
  issue_key(console, place, old.account.id, old.key.scopes);
  if (overlap_millis == 0) {
    place.store.accounts.revoke(old.key.id, now);
    console.note(fmt::format("{} is revoked.", old.key.prefix));
    return EX_OK;
  }
  // A key that was rotated before keeps its earlier end.
  const schema::UtcMillis end =
      std::min(old.key.expires_at.value_or(now + overlap_millis), now + overlap_millis);
  place.store.accounts.set_expiry(old.key.id, end);
  console.note(fmt::format("{} works until {} UTC.", old.key.prefix, minute_text(end)));
  return EX_OK;
}

struct NewKeyWords {
  std::string account;
  std::vector<std::string> scopes{"send", "read", "request"};
};

void add_create(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<NewKeyWords>();
  CLI::App* verb = commands.verb(
      noun, "create", "A new API key. Prints the key alone on stdout; it is shown only once.",
      {"key create --account rose@example.com", "key create --account rose@example.com --scope send,read"});
  verb->add_option("--account", words->account, "The account's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--scope", words->scopes,
                   "What it may do: send, read, request, approve (default send,read,request)")
      ->delimiter(',')
      ->option_text("SCOPE,...")
      ->check(one_of({"send", "read", "request", "approve"}));
  commands.run(verb, [words](const Console& console, Installation& place) {
    return create_key(console, place, words->account, words->scopes);
  });
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb =
      commands.verb(noun, "list", "All keys by their first characters, with when they were last used.",
                    {"key list", "key list --json"});
  verb->add_flag("--json", *json, "Print a JSON array");
  commands.run(
      verb, [json](const Console& console, Installation& place) { return list_keys(console, place, *json); });
}

void add_revoke(Commands& commands, CLI::App& noun) {
  const auto prefix = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(noun, "revoke", "End a key at once, for good.",
                                 {"key revoke gsk_live_x3Kd9aQ", "key revoke x3K"});
  verb->add_option("PREFIX", *prefix, "Its first characters, as many as it takes; gsk_live_ may be left out")
      ->required();
  commands.run(verb, [prefix](const Console& console, Installation& place) {
    return revoke_key(console, place, *prefix);
  });
}

void add_rotate(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string prefix;
    std::string overlap = "24h";
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      noun, "rotate",
      "A new key in place of an old one. Prints the new key alone on stdout; the old one works "
      "on until the overlap has passed.",
      {"key rotate gsk_live_x3Kd9aQ", "key rotate x3K --overlap 7d", "key rotate x3K --overlap 0"});
  verb->add_option("PREFIX", words->prefix, "The old key's first characters, as many as it takes")
      ->required();
  verb->add_option("--overlap", words->overlap,
                   "How long the old key works on: 90s, 30m, 24h, 7d; 0 ends it at once (default 24h)")
      ->option_text("TIME")
      ->check(CLI::Validator([](const std::string& text) { return overlap_fault(text); }, ""));
  commands.run(verb, [words](const Console& console, Installation& place) {
    return rotate_key(console, place, words->prefix, *overlap_millis(words->overlap));
  });
}

}  // namespace

void add_key_commands(Commands& commands) {
  CLI::App* noun = commands.noun("key", "API keys");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_revoke(commands, *noun);
  add_rotate(commands, *noun);
}

}  // namespace giftsync::daemon
