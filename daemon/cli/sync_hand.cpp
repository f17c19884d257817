#include "daemon/cli/sync_hand.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "daemon/crypto/link_token.h"
#include "daemon/http/gift_links.h"
#include "daemon/secret_of_store.h"
#include "daemon/store_address.h"
#include "daemon/unusable_settings.h"

namespace giftsync::daemon {

struct SyncHand::Links {
  explicit Links(const Installation& place, LinkSigner taken)
      : signer(std::move(taken)), links(place.settings.server.base_url, signer) {}
  const LinkSigner signer;
  const GiftLinks links;
};

SyncHand::SyncHand(const Console& console, Installation& place)
    : console_(console),
      place_(place),
      rules_(sync_rules(place.settings)),
      owner_(fmt::format("giftsyncctl {}", ::getpid())) {
  if (place.store.is_unused()) return;  // the first daemon makes the secret, in its own folder
  try {
    links_ = std::make_unique<Links>(place, LinkSigner(secret_of_store(place.settings, place.store)));
    rules_.link_of = [this](const schema::RecipientTransaction& gift) {
      return links_->links.of_record(gift);
    };
  } catch (const UnusableSettings&) {
    // Only the service's user and root can read the secret.
  }
}

SyncHand::~SyncHand() = default;

SyncHand::Result SyncHand::write(const std::vector<schema::TransactionId>& gifts) {
  Result result;
  while (true) {
    result.left = place_.store.backfill.waiting(gifts).size();
    if (result.left == 0 || !links_) return result;
    const sync::SyncReport report =
        sync_step(place_.store, *place_.crm, rules_, {owner_, sync::kSyncLeaseMillis}, console_.now());
    result.notes.insert(result.notes.end(), report.notes.begin(), report.notes.end());
    if (report.claimed == 0) return result;
  }
}

}  // namespace giftsync::daemon
