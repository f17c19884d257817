#include "sync/request_urls.h"

#include "sync/recipient_actions.h"

namespace giftsync::sync {

RequestUrls request_urls(const GiftLinks& links, const schema::store::RecipientTransaction& gift) {
  return {links.url_for(LinkKind::redeem, gift), links.url_for(LinkKind::donate, gift)};
}

std::optional<schema::Status> urls_end_status(schema::store::Store& store,
                                              const schema::store::RecipientTransaction& gift) {
  const schema::Status status = current_status(store.changes, gift).status;
  const bool is_ended = status == schema::Status::expired || status == schema::Status::refunded;
  return is_ended ? std::optional(status) : std::nullopt;
}

}  // namespace giftsync::sync
