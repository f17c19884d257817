// `person`: what is known of a recipient, and its erasure (GUARD-16, GUARD-17). Audit events have the domain
// and counts, never an address.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/gift/gift_detail.h"
#include "cli/listing.h"
#include "daemon/exports/person_export.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/erased_addresses.h"
#include "daemon/wiring/server_secret.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/store/gift/erased_address.h"
#include "sync/access/sending_policy.h"
#include "sync/crm/person.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;
using sync::PersonData;

std::optional<Refusal> refuse_address(const std::string& address) {
  if (const auto fault = email_error(address))
    return Refusal{EX_USAGE, {fmt::format("ADDRESS: found {}, which {}", in_quotes(address), *fault)}};
  return std::nullopt;
}

store::AuditEvent person_event(const Console& console, const std::string& action, const PersonData& person) {
  store::AuditEvent event = command_event(console, action, {});
  event.object_kind = "person";
  event.object_id = sync::audited_pattern(person.address_key);
  event.detail = person.counts_text();
  return event;
}

// Export.

void print_texts(std::ostream& out, const std::vector<store::PersonText>& texts) {
  Listing list(out, false);
  for (const store::PersonText& text : texts)
    list.add([&](ListedRow& row) {
      row.add("table", {"TABLE"}, text.table);
      row.add("column", {"COLUMN"}, text.column);
      row.add("row", {"ROW", Kind::elastic}, text.key);
      row.add("text", {"TEXT", Kind::elastic_last}, text.text);
    });
  list.finish();
}

void print_person(const Console& console, CliContext& ctx, const PersonData& person) {
  console.out << printable(person.address_key) << '\n';
  for (const TransactionId gift : exports::gifts_of(person)) {
    console.out << '\n';
    if (const auto detail = find_gift_detail(ctx, gift)) print(*detail, console.out);
  }
  for (const store::DoNotSendEntry& entry : person.entries)
    console.out << "\nDo not send: " << sync::describe(entry) << ' ' << printable(entry.comment) << '\n';
  const std::vector<store::PersonText> texts = exports::texts_of(ctx.store, person);
  if (!texts.empty()) console.out << "\nOther texts\n";
  print_texts(console.out, texts);
  if (person.has_crm) console.out << "\nCRM\n" << exports::person_crm_json(*ctx.crm, person) << '\n';
}

struct ExportOptions {
  std::string address;
  bool json = false;
};

int export_person(const Console& console, CliContext& ctx, const ExportOptions& options) {
  if (const auto refused = refuse_address(options.address)) return console.fail(*refused);
  const PersonData person = sync::find_person(ctx.store, *ctx.crm, options.address);
  store::AuditEvent event = person_event(console, "person.export", person);
  event.detail = person.export_text();
  ctx.store.audit.add(event);
  if (options.json)
    console.out << exports::person_json(ctx.store, *ctx.crm, person, ctx.settings.catalogue.currency) << '\n';
  else
    print_person(console, ctx, person);
  console.out.flush();
  if (!person.has_traces()) console.info("Nothing is kept of this address but what was erased, if anything.");
  if (!person.has_crm)
    console.info(fmt::format("Its own data in {} is not giftsync's: ask there for the contact or lead.",
                             wiring::crm_location(ctx.settings)));
  return EX_OK;
}

// Erasure.

struct EraseOptions {
  std::string address;
  bool dry_run = false;
  bool yes = false;
};

std::string numbers_of(const std::vector<TransactionId>& gifts) {
  std::vector<std::int64_t> numbers;
  for (const TransactionId gift : gifts) numbers.push_back(gift.value);
  return fmt::format("{}", fmt::join(numbers, ", "));
}

void say_other_crm(const Console& console, CliContext& ctx, const PersonData& person) {
  if (!person.has_crm)
    console.info(fmt::format("Records in {} are not changed: erase the person there.",
                             wiring::crm_location(ctx.settings)));
}

/// What an erasure leaves, and the next step.
void say_what_stays(const Console& console, CliContext& ctx, const PersonData& person) {
  for (const store::Gift& gift : ctx.store.gifts.find(person.open))
    console.info(
        fmt::format("Gift {} is {} and stays: it may still be claimed; wait until it ends, or "
                    "\"giftsyncctl gift cancel {}\" ends it.",
                    gift.transaction.id.value, to_word(gift.transaction.status), gift.transaction.id.value));
  if (!person.busy.empty())
    console.info(fmt::format("Gift {} is at work and stays: repeat the command in a minute.",
                             numbers_of(person.busy)));
  for (const std::string& number : person.open_requests)
    console.info(fmt::format("Request {} waits and stays: approve or reject it.", number));
  if (!person.open_crm_requests.empty())
    console.info(fmt::format("Request record {} of the CRM is open and stays: approve or reject it.",
                             fmt::join(person.open_crm_requests, ", ")));
  if (person.is_in_use())
    console.info(
        "Until then the do-not-send entry, contacts, leads and all texts outside of closed gifts stay, too; "
        "then repeat the command.");
  say_other_crm(console, ctx, person);
  for (const std::string& role : exports::other_roles(ctx.store, person))
    console.info(fmt::format("The address is also that of an {}, which stays.", role));
}

