// cli: `crm messages`: the URL to which Salesforce sends outbound messages (MSG-1 to MSG-4).
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/account/key_commands.h"
#include "cli/command_audit.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"

namespace giftsync::cli {
namespace {

constexpr std::string_view kPath = "/api/v1/crm/salesforce/messages/";
/// The URL holds the token's text, which is not stored: this is the only time that it is shown.
void print_url(const Console& console, const CliContext& ctx, const sync::NewCredential& token, bool json) {
  const std::string& admin_url = ctx.settings.server.admin_url;
  const std::string url = admin_url + std::string(kPath) + token.text;
  if (json) {
    const Json shown{{"url", url}, {"prefix", token.prefix}, {"created_at", json_time(token.created_at)}};
    console.out << json_text(shown, 2) << std::endl;
  } else {
    console.out << url << std::endl;
  }
  console.info(
      fmt::format("This URL is a secret and is shown only now; listings show it as {}...", token.prefix));
  console.info(
      "Next: enter it as the Endpoint URL of the outbound message on the request record, with the field Id "
      "alone "
      "and without \"Send Session ID\".");
  if (!admin_url.starts_with("https://"))
    console.info("server.admin_url is not https: Salesforce sends messages to public https URLs only.");
}

int create_token(const Console& console, CliContext& ctx, bool json) {
  const sync::NewCredential token = sync::make_credential(CredentialKind::message_token, console.now());
  audit_object(console, token.prefix);
  if (!ctx.store.credentials.create_message_token(token))
    return console.fail(
        EX_DATAERR, "there is a URL for messages already; \"giftsyncctl crm messages rotate\" replaces it");
  print_url(console, ctx, token, json);
  return EX_OK;
}

Json json_of(const store::Credential& token, UtcMillis now) {
  return {{"prefix", token.prefix},
          {"state", to_word(sync::state_of(token, now))},
          {"created_at", json_time(token.created_at)},
          {"expires_at", json_time(token.expires_at)},
          {"last_used_at", json_time(token.last_used_at)}};
}

int list_tokens(const Console& console, store::Store& store, bool json) {
  const auto tokens = store.credentials.list(CredentialKind::message_token);
  const UtcMillis now = console.now();
  Listing list(console.out, json);
  for (const store::Credential& token : tokens) {
    list.add([&](ListedRow& row) {
      if (row.is_json()) return row.set_json(json_of(token, now));
      row.add_cell({"PREFIX"}, token.prefix);
      row.add_cell({"STATE"}, std::string(to_word(sync::state_of(token, now))));
      row.add_cell({"CREATED (UTC)"}, minute_text(token.created_at));
      row.add_cell({"LAST MESSAGE (UTC)"}, token.last_used_at ? minute_text(token.last_used_at) : "never");
      row.add_cell({"ENDS (UTC)"}, minute_text(token.expires_at));
    });
  }
  list.finish();
  if (tokens.empty() && !json)
    console.info(
        "No URL for messages yet, so none are accepted; \"giftsyncctl crm messages create\" creates one.");
  return EX_OK;
}

/// Those that a rotation ends at once, since at most two work.
void say_ended(const Console& console, const std::vector<store::Credential>& before) {
  for (const store::Credential& token : before) {
    if (token.expires_at && sync::is_usable(sync::state_of(token, console.now())))
      console.info(fmt::format("{} was replaced before and is refused from now on.", token.prefix));
  }
}

int rotate_token(const Console& console, CliContext& ctx, const RotateOptions& options) {
  const auto before = ctx.store.credentials.list(CredentialKind::message_token);
  const UtcMillis now = console.now();
  const std::optional<UtcMillis> end =
      options.grace_millis() == 0 ? std::nullopt : std::optional(now + options.grace_millis());
  const sync::NewCredential token = sync::make_credential(CredentialKind::message_token, now);
  audit_object(console, token.prefix);
  if (!ctx.store.credentials.rotate_message_token(token, end))
    return console.fail(
        EX_DATAERR,
        "there is no URL for messages to replace; \"giftsyncctl crm messages create\" creates one");
  print_url(console, ctx, token, options.json);
  say_ended(console, before);
  for (const store::Credential& credential : before) {
    if (credential.expires_at) continue;
    console.info(end ? fmt::format("{} works until {} UTC.", credential.prefix, minute_text(*end))
                     : fmt::format("{} is refused from now on.", credential.prefix));
  }
  return EX_OK;
}

int delete_token(const Console& console, store::Store& store, const RevokeOptions& options) {
  const auto tokens = store.credentials.list(CredentialKind::message_token);
  // The URL, its token's text or first characters.
  const std::string word = options.of.substr(options.of.rfind('/') + 1);
  std::vector<store::Credential> found = tokens;
  std::erase_if(found, [&](const auto& token) { return !sync::is_meant_by(token, word); });
  if (found.size() != 1) {
    // A misspelt whole URL must not be printed.
    const std::string shown = options.of.size() > 16 ? "that text" : in_quotes(options.of);
    return console.fail(
        EX_DATAERR,
        found.empty()
            ? fmt::format("no token begins with {}; \"giftsyncctl crm messages list\" shows them", shown)
            : fmt::format("{} matches {} tokens; give more characters", shown, found.size()));
  }
  const std::string& prefix = found.front().prefix;
  if (const auto refused =
          refuse_unconfirmed(console, options.yes, fmt::format("Delete the URL with token {}?", prefix)))
    return *refused;
  audit_object(console, prefix);
  store.credentials.remove_message_token(found.front().id);
  console.info(fmt::format("{} is deleted: messages to its URL are refused from now on.", prefix));
  if (tokens.size() == 1)
    console.info("No messages are accepted any more; changed request records are seen by the poll alone.");
  return EX_OK;
}

void add_rotate(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RotateOptions>();
  Command* verb = commands.verb(
      noun, "rotate",
      "Create a URL that replaces the present one. Prints only the new URL on stdout; the former one works "
      "until "
      "the grace period ends. At most two work: one that was replaced before ends now.",
      {"crm messages rotate", "crm messages rotate --grace 7d", "crm messages rotate --grace 0 --json"});
  add_grace_option(*verb, *options,
                   "How long the former URL still works: 90s, 30m, 24h, 7d; 0 ends it now (default 24h)");
  verb->add_flag("--json", options->json, "Print JSON, with the new URL");
  commands.run(verb, options, rotate_token);
}

void add_delete(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RevokeOptions>();
  Command* verb = commands.verb(noun, "delete",
                                "Delete a URL: messages to it are refused now. Without a URL no messages "
                                "are accepted. This cannot be undone.",
                                {"crm messages delete gmt_live_x3Kd9aQ", "crm messages delete x3K --yes"});
  verb->add_option("PREFIX", options->of,
                   "The first characters of the URL's token, enough to be unique; gmt_live_ may be left out")
      ->required();
  add_yes_flag(*verb, options->yes);
  commands.run_with_store_alone(verb, options, delete_token);
}

}  // namespace

void add_crm_message_commands(Commands& commands, Command& crm) {
  Command* noun = commands.noun(crm, "messages",
                                "The URL to which Salesforce sends outbound messages about request records");
  Command* create = commands.verb(*noun, "create",
                                  "Create the URL. Prints only the URL on stdout; it holds a secret and is "
                                  "shown only once. Until then no "
                                  "messages are accepted.",
                                  {"crm messages create", "crm messages create --json"});
  commands.run(create, json_flag(create, "Print JSON, with the URL"), create_token);
  Command* list = commands.verb(*noun, "list",
                                "List the URLs by the first characters of their tokens, with the time of "
                                "the last message that was stored.",
                                {"crm messages list", "crm messages list --json"});
  commands.run_with_store_alone(list, json_flag(list, "Print a JSON array"), list_tokens);
  add_rotate(commands, *noun);
  add_delete(commands, *noun);
}

}  // namespace giftsync::cli
