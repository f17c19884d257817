#include "daemon/cli/record_maker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/http/gift_links.h"
#include "daemon/secret_of_store.h"
#include "daemon/store_address.h"
#include "daemon/unusable_settings.h"
#include "sync/sync_step.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kGiftsALook = 1000;

std::size_t not_written(Installation& place, const std::vector<schema::TransactionId>& gifts) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < gifts.size(); at += kGiftsALook) {
    const auto some = std::span(gifts).subspan(at, std::min(kGiftsALook, gifts.size() - at));
    for (const schema::GiftMirror& mirror : place.store.sync.mirrors(some)) {
      if (mirror.state == schema::MirrorState::decided) ++count;
    }
  }
  return count;
}

}  // namespace

std::size_t make_records(const Console& console, Installation& place,
                         const std::vector<schema::TransactionId>& gifts) {
  if (gifts.empty()) return 0;
  try {
    const LinkSigner signer(secret_of_store(place.settings, place.store));
    const GiftLinks links(place.settings.server.base_url, signer);
    sync::SyncRules rules = sync_rules(place.settings);
    rules.link_of = [&](const auto& gift) { return links.of_record(gift); };
    const std::string owner = fmt::format("giftsyncctl {}", ::getpid());
    while (true) {
      const sync::SyncReport report =
          sync_step(place.store, *place.crm, rules, {owner, sync::kSyncLeaseMillis}, console.now());
      for (const std::string& note : report.notes) console.note(note);
      if (report.claimed == 0 || not_written(place, gifts) == 0) break;
    }
  } catch (const UnusableSettings&) {
    // Only the service's user and root can read the secret.
  }
  return not_written(place, gifts);
}

}  // namespace giftsync::daemon