int already_erased(const Console& console, CliContext& ctx, const PersonData& person) {
  if (person.erased.empty() && person.entries.empty())
    console.info(fmt::format("Nothing is kept of {}.", person.address_key));
  else
    console.info(fmt::format("{} is already erased: {} gifts, {} entries of the do-not-send list.",
                             person.address_key, person.erased.size(), person.entries.size()));
  say_other_crm(console, ctx, person);
  return EX_OK;
}

int exit_code_of(const PersonData& person) {
  return person.is_in_use() ? EX_TEMPFAIL : EX_OK;
}

int erase_person(const Console& console, CliContext& ctx, const EraseOptions& options) {
  if (const auto refused = refuse_address(options.address)) return console.fail(*refused);
  if (!ctx.store.do_not_send.has_erased_address_key()) {
    // A dry run changes nothing, and the store need not have the key yet.
    const bool is_new = !ctx.store.metadata(store::kErasedAddressKeyFact);
    if (!options.dry_run || !is_new) wiring::open_erased_addresses(ctx.settings, ctx.store);
  }
  const PersonData person = sync::find_person(ctx.store, *ctx.crm, options.address);
  if (!person.has_traces()) return already_erased(console, ctx, person);
  console.info(fmt::format("To erase of {}: {}.", person.address_key, person.counts_text()));
  if (!person.closed.empty()) console.info(fmt::format("Gifts: {}.", numbers_of(person.closed)));
  say_what_stays(console, ctx, person);
  if (options.dry_run) return exit_code_of(person);
  if (person.is_in_use() && person.closed.empty()) return EX_TEMPFAIL;
  if (const auto refused =
          refuse_unconfirmed(console, options.yes, fmt::format("Erase {}?", person.address_key)))
    return *refused;
  const sync::PersonErasure done =
      sync::erase_person(ctx.store, *ctx.crm, person, person_event(console, "person.erase", person));
  console.info(fmt::format(
      "Erased: {} gifts, {} other texts, {} do-not-send entries, {} contacts, {} leads, {} gift records, {} "
      "request records.",
      done.gifts, done.texts, done.entries, done.contacts, done.leads, done.records, done.requests));
  const PersonData left = sync::find_person(ctx.store, *ctx.crm, options.address);
  if (left.has_traces() && !person.is_in_use())
    console.info("Something of the person changed meanwhile and stays: repeat the command in a minute.");
  return left.has_traces() ? EX_TEMPFAIL : EX_OK;
}

int erase_if_secret_is_readable(const Console& console, CliContext& ctx, const EraseOptions& options) try {
  return erase_person(console, ctx, options);
} catch (const wiring::ConfigError& fault) {
  return console.fail(EX_CONFIG, fault.what());
}

void add_export(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ExportOptions>();
  Command* verb = commands.verb(
      noun, "export",
      "Print everything that store and managed CRM have of a recipient: gifts with mails, history and "
      "records, contacts, leads, request records with their history, do-not-send entries, kept events of "
      "sources, and each other text that names the address.",
      {"person export ana@example.com", "person export ana@example.com --json > ana.json"});
  verb->add_option("ADDRESS", options->address, "The recipient's e-mail address")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, export_person);
}

void add_erase(Commands& commands, Command& noun) {
  const auto options = std::make_shared<EraseOptions>();
  Command* verb = commands.verb(
      noun, "erase",
      "Replace names, addresses, messages and texts about a recipient in store and managed CRM by a mark. "
      "Counts, costs, times and statuses stay; an entry on the do-not-send list goes on refusing the address "
      "by a keyed hash. Gifts that may still be claimed are named and stay (exit code 75). The records of "
      "another CRM are not changed.",
      {"person erase ana@example.com --dry-run", "person erase ana@example.com --yes"});
  verb->add_option("ADDRESS", options->address, "The recipient's e-mail address")->required();
  verb->add_flag("--dry-run", options->dry_run, "Show what would be erased and change nothing");
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, erase_if_secret_is_readable);
}

}  // namespace

void add_person_commands(Commands& commands) {
  Command* noun = commands.noun("person", "What is kept of a recipient, and its erasure");
  add_export(commands, *noun);
  add_erase(commands, *noun);
}

}  // namespace giftsync::cli
