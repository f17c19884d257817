// `do-not-send`: who gets no gifts (GUARD-1). Audit events have the domain and the reason, never an address.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>
#include <set>
#include <span>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/gift/do_not_send_csv.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "sync/access/sending_policy.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;
using store::DoNotSendEntry;

void describe(ListedRow& row, const DoNotSendEntry& entry) {
  const std::string reason(to_word(entry.reason));
  row.add("pattern", {"PATTERN", Kind::elastic}, entry.pattern);
  row.add("reason", {"REASON"}, reason);
  row.add("added_at", {"ADDED (UTC)"}, std::optional(entry.added_at));
  row.add("added_by", {"BY", Kind::elastic}, entry.added_by);
  row.add("expires_at", {"ENDS (UTC)"}, entry.expires_at);
  row.add_json("transaction_id", entry.transaction ? Json(entry.transaction->value) : Json(nullptr));
  row.add("comment", {"COMMENT", Kind::elastic_last}, text_or_null(entry.comment), entry.comment);
}

struct ListOptions {
  std::string text;
  std::string reason;
  std::int64_t limit = 0;
  bool json = false;
};

int list_entries(const Console& console, store::Store& store, const ListOptions& options) {
  const store::DoNotSendFilter filter{ascii_lower(trimmed(options.text)),
                                      do_not_send_reason_from_word(options.reason)};
  Listing list(console.out, options.json);
  const auto next_page = [&, after = std::string()]() mutable {
    auto page = store.do_not_send.list(filter, after, TextTable::kPageRows, console.now());
    if (!page.empty()) after = page.back().pattern;
    return page;
  };
  const std::int64_t rows = each_row(console, options.limit, next_page, [&](const DoNotSendEntry& entry) {
    list.add([&](ListedRow& row) { describe(row, entry); });
  });
  list.finish();
  if (rows > 0 || options.json) return EX_OK;
  if (filter.text.empty() && !filter.reason)
    console.info(
        "The do-not-send list is empty; \"giftsyncctl do-not-send add PATTERN\" adds an address or a "
        "domain.");
  else
    console.info("No entry fits; \"giftsyncctl do-not-send list\" without options lists all.");
  return EX_OK;
}

struct AddOptions {
  std::vector<std::string> patterns;
  std::string comment;
  std::string until;
  bool yes = false;
};

/// The entries that were asked for, each pattern once; else what is wrong.
tl::expected<std::vector<DoNotSendEntry>, Refusal> entries_of(const AddOptions& options, UtcMillis now) {
  Refusal refusal{EX_USAGE, {}};
  DoNotSendEntry entry;
  entry.added_by = os_user();
  entry.comment = trimmed(options.comment);
  if (const auto fault = sync::do_not_send_comment_error(entry.comment))
    refusal.lines.push_back(fmt::format("--comment: found {}, which {}", in_quotes(entry.comment), *fault));
  if (!options.until.empty()) {
    const auto end = read_entry_end(options.until, now);
    if (end) entry.expires_at = *end;
    if (!end) refusal.lines.push_back("--until: " + end.error());
  }
  std::vector<DoNotSendEntry> entries;
  std::set<std::string> patterns;
  for (const std::string& written : options.patterns) {
    const auto pattern = sync::do_not_send_pattern(written);
    if (!pattern)
      refusal.lines.push_back(
          fmt::format("PATTERN: found {}, which {}", in_quotes(written), pattern.error()));
    else if (patterns.insert(*pattern).second)
      entries.emplace_back(entry).pattern = *pattern;
  }
  if (!refusal.lines.empty()) return tl::unexpected(std::move(refusal));
  return entries;
}

/// What was done with an entry that is there by now, given what was there before.
std::string outcome_text(const DoNotSendEntry* before, bool is_changed) {
  if (before == nullptr) return "is blocked";
  const std::string since =
      std::string(to_word(before->reason)) + " since " + minute_text(before->added_at) + " UTC";
  if (!is_changed) return "is unchanged: " + since;
  if (before->reason == DoNotSendReason::blocked) return "is blocked as before, with the new comment and end";
  return "is blocked, besides " + since;
}

