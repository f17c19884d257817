// The ground that tests of the store stand on: a fresh store on each back end.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "schema/store/store.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::schema {

class StoreGround : public DatabaseGround<> {
 protected:
  void SetUp() override {
    DatabaseGround::SetUp();
    if (IsSkipped()) return;
    migrate_store(address());
    store_ = std::make_unique<Store>(address());
  }
  void TearDown() override {
    store_.reset();
    DatabaseGround::TearDown();
  }

  static constexpr UtcMillis kSentAt{1'800'000'000'000};
  static NewGiftRequest request_for(std::size_t recipients, SendMode mode = SendMode::email) {
    NewGiftRequest request;
    request.request.account = {1};
    request.request.mode = mode;
    request.request.gift = {7};
    request.request.created_at = kSentAt;
    request.recipients.assign(recipients, {"ada@example.com", "", "", "Thanks"});
    return request;
  }
  /// The id of a gift that was sent at kSentAt.
  TransactionId one_gift(SendMode mode = SendMode::email) {
    const NewGiftRequest request = request_for(1, mode);
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }

  /// How many leases of a table run for more than a minute from now.
  std::string leases_beyond_a_minute(const std::string& table) {
    return scalar("SELECT cast(count(*) AS TEXT) FROM " + table + " WHERE lease_until > 60000 + " +
                  std::string(schema::sql::database_now(dialect())));
  }

  std::unique_ptr<Store> store_;
};

}  // namespace giftsync::schema
