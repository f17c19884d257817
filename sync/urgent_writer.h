// sync: makes a gift request durable, alone or in one commit with those of other callers.
#pragma once

#include <optional>

#include "schema/store/gift_requests.h"

namespace giftsync::sync {

class GiftRequestWriter {
 public:
  virtual ~GiftRequestWriter() = default;
  /// Durable on return. Nullopt: too many callers are waiting; try again later. Throws
  /// platform::DependencyError when the store fails. Any thread.
  virtual std::optional<schema::store::CreateOutcome> create(schema::store::NewGiftRequest request) = 0;
};

}  // namespace giftsync::sync