int add_entries(const Console& console, store::Store& store, const AddOptions& options) {
  const auto entries = entries_of(options, console.now());
  if (!entries) return console.fail(entries.error());
  if (const auto refused = refuse_top_level(console, options.yes, *entries)) return *refused;
  for (const DoNotSendEntry& entry : *entries) {
    const auto before = store.do_not_send.find(std::span(&entry.pattern, 1), console.now());
    audit_object(console, sync::audited_pattern(entry.pattern), std::string(to_word(entry.reason)));
    const bool is_changed = store.do_not_send.add(std::span(&entry, 1), {}) > 0;
    console.info(fmt::format("{} {}.", entry.pattern,
                             outcome_text(before.empty() ? nullptr : &before.begin()->second, is_changed)));
  }
  return EX_OK;
}

struct RemoveOptions {
  std::string pattern;
  bool yes = false;
};

int remove_entry(const Console& console, store::Store& store, const RemoveOptions& options) {
  const auto pattern = sync::do_not_send_pattern(options.pattern);
  if (!pattern)
    return console.fail(
        EX_USAGE, fmt::format("PATTERN: found {}, which {}", in_quotes(options.pattern), pattern.error()));
  const auto found = store.do_not_send.find(std::span(&*pattern, 1), console.now());
  if (found.empty())
    return console.fail(EX_DATAERR,
                        fmt::format("the do-not-send list has no entry {}; \"giftsyncctl do-not-send check "
                                    "ADDRESS\" shows which entry applies to an address",
                                    *pattern));
  const DoNotSendEntry& entry = found.begin()->second;
  if (sync::is_wish(entry.reason)) {
    const std::string question =
        fmt::format("{} Remove {} all the same? Only if the recipient asks for gifts again.",
                    sync::describe(entry), *pattern);
    if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  }
  audit_object(console, sync::audited_pattern(*pattern), std::string(to_word(entry.reason)));
  // That of an erased person has its mark as the pattern.
  if (!store.do_not_send.remove(entry.pattern, entry.reason, {}))
    return console.fail(EX_TEMPFAIL,
                        fmt::format("{} was not removed: its entry was changed at the same time; "
                                    "\"giftsyncctl do-not-send list --text {}\" shows it",
                                    *pattern, shell_word(*pattern)));
  console.info(fmt::format("{} is removed; it was {}.", *pattern, to_word(entry.reason)));
  const auto other = sync::find_listed(store.do_not_send, std::span(&*pattern, 1), console.now());
  if (pattern->find('@') != std::string::npos && !other.empty())
    console.info(fmt::format("The entry {} still applies to it: {}", other.begin()->second.pattern,
                             sync::describe(other.begin()->second)));
  return EX_OK;
}

struct CheckOptions {
  std::string email;
  bool json = false;
};

int check_address(const Console& console, CliContext& ctx, const CheckOptions& options) {
  if (const auto fault = email_error(options.email))
    return console.fail(EX_USAGE,
                        fmt::format("ADDRESS: found {}, which {}", in_quotes(options.email), *fault));
  if (const auto refusal = refuse_unknown_erased_entries(ctx)) return console.fail(*refusal);
  const std::string email(trimmed(options.email));
  const auto finding = sync::refused_recipients(ctx.store.do_not_send, ctx.settings.sending.allowed_domains,
                                                std::span(&email, 1), console.now())
                           .front();
  const auto listed = sync::find_listed(ctx.store.do_not_send, std::span(&email, 1), console.now());
  if (options.json) {
    ListedRow entry(true);
    if (!listed.empty()) describe(entry, listed.begin()->second);
    const Json json = {{"email", email},
                       {"allowed", !finding},
                       {"code", text_or_null(finding ? finding->code : "")},
                       {"message", text_or_null(finding ? finding->message : "")},
                       {"entry", listed.empty() ? Json(nullptr) : entry.json()}};
    console.out << json_text(json, 2) << '\n';
    return EX_OK;
  }
  console.out << fmt::format("{}: {}\n", printable(email),
                             finding ? "no gifts. " + finding->message : "gifts may be sent");
  if (listed.empty()) return EX_OK;
  Listing list(console.out, false);
  list.add([&](ListedRow& row) { describe(row, listed.begin()->second); });
  list.finish();
  return EX_OK;
}

