#include "daemon/http/handed_links.h"

#include "sync/recipient_choice.h"

namespace giftsync::daemon {

HandedLinks handed_links(const GiftLinks& links, const schema::RecipientTransaction& gift) {
  return {links.to(LinkKind::redeem, gift), links.to(LinkKind::donate, gift)};
}

std::optional<schema::Status> end_of_links(schema::Store& store, const schema::RecipientTransaction& gift) {
  const schema::Status status = sync::standing(store.changes, gift).status;
  const bool is_past = status == schema::Status::expired || status == schema::Status::refunded;
  return is_past ? std::optional(status) : std::nullopt;
}

}  // namespace giftsync::daemon
