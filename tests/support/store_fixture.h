// The fixture of store tests: a fresh store on each back end.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "schema/store/store.h"
#include "tests/support/temporary_database.h"

namespace giftsync::tests {

class StoreFixture : public DatabaseFixture<> {
 protected:
  void SetUp() override {
    DatabaseFixture::SetUp();
    if (IsSkipped()) return;
    store::migrate_store(address());
    store_ = std::make_unique<store::Store>(address());
  }
  void TearDown() override {
    store_.reset();
    DatabaseFixture::TearDown();
  }

  static constexpr UtcMillis kSentAt{1'800'000'000'000};
  static store::NewGiftRequest request_for(std::size_t recipients, SendMode mode = SendMode::email) {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.mode = mode;
    request.request.gift = {7};
    request.request.created_at = kSentAt;
    request.recipients.assign(recipients, {"ada@example.com", "", "", "Thanks"});
    return request;
  }
  /// The id of a gift that was sent at kSentAt.
  TransactionId one_gift(SendMode mode = SendMode::email) {
    const store::NewGiftRequest request = request_for(1, mode);
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }

  /// How many leases of a table run for more than a minute from now.
  std::string leases_beyond_a_minute(const std::string& table) {
    return scalar("SELECT cast(count(*) AS TEXT) FROM " + table + " WHERE lease_until > 60000 + " +
                  std::string(sql::database_now(dialect())));
  }

  std::unique_ptr<store::Store> store_;
};

}  // namespace giftsync::tests