void add_list(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb = commands.verb(
      noun, "list",
      "List who gets no gifts, by pattern: an address, a domain with its subdomains (example.com), or "
      "subdomains alone (*.example.com). Entries that have ended are left out.",
      {"do-not-send list", "do-not-send list --reason opted_out --limit 50",
       "do-not-send list --text example.com --json"});
  verb->add_option("--text", options->text, "Only patterns that contain this text")->option_text("TEXT");
  verb->add_option("--reason", options->reason, "Only entries with this reason")
      ->option_text("REASON")
      ->check(one_of(do_not_send_reasons()));
  verb->add_option("--limit", options->limit, "At most N entries")->option_text("N")->check(whole_number());
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run_with_store_alone(verb, options, list_entries);
}

void add_add(Commands& commands, Command& noun) {
  const auto options = std::make_shared<AddOptions>();
  Command* verb = commands.verb(
      noun, "add",
      "Send no gifts to an address, or to a domain with its subdomains, or to subdomains alone. The reason "
      "is "
      "blocked, the strongest one; opted_out, complained and bounced stay behind it. A pattern without a "
      "dot, "
      "such as com or *.gov, covers so much that it is asked about first.",
      {"do-not-send add ana@example.com --comment 'asked by phone'",
       "do-not-send add competitor.example '*.gov' --yes", "do-not-send add example.com --until 2027-01-01"});
  verb->add_option("PATTERN", options->patterns, "An address, a domain, or *.DOMAIN for subdomains alone")
      ->required();
  verb->add_option("--comment", options->comment, "Why; kept with the entry")->option_text("TEXT");
  verb->add_option("--until", options->until,
                   "When the entry ends: at the beginning of this day in UTC, or at this time")
      ->option_text("DAY");
  add_yes_flag(*verb, options->yes);
  commands.run_with_store_alone(verb, options, add_entries);
}

void add_remove(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RemoveOptions>();
  Command* verb = commands.verb(
      noun, "remove",
      "Remove an entry, so that gifts may be sent there again. An entry that the recipient asked "
      "for, opted_out or complained, is asked about first.",
      {"do-not-send remove competitor.example", "do-not-send remove ana@example.com --yes"});
  verb->add_option("PATTERN", options->pattern, "The pattern of the entry")->required();
  add_yes_flag(*verb, options->yes);
  commands.run_with_store_alone(verb, options, remove_entry);
}

void add_check(Commands& commands, Command& noun) {
  const auto options = std::make_shared<CheckOptions>();
  Command* verb =
      commands.verb(noun, "check",
                    "Say whether a gift may be sent to an address, and which entry decides: of several the "
                    "strongest reason (blocked, opted_out, complained, bounced), then the most special "
                    "pattern.",
                    {"do-not-send check ana@example.com", "do-not-send check ana@example.com --json"});
  verb->add_option("ADDRESS", options->email, "An e-mail address")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, check_address);
}

}  // namespace

void add_do_not_send_commands(Commands& commands) {
  Command* noun = commands.noun("do-not-send", "The list of addresses and domains that get no gifts");
  add_list(commands, *noun);
  add_add(commands, *noun);
  add_remove(commands, *noun);
  add_do_not_send_import_command(commands, *noun);
  add_check(commands, *noun);
}

}  // namespace giftsync::cli
