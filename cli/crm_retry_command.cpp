// cli: `crm retry`.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/console_audit.h"
#include "cli/gift_detail.h"
#include "cli/retry.h"
#include "platform/plural.h"
#include "schema/store/crm_retry_event.h"
#include "sync/gift_actions.h"
#include "wiring/crm_config.h"
#include "wiring/org_status.h"

namespace giftsync::cli {
namespace {

std::string not_resting_reason(CliContext& ctx, schema::TransactionId id, platform::UtcMillis now) {
  const bool is_known = !ctx.store.gifts.find(std::span(&id, 1)).empty();
  if (!is_known) return no_such_gift(id.value);
  const std::string why = sync::retry_obstacle(ctx.store, id, now);
  return fmt::format(
      "the record of gift {} does not wait for a retry: {}; \"giftsyncctl gift show {}\" shows it", id.value,
      why, id.value);
}

int retry_records(const Console& console, CliContext& ctx, const RetryOptions& options) {
  if (options.all == !options.gifts.empty()) return console.fail(EX_USAGE, "give either gifts or --all");
  const platform::UtcMillis now = console.now();
  schema::store::SyncQueue& sync = ctx.store.sync;
  const bool is_remote = wiring::crm_capabilities(ctx.settings).is_remote;
  const int code = retry(
      console, options,
      {.what = "record",
       .one =
           [&](schema::TransactionId gift) {
             auto event = gift_command_event(console, ctx.store, "gift.retry", gift);
             event.detail = schema::store::kRetriedRecords;
             const bool is_due = sync.reset_rejected(std::span(&gift, 1), now, event) > 0;
             return is_due ? std::string() : not_resting_reason(ctx, gift, now);
           },
       .all =
           [&] {
             schema::store::AuditEvent event = command_event(console, schema::store::kCrmRetryAction, {});
             event.occurred_at = now;
             event.object_kind = schema::store::kFailuresObject;  // of all classes
             event.detail = schema::store::kRetriedRecords;
             const std::int64_t count = sync.reset_rejected_after(now, now, event);
             event.object_kind = "crm";
             // What rests for its quota; the org itself is asked again below, even if nothing rests.
             event.detail = "the org is asked again, records";
             if (is_remote && sync.reset_scheduled_after(now, now, event) + count == 0) {
               event.detail = "the org is asked again";
               ctx.store.audit.add(event);
             }
             return fmt::format("{} that the CRM refused {} tried now.", platform::pluralize(count, "record"),
                                platform::plural_verb(count, "is", "are"));
           }});
  if (!is_remote) return code;
  wiring::ask_org_again(ctx.settings, ctx.store);
  console.info(
      "The org is asked again within seconds, within giftsync's share of its calls, by backfills that wait, "
      "too.");
  return code;
}

}  // namespace

void add_crm_retry_command(Commands& commands, CLI::App& crm) {
  const auto options = std::make_shared<RetryOptions>();
  CLI::App* verb = commands.verb(
      crm, "retry",
      "Try gift records now that the CRM refused as they are, for example after its rule was corrected. "
      "Otherwise such a record is tried again after 2 s, then after twice the time before, up to a day; and "
      "when the daemon starts or reloads its settings. Where the CRM is an org of Salesforce, it is also "
      "asked "
      "again at once while giftsync makes no calls, because the org's quota was used up or it was in "
      "maintenance, or writes nothing, because the org lacks what protects gift records; a backfill that "
      "waits goes on, too. crm.salesforce.share stays a limit, and a refused sign-in needs a reload of "
      "giftsyncd.",
      {"crm retry 41", "crm retry --all"});
  add_retry_options(*verb, options, "Every refused record");
  commands.run(verb, options, retry_records);
}

}  // namespace giftsync::cli
