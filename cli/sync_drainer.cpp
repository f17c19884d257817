#include "cli/sync_drainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "platform/plural.h"
#include "sync/gift_links.h"
#include "sync/link_token.h"
#include "wiring/config_error.h"
#include "wiring/database_config.h"
#include "wiring/server_secret_config.h"

namespace giftsync::cli {

struct SyncDrainer::Links {
  explicit Links(const CliContext& ctx, sync::LinkSigner link_signer)
      : signer(std::move(link_signer)), links(ctx.settings.server.base_url, signer) {}
  const sync::LinkSigner signer;
  const sync::GiftLinks links;
};

SyncDrainer::SyncDrainer(const Console& console, CliContext& ctx)
    : console_(console),
      ctx_(ctx),
      rules_(wiring::sync_rules(ctx.settings)),
      owner_(fmt::format("giftsyncctl {}", ::getpid())) {
  if (ctx.store.is_unused()) return;  // the first daemon creates the secret
  try {
    links_ =
        std::make_unique<Links>(ctx, sync::LinkSigner(wiring::load_server_secret(ctx.settings, ctx.store)));
    rules_.link_of = [this](const schema::store::RecipientTransaction& gift) {
      return links_->links.crm_record_url(gift);
    };
  } catch (const wiring::ConfigError&) {
    // This user cannot read the secret: the daemon writes the records.
  }
}

SyncDrainer::~SyncDrainer() = default;

SyncDrainer::Result SyncDrainer::write(const std::vector<schema::TransactionId>& gifts) {
  Result result;
  while (true) {
    result.left = ctx_.store.backfill.find_queued(gifts).size();
    if (result.left == 0 || !links_) return result;
    const sync::SyncStepStats report = step();
    result.messages.insert(result.messages.end(), report.warnings.begin(), report.warnings.end());
    if (report.claimed == 0) return result;
  }
}

/// A failed step leaves its gifts to the daemon, or to the next one here.
sync::SyncStepStats SyncDrainer::step() {
  try {
    return sync::sync_step(ctx_.store, *ctx_.crm, rules_, {owner_, sync::sync_lease_millis(ctx_.crm->pace())},
                           console_.now());
  } catch (const platform::DependencyError&) {
    ctx_.store.sync.release_leases({owner_});
    throw;
  }
}

void print_queued_for_daemon(const Console& console, std::size_t count) {
  if (count == 0) return;
  console.info(fmt::format("{} of these records {} queued for the daemon.", count,
                           platform::plural_verb(count, "is", "are")));
}

}  // namespace giftsync::cli
