// daemon/pages: what a gift's page says, by the link that was followed and by how the gift stands.
#pragma once

#include <string_view>

#include "daemon/pages/gift_page.h"

namespace giftsync::daemon {

struct GiftPageWords {
  std::string_view headline;  ///< follows the sender's name: "sent you a gift"
  std::string_view notice;
  std::string_view notice_text;
  std::string_view link_text;  ///< for the link to the other choice; empty: there is no choice
};

GiftPageWords words_for(GiftPageKind kind, schema::Status status);

}  // namespace giftsync::daemon
