#include "tests/support/store_fixture.h"

#include "schema/sql/database.h"

namespace giftsync::tests {

void StoreFixture::SetUp() {
  DatabaseFixture::SetUp();
  if (IsSkipped()) return;
  store::migrate_store(address());
  store_ = std::make_unique<store::Store>(address());
}

void StoreFixture::TearDown() {
  store_.reset();
  DatabaseFixture::TearDown();
}

store::NewGiftRequest StoreFixture::request_for(std::size_t recipients, SendMode mode) {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.mode = mode;
  request.request.gift = {7};
  request.request.created_at = kSentAt;
  request.recipients.assign(recipients, {"ada@example.com", "", "", "Thanks"});
  return request;
}

TransactionId StoreFixture::one_gift(SendMode mode) {
  const store::NewGiftRequest request = request_for(1, mode);
  return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
}

std::string StoreFixture::leases_beyond_a_minute(const std::string& table) {
  return scalar("SELECT cast(count(*) AS TEXT) FROM " + table + " WHERE lease_until > 60000 + " +
                std::string(sql::database_now(dialect())));
}

}  // namespace giftsync::tests
