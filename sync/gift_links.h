// sync: the URLs of a gift's pages: accept, donate, view (HTTP-2, PAGE-2).
#pragma once

#include <string>

#include "schema/store/gift_requests.h"
#include "sync/link_token.h"

namespace giftsync::sync {

class GiftLinks {
 public:
  /// The path prefix of all gift pages.
  static constexpr std::string_view kPath = "/g/";

  GiftLinks(std::string base_url, const LinkSigner& signer)
      : base_url_(std::move(base_url)), signer_(signer) {}

  std::string url_for(LinkKind kind, const schema::store::RecipientTransaction& transaction) const {
    return base_url_ + std::string(kPath) + signer_.token(kind, transaction.id, transaction.generation);
  }
  /// The Link of the gift's CRM record; empty for an external gift, which has no page here. It is the same
  /// for all generations, because a record's Link is written once and gives no right to claim the gift. Once
  /// the gift has a later generation, its page shows nothing of the recipient (PAGE-2).
  std::string crm_record_url(const schema::store::RecipientTransaction& transaction) const {
    if (!transaction.gift_source.empty()) return {};
    return base_url_ + std::string(kPath) + signer_.token(LinkKind::view, transaction.id, 0);
  }
  std::optional<LinkPayload> verify(std::string_view token) const { return signer_.verify(token); }

 private:
  const std::string base_url_;
  const LinkSigner& signer_;
};

}  // namespace giftsync::sync
