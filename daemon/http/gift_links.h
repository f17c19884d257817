// daemon/http: the addresses under which a gift can be reached: accepted, donated, looked at (Spec 2.4,
// design 3.5).
#pragma once

#include <string>

#include "daemon/crypto/link_token.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::daemon {

class GiftLinks {
 public:
  /// The path that all gift pages begin with.
  static constexpr std::string_view kPath = "/g/";

  GiftLinks(std::string base_url, const LinkSigner& signer)
      : base_url_(std::move(base_url)), signer_(signer) {}

  std::string to(LinkKind kind, const schema::RecipientTransaction& transaction) const {
    return base_url_ + std::string(kPath) + signer_.token(kind, transaction.id, transaction.generation);
  }
  /// The Link of the gift's CRM record; empty for a gift that was sent elsewhere: it has no page here. It is
  /// the same for all generations: a record's Link is written once, and nothing can be taken with it.
  std::string of_record(const schema::RecipientTransaction& transaction) const {
    if (!transaction.origin.empty()) return {};
    return base_url_ + std::string(kPath) + signer_.token(LinkKind::view, transaction.id, 0);
  }
  std::optional<LinkClaim> claim(std::string_view token) const { return signer_.verify(token); }

 private:
  const std::string base_url_;
  const LinkSigner& signer_;
};

}  // namespace giftsync::daemon
