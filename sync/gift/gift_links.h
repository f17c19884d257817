// sync: the URLs of a gift's pages: accept, donate, view and stop (HTTP-2, PAGE-2), the tokens in them, and
// campaigns in links.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/store.h"

namespace giftsync::sync {

// The tokens in links (PAGE-1). They are derived from the server secret and never stored. A token lets
// its bearer view or claim that gift; without the secret no valid token can be made.
//
//   token = key id (1 character) + base64url(payload)
//   payload = kind (1 byte) + transaction id (7) + generation (4) + code (20)
//
// A stop link has address_number() in place of the generation: it is the address's, and stays valid when the
// gift is cancelled. Numbers are big-endian. The code is HMAC-SHA256 over everything before it, cut to 160
// bits, under a key that is derived from the secret for this purpose only. 44 characters of [A-Za-z0-9_-].

/// What a link permits. `view` is the CRM's own Link: status, no buttons. `stop` lists the address, and
/// neither shows nor claims the gift (GUARD-5). Their numbers are in tokens: a new kind comes last.
enum class LinkKind { redeem, donate, view, stop };

struct LinkPayload {
  LinkKind kind = LinkKind::view;
  TransactionId transaction;
  std::int64_t generation = 0;  ///< GiftLinks::is_current() compares it: an older link is no longer valid
  bool is_of_former_secret = false;
};

/// Immutable. Any thread.
class LinkSigner {
 public:
  /// `secret_bytes` as read_server_secret returns them. An empty secret is a bug and aborts.
  explicit LinkSigner(std::string_view secret_bytes);

  /// The same payload gives the same token. A transaction id outside 1 to kMaxId or a generation outside 0 to
  /// 2^32 - 1 is a bug and aborts.
  std::string token(LinkKind kind, TransactionId transaction, std::int64_t generation) const;

  /// 0 to 2^32 - 1: stands for an address in stop links. Without the secret nothing about it can be found
  /// out.
  std::int64_t address_number(std::string_view email) const;

  /// The token of the sign-in link that a user asked for by mail (SIGN-15), of 43 characters of
  /// [A-Za-z0-9_-]. The same salt gives the same token, and without the secret it gives none.
  std::string sign_in_token(std::string_view salt) const;

  /// The payload of a token that a signer with this secret made; nullopt for any other text.
  std::optional<LinkPayload> verify(std::string_view token) const;

  /// 32 hex digits that identify a secret without revealing it; the store keeps them.
  std::string fingerprint() const;

 private:
  std::string mac_of(std::string_view signed_bytes) const;

  std::string key_;
  std::string fingerprint_;
  std::string address_key_;
  std::string sign_in_key_;
  char key_id_;  ///< which secret signed; a quick filter, no proof
};

/// Of a server secret that was rotated (OPS-37).
struct FormerSigner {
  LinkSigner signer;
  UtcMillis valid_until;  ///< its links are
};

class GiftLinks {
 public:
  /// The path prefix of all gift pages.
  static constexpr std::string_view kPath = "/g/";

  /// `signer`, which must outlive it, makes every link. Links of `former` are accepted until its end.
  GiftLinks(std::string base_url, const LinkSigner& signer, std::optional<FormerSigner> former = std::nullopt)
      : base_url_(std::move(base_url)), signer_(signer), former_(std::move(former)) {}

  std::string url_for(LinkKind kind, const store::RecipientTransaction& transaction) const {
    return base_url_ + std::string(kPath) +
           signer_.token(kind, transaction.id, current_number(signer_, kind, transaction));
  }
  /// False once a newer link has replaced it: after a cancel or another address, of stop links after another
  /// address alone.
  bool is_current(const LinkPayload& link, const store::RecipientTransaction& transaction) const {
    const LinkSigner& signer = link.is_of_former_secret && former_ ? former_->signer : signer_;
    return link.generation == current_number(signer, link.kind, transaction);
  }
  /// The Link of the gift's CRM record; empty for an external gift, which has no page here. It is the same
  /// for all generations, because a record's Link is written once and gives no right to claim the gift. Once
  /// the gift has a later generation, its page shows nothing of the recipient (PAGE-2).
  std::string crm_record_url(const store::RecipientTransaction& transaction) const {
    if (!transaction.gift_source.empty()) return {};
    return base_url_ + std::string(kPath) + signer_.token(LinkKind::view, transaction.id, 0);
  }
  std::string sign_in_token(std::string_view salt) const { return signer_.sign_in_token(salt); }
  /// The payload of a link that is valid at `now`; nullopt for any other text.
  std::optional<LinkPayload> verify(std::string_view token, UtcMillis now) const;
  /// The store has another secret: links of `signer` end then, those of `former` at once. An earlier end
  /// stays. One thread.
  void end_links(UtcMillis end) {
    if (end < end_.load()) end_ = end;
  }
  /// What url_for() makes would never be valid: the store has another secret. Any thread.
  bool have_ended(UtcMillis now) const { return now >= end_.load(); }

 private:
  static constexpr UtcMillis kNoEnd{INT64_MAX};

  static std::int64_t current_number(const LinkSigner& signer, LinkKind kind,
                                     const store::RecipientTransaction& transaction) {
    return kind == LinkKind::stop ? signer.address_number(transaction.email) : transaction.generation;
  }

  const std::string base_url_;
  const LinkSigner& signer_;
  const std::optional<FormerSigner> former_;
  std::atomic<UtcMillis> end_ = kNoEnd;
};

// Adds a gift's campaign to links that leave giftsync.

/// `url` with utm_campaign_id=CAMPAIGN in its query, percent-encoded (RFC 3986). Query and fragment stay
/// unchanged. A link that has a campaign already, or that is not http(s), is returned unchanged. Pure.
std::string add_utm_campaign(std::string_view url, std::string_view campaign);

// The URLs of a gift that giftsync does not mail: its request record has the Send Type link (REQ-49).
// Their bearer can claim the gift: they are shown to the requester, and never stored, logged or written to
// the CRM.

struct RequestUrls {
  std::string redemption_url;
  std::string donation_url;
};

/// The URLs of the gift's current generation.
RequestUrls request_urls(const GiftLinks& links, const store::RecipientTransaction& gift);

/// The status that ends the URLs: the gift has expired or was refunded, by everything accepted so far.
/// Nullopt while they are valid.
std::optional<Status> urls_end_status(store::ChangeLog& changes, const store::RecipientTransaction& gift);

}  // namespace giftsync::sync
