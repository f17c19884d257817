// daemon/pages: the page behind a gift's stop link, where its recipient asks for no more gifts or allows them
// again (GUARD-5). Mailbox providers get this link too: the page shows neither the gift nor another link to
// it, and of the address its domain alone.
#pragma once

#include <string>
#include <string_view>

#include "daemon/content/branding.h"
#include "daemon/content/messages.h"
#include "daemon/http/http_message.h"
#include "platform/time.h"
#include "schema/store/gift/do_not_send.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::pages {

/// How the list has an address itself without an end, whatever it says of the domain. An entry that ends does
/// not stand for the recipient's wish.
enum class StopState {
  allowed,    ///< not at all, or for something that the recipient's wish replaces
  opted_out,  ///< by the recipient's wish alone, who can allow gifts again
  blocked,    ///< also by an admin or a complaint, or the recipient may not be the only one with this link
};

/// A gift's links that went to its sender, not to its recipient by mail, take no wish back.
bool may_allow_again(const store::Gift& gift);

/// Reads the store.
StopState stop_state(store::DoNotSend& list, const store::Gift& gift, UtcMillis now);

/// 200 with the state and a button that changes it, if the recipient can. Pure.
http::HttpResponse stop_page(StopState state, const std::string& email, const content::Messages& messages,
                             const content::Branding& branding);

/// What is posted to the page.
enum class StopRequest {
  none,
  opt_out,    ///< by the page's button
  one_click,  ///< to opt out, from a mailbox provider (RFC 8058)
  allow,      ///< by the page's button
};

/// One-click is a body in which List-Unsubscribe is followed by One-Click, urlencoded or as
/// multipart/form-data: to refuse such a wish for the shape of its form would be worse than to accept a
/// malformed one. Pure.
StopRequest stop_request(std::string_view body);

// Both return false when nothing changed, and audit what changed with the domain alone (CON-16). Durable when
// they return. They throw DependencyError.

/// Lists the gift's address as opted out.
bool opt_out(store::DoNotSend& list, const store::RecipientTransaction& gift, UtcMillis now);
/// Removes that entry. No other reason, and no entry of the domain.
bool allow_again(store::DoNotSend& list, const store::RecipientTransaction& gift, UtcMillis now);

}  // namespace giftsync::pages
