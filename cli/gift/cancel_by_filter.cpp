#include "cli/gift/cancel_by_filter.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <utility>

#include "cli/account/key_commands.h"
#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/interruption.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "sync/access/credential.h"
#include "sync/access/credential_changes.h"

namespace giftsync::cli {
namespace {

using sync::CancelFilter;
using sync::CancelPreview;
using sync::CancelRun;

/// The filter that the options mean, or why they mean none.
tl::expected<CancelFilter, std::string> filter_of(CliContext& ctx, const CancelFilterOptions& options,
                                                  UtcMillis now) {
  CancelFilter filter;
  if (!options.key.empty()) {
    auto key = find_credential(ctx, options.key, now);
    if (!key) return tl::unexpected("--key: " + key.error());
    filter.key = std::move(*key);
    filter.test = is_test_key(filter.key->prefix);
  }
  filter.request = options.request;
  if (filter.request) {
    const auto request = ctx.store.gifts.find_gift_request({*filter.request});
    if (!request)
      return tl::unexpected(fmt::format(
          "--request: there is no gift request {}; \"giftsyncctl gift export\" has the requests of "
          "gifts as gift_request_id",
          *filter.request));
    if (!filter.key) filter.test = request->is_test;
  }
  if (!options.campaign.empty()) filter.campaign = options.campaign;
  if (!options.since.empty()) filter.since = parse_day_or_time(options.since, now);
  return filter;
}

/// A key and a request say themselves whether their gifts are test gifts.
void tell_of_uncancelled_tests(const Console& console, CliContext& ctx, const CancelFilter& filter) {
  if (filter.key || filter.request) return;
  store::GiftFilter asked;
  asked.campaign = filter.campaign;
  asked.since = filter.since;
  tell_of_left_out_tests(console, ctx, asked);
}

/// A key that still sends may bring further gifts, which this run does not find.
void warn_of_sending_key(const Console& console, const CancelFilter& filter) {
  if (!filter.key) return;
  const sync::CredentialState state = sync::state_of(*filter.key, console.now());
  if (!sync::is_usable(state) || state == sync::CredentialState::paused) return;
  console.info(fmt::format(
      "{} still sends; \"giftsyncctl {}\" pauses it. Gifts that it sends from now on need another run.",
      filter.key->prefix, sync::pause_command(*filter.key)));
}

std::string question_of(const CancelFilter& filter, const CancelPreview& preview) {
  const std::string gifts = pluralize(preview.cancellable(), "gift");
  if (!filter.is_time_alone()) return fmt::format("Cancel {}?", gifts);
  return fmt::format("Cancel {}, ALL that any sender has sent since {} UTC?", gifts,
                     minute_text(filter.since));
}

void print_how_to_go_on(const Console& console, const CliContext& ctx, const CancelFilter& filter,
                        const CancelPreview& preview, const CancelRun& run) {
  console.info(fmt::format(
      "{} of {} {} cancelled, {} not yet. To go on: {}gift cancel {}", run.cancelled.size(),
      pluralize(preview.cancellable(), "gift"), plural_verb(run.cancelled.size(), "is", "are"),
      preview.cancellable() - run.handled(), program_with(ctx.settings), sync::option_words(filter)));
}

/// Until the program is interrupted; each gift is audited as by a command of its own.
CancelRun cancel_found(const Console& console, CliContext& ctx, const CancelFilter& filter,
                       const CancelPreview& preview) {
  const std::string words = sync::option_words(filter);
  const Interruption interruption;
  CancelRun run;
  WorkProgress progress(console, "gifts", static_cast<std::int64_t>(preview.cancellable()), 0);
  const auto cancel_one = [&](TransactionId gift) {
    audit_object(console, std::to_string(gift.value), words);
    sync::ActionResult result =
        sync::cancel(ctx.store.changes, ctx.store.lifecycle, gift, os_user(), console.now());
    if (result.kind != sync::ActionResult::Kind::done) {
      progress.clear();
      console.info(fmt::format("Gift {} was left out: {}.", gift.value, result.reason));
    }
    return result;
  };
  const auto goes_on = [&] {
    progress.update(static_cast<std::int64_t>(run.handled()));
    return !Interruption::is_asked_for();
  };
  try {
    sync::cancel_found(preview, cancel_one, goes_on, run);
  } catch (const DependencyError&) {
    progress.clear();
    print_how_to_go_on(console, ctx, filter, preview, run);
    throw;
  }
  progress.clear();
  audit_object(console, "");
  audit_total(console,
              fmt::format("{}: {} cancelled, {} left out{}", words, pluralize(run.cancelled.size(), "gift"),
                          run.left_out.size(), run.is_interrupted ? ", interrupted" : ""));
  return run;
}

Json run_json(const CancelPreview& preview, const CancelRun& run, std::size_t unsent) {
  Json left_out = Json::array();
  for (const sync::LeftOut& gift : run.left_out)
    left_out.push_back({{"recipient_transaction_id", gift.gift.value}, {"reason", gift.reason}});
  return {{"cancelled", run.cancelled.size()},
          {"mails_withdrawn_unsent", unsent},
          {"left_out", std::move(left_out)},
          {"not_yet_cancelled", preview.cancellable() - run.handled()},
          {"interrupted", run.is_interrupted}};
}

}  // namespace

void add_cancel_filter(Command& verb, CancelFilterOptions& options, Option* id) {
  add_key_filter(verb, options.key)->excludes(id);
  verb.add_option("--request", options.request,
                  "Only gifts of the gift request with this id, as the API returned it (gift_request_id)")
      ->option_text("ID")
      ->check(whole_number())
      ->excludes(id);
  verb.add_option("--campaign", options.campaign, "Only gifts of this utm_campaign_id")
      ->option_text("ID")
      ->check(not_empty())
      ->excludes(id);
  verb.add_option("--since", options.since,
                  "Only gifts that were sent then or later; alone: all such gifts, of every sender. Days are "
                  "UTC")
      ->option_text("DAY|TIME|2h")
      ->check(day_or_time())
      ->excludes(id);
  verb.add_flag("--dry-run", options.dry_run, "With a filter: show what is found and change nothing")
      ->excludes(id);
  verb.add_flag("--json", options.json, "With a filter: print JSON, what was found and what was done")
      ->excludes(id);
}

int cancel_by_filter(const Console& console, CliContext& ctx, const CancelFilterOptions& options, bool yes) {
  const auto filter = filter_of(ctx, options, console.now());
  if (!filter) return console.fail(EX_DATAERR, filter.error());
  const CancelPreview preview = find_gifts_to_cancel(console, ctx.store, *filter);
  print(console, preview);
  if (preview.matching == 0) tell_of_uncancelled_tests(console, ctx, *filter);
  Json shown{{"filter", filter_json(*filter)}, {"dry_run", options.dry_run}};
  shown.update(preview_json(preview, ctx.settings.catalogue.currency));
  shown["result"] = nullptr;
  const auto print_json = [&] {
    if (options.json) console.out << json_text(shown, 2) << '\n';
  };
  if (options.dry_run || preview.cancellable() == 0) {
    print_json();
    return EX_OK;
  }
  warn_of_sending_key(console, *filter);
  if (const auto refused = refuse_unconfirmed(console, yes, question_of(*filter, preview))) return *refused;
  const CancelRun run = cancel_found(console, ctx, *filter, preview);
  const std::size_t unsent = sync::count_unsent(ctx.store, run.cancelled);
  shown["result"] = run_json(preview, run, unsent);
  print_json();
  if (run.is_interrupted) {
    print_how_to_go_on(console, ctx, *filter, preview, run);
    return kInterruptedExit;
  }
  console.info(fmt::format(
      "{} {} refunded and {} no longer work; {} did not leave{}.", pluralize(run.cancelled.size(), "gift"),
      plural_verb(run.cancelled.size(), "is", "are"), run.cancelled.size() == 1 ? "its links" : "their links",
      pluralize(unsent, "mail"),
      run.left_out.empty() ? std::string()
                           : fmt::format("; {} left out", pluralize(run.left_out.size(), "gift"))));
  return EX_OK;
}

}  // namespace giftsync::cli
