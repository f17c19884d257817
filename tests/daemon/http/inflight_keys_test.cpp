// An Idempotency-Key is in use by one request at a time.
#include <gtest/gtest.h>

#include <optional>

#include "daemon/http/request_rate_limiter.h"

namespace giftsync::http {
namespace {

// HTTP-33
TEST(InflightKeys, AKeyIsRefusedWhileItsFirstRequestRuns) {
  InflightKeys keys;
  std::optional<InflightKeys::Guard> first(keys.try_acquire("k1"));
  EXPECT_TRUE(*first);
  EXPECT_FALSE(keys.try_acquire("k1"));
  EXPECT_FALSE(keys.try_acquire("k1")) << "a refused request releases nothing";
  EXPECT_TRUE(keys.try_acquire("k2"));
  first.reset();
  EXPECT_TRUE(keys.try_acquire("k1"));
}

}  // namespace
}  // namespace giftsync::http
