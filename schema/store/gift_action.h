// schema/store: what was done with a gift that is no status change: by whom, when and why.
#pragma once

#include <string>
#include <string_view>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::schema::store {

enum class GiftActionKind { resent, reminded, cancelled, linked };
std::string_view to_word(GiftActionKind kind);

struct GiftAction {
  TransactionId transaction;
  platform::UtcMillis at;
  GiftActionKind kind = GiftActionKind::resent;
  std::string actor;
  std::string comment;          ///< readable
  bool is_readdressed = false;  ///< it changed the gift's address (CON-55)
};

}  // namespace giftsync::schema::store
