// The fixture of store tests: a fresh store on each back end.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schema/store/store.h"
#include "tests/support/temporary_database.h"

namespace giftsync::tests {

class StoreFixture : public DatabaseFixture<> {
 protected:
  void SetUp() override;
  void TearDown() override;

  static constexpr UtcMillis kSentAt{1'800'000'000'000};
  static store::NewGiftRequest request_for(std::size_t recipients, SendMode mode = SendMode::email);
  /// The id of a gift that was sent at kSentAt.
  TransactionId one_gift(SendMode mode = SendMode::email);
  /// How many leases of a table run for more than a minute from now.
  std::string leases_beyond_a_minute(const std::string& table);

  std::unique_ptr<store::Store> store_;
};

}  // namespace giftsync::tests
