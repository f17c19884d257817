#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "daemon/config/text_checks.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using store::ConsoleSession;
using store::Store;

constexpr std::int64_t kMaxLinkMinutes = 60;
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinSessionDigits = 6;

struct LinkOptions {
  std::string user;
  std::int64_t minutes = 10;
  bool json = false;
};

/// Why a link would not work, or would be sent unencrypted; empty if nothing is wrong.
std::string link_fault(const config::Settings& settings) {
  const std::string& url = settings.server.admin_url;
  if (!config::is_secure_admin_url(url))
    return fmt::format(
        "server.admin_url: found {}; a sign-in link needs https://, or a URL of this host. "
        "Nothing was created; put a TLS proxy in front and set server.admin_url to its URL",
        in_quotes(url));
  if (!settings.console.enabled)
    return fmt::format(
        "console.enabled: found false; nothing was created. Set console: {{ enabled: true }} in {} "
        "and reload giftsyncd",
        settings.file);
  return {};
}

int create_link(const Console& console, CliContext& ctx, const LinkOptions& options) {
  if (const std::string fault = link_fault(ctx.settings); !fault.empty())
    return console.fail(EX_CONFIG, fault);
  const auto user = find_user(console, ctx.store, options.user);
  if (!user) return user.error();
  if (!user->active)
    return console.fail(
        EX_DATAERR,
        fmt::format("{} is deactivated; \"giftsyncctl user activate\" activates it", in_quotes(user->email)));
  const std::string token = to_base64url(random_bytes(kTokenBytes));
  store::SignInLink link;
  link.token_hash = sha256_hex(token);
  link.user = user->id;
  link.created_by = os_user();
  link.created_at = console.now();
  link.expires_at = console.now() + options.minutes * kMinuteMillis;
  ctx.store.console_sessions.create_link(link, command_event(console, "console.sign-in-link", *user));
  const std::string url = ctx.settings.server.admin_url + "/console/link/" + token;
  if (options.json) {
    const Json json{{"user", user->email}, {"url", url}, {"expires_at", json_time(link.expires_at)}};
    console.out << json_text(json, 2) << '\n';
  } else {
    console.out << url << '\n';
  }
  console.info(
      fmt::format("The first browser that opens the link is signed in as {}; it works once, until {} UTC. "
                  "Give it to that person alone, and by no channel that others read.",
                  printable(user->email), minute_text(link.expires_at)));
  if (user->role_set().empty())
    console.info(
        fmt::format("The user has no role and sees nothing; \"giftsyncctl user grant {} sender\" gives "
                    "one. The other roles: approver, operator, auditor, admin.",
                    shell_word(user->email)));
  return EX_OK;
}

std::vector<ConsoleSession> all_sessions(const Console& console, Store& store) {
  return store.console_sessions.list(store::Viewer::of_command_line(), console.now());
}

int list_sessions(const Console& console, Store& store, bool json) {
  using Kind = TextTable::Kind;
  const auto sessions = all_sessions(console, store);
  Listing list(console.out, json);
  for (const ConsoleSession& session : sessions) {
    list.add([&](ListedRow& row) {
      row.add("session", {"SESSION"}, store::public_session_id(session.id_hash));
      row.add("user", {"USER", Kind::elastic}, session.email);
      row.add("by", {"BY"}, session.identity ? "provider" : session.is_by_mail ? "mailed link" : "link");
      row.add("created_at", {"SIGNED IN (UTC)"}, session.created_at);
      row.add("last_seen_at", {"LAST SEEN (UTC)"}, session.last_seen_at);
      row.add("expires_at", {"ENDS (UTC)"}, session.expires_at);
      row.add("network", {"NETWORK"}, session.network);
      row.add("browser", {"BROWSER", Kind::elastic_last}, session.agent);
    });
  }
  list.finish();
  if (sessions.empty() && !json) console.info("No one is signed in to the console.");
  return EX_OK;
}

struct EndOptions {
  std::string session;  ///< empty: all of `user`
  std::string user;
};

int end_sessions(const Console& console, Store& store, const EndOptions& options) {
  if (options.session.empty() == options.user.empty())
    return console.fail(EX_USAGE, "give either SESSION or --user EMAIL");
  if (!options.user.empty()) {
    const auto user = find_user(console, store, options.user);
    if (!user) return user.error();
    const std::int64_t ended =
        store.console_sessions.end_all(user->id, command_event(console, "session.end", *user));
    console.info(fmt::format("{} of {} ended.", pluralize(ended, "session"), printable(user->email)));
    return EX_OK;
  }
  std::vector<ConsoleSession> found = all_sessions(console, store);
  std::erase_if(found, [&](const ConsoleSession& console_session) {
    return options.session.size() < kMinSessionDigits ||
           !console_session.id_hash.starts_with(options.session);
  });
  if (found.size() != 1)
    return console.fail(EX_DATAERR,
                        fmt::format("{} is not the beginning of exactly one session ({} characters or "
                                    "more); \"giftsyncctl session list\" shows them",
                                    in_quotes(options.session), kMinSessionDigits));
  const auto user = find_user(console, store, found.front().email);
  if (!user) return user.error();
  const std::string& id_hash = found.front().id_hash;
  store.console_sessions.end(id_hash,
                             command_event(console, "session.end", *user, store::public_session_id(id_hash)));
  console.info(fmt::format("The session of {} has ended.", printable(user->email)));
  return EX_OK;
}

}  // namespace

void add_console_commands(Commands& commands) {
  Command* noun = commands.noun("console", "The web console");
  const auto options = std::make_shared<LinkOptions>();
  Command* verb = commands.verb(
      *noun, "sign-in-link",
      "Create a link that signs a user in to the console once, for the first sign-in and when the "
      "identity provider is away. Prints only the link on stdout; it is shown only once.",
      {"console sign-in-link --user ana@example.com",
       "console sign-in-link --user ana@example.com --minutes 30"});
  verb->add_option("--user", options->user, "The user's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--minutes", options->minutes, "How long the link works, at most 60 (default 10)")
      ->option_text("N")
      ->check(number_between(1, kMaxLinkMinutes));
  verb->add_flag("--json", options->json, "Print JSON, with the link");
  commands.run(verb, options, create_link);
}

void add_session_commands(Commands& commands) {
  Command* noun = commands.noun("session", "Who is signed in to the console");
  Command* list = commands.verb(*noun, "list", "List the sessions of the console, the last seen first.",
                                {"session list", "session list --json"});
  commands.run_with_store_alone(list, json_flag(list, "Print a JSON array"), list_sessions);
  const auto options = std::make_shared<EndOptions>();
  Command* end = commands.verb(*noun, "end", "End a session, or all of a user, now.",
                               {"session end 3f9a1c02b77d", "session end --user ana@example.com"});
  end->add_option("SESSION", options->session, "The session's first characters");
  end->add_option("--user", options->user, "The user's e-mail address")->option_text("EMAIL");
  commands.run_with_store_alone(end, options, end_sessions);
}

}  // namespace giftsync::cli
