// cli: `crm accept-org`.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/confirmation.h"
#include "sync/count_text.h"
#include "wiring/database_config.h"
#include "wiring/org_status.h"

namespace giftsync::cli {
namespace {

using sync::count_text;

struct AcceptOptions {
  std::string organization_id;
  bool yes = false;
};

/// 15 characters identify; the other three are a check sum.
bool is_same_org(const std::string& one, const std::string& other) {
  constexpr std::size_t kSignificant = 15;
  return one.size() >= kSignificant && one.substr(0, kSignificant) == other.substr(0, kSignificant);
}

int accept(const Console& console, CliContext& ctx, const AcceptOptions& options) {
  const auto org = wiring::org_status(ctx.settings, ctx.store, console.now());
  if (!org)
    return console.fail(EX_CONFIG, fmt::format("{}: only with crm.type: salesforce", ctx.settings.file));
  const auto found = wiring::find_org(ctx.settings);
  if (!found) return console.fail(EX_UNAVAILABLE, found.error());
  if (!is_same_org(options.organization_id, found->organization_id))
    return console.fail(
        EX_DATAERR, fmt::format("{}: crm.salesforce.domain leads to the org {}, not to {}; name that org, or "
                                "correct the domain",
                                ctx.settings.file, found->organization_id, options.organization_id));
  if (org->organization_id.empty() || is_same_org(org->organization_id, found->organization_id)) {
    console.info("The records in the store are of this org already; nothing was changed.");
    return EX_OK;
  }
  const std::int64_t written = ctx.store.sync.count_states(schema::store::CrmSyncStatus::written);
  console.info(fmt::format(
      "The store has {} with records in the org {}. From now on giftsync writes to the org {}: "
      "changes of these gifts update the records that have their Transaction Ids there, and a gift "
      "without one counts as deleted in the CRM. What is stored of the former org is deleted: the session, "
      "the count of calls, the Ids of its records, which changes of its request records were seen, and {} of "
      "its outbound messages. The open request records of the org {} are read.",
      count_text(written, "gift"), org->organization_id, found->organization_id,
      count_text(org->messages.count, "waiting record"), found->organization_id));
  const std::string question =
      fmt::format("Accept the org {} in place of {}?", found->organization_id, org->organization_id);
  if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  wiring::accept_org(ctx.settings, found->organization_id);
  console.out << "accepted " << found->organization_id << '\n';
  console.info("A running giftsyncd goes on within seconds.");
  return EX_OK;
}

}  // namespace

void add_crm_org_commands(Commands& commands, CLI::App& crm) {
  const auto options = std::make_shared<AcceptOptions>();
  CLI::App* verb = commands.verb(
      crm, "accept-org",
      "Write to another org of Salesforce than the one whose records the store has, for example after a "
      "migration. giftsyncd pauses all calls to an org that was not accepted, such as a sandbox copied over "
      "production. Shows what it means and asks first.",
      {"crm accept-org 00D5g000004VnRIEA0", "crm accept-org 00D5g000004VnRIEA0 --yes"});
  verb->add_option("ID", options->organization_id, "The other org's id, 15 or 18 characters")->required();
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, accept);
}

}  // namespace giftsync::cli
