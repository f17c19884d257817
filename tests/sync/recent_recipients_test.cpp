// What is said of recipients who got many gifts lately.
#include "sync/access/recent_recipients.h"

#include <gtest/gtest.h>

#include <vector>

namespace giftsync::sync {
namespace {

UtcMillis at(const char* text) {
  return *from_rfc3339(text);
}

store::RecentRecipient recipient(std::int64_t gifts, std::int64_t requested = 1) {
  store::RecentRecipient recipient{0, "kim@example.com", gifts, {}, requested};
  recipient.limit = 2;
  recipient.days = 30;
  if (gifts > 0) recipient.newest_at = at("2026-11-20T23:59:00Z");
  return recipient;
}

// covers: GUARD-19
TEST(RecentRecipients, TheSentenceCanBeReadOut) {
  EXPECT_EQ(describe(recipient(2)),
            "kim@example.com got 2 gifts in the last 30 days (the newest on 2026-11-20); the limit is 2.");
  EXPECT_EQ(
      describe(recipient(1, 2)),
      "kim@example.com got 1 gift in the last 30 days (the newest on 2026-11-20), and this request has 2 "
      "more; the limit is 2.");
  EXPECT_EQ(describe(recipient(0, 3)),
            "This request has 3 gifts for kim@example.com; the limit is 2 in 30 days.");
}

// covers: GUARD-19
TEST(RecentRecipients, TheRequestFitsWhenTheLastRecipientDoes) {
  std::vector<store::RecentRecipient> recipients{recipient(2), recipient(2)};
  recipients[0].fits_at = at("2026-12-05T10:00:00Z");
  recipients[1].fits_at = at("2026-12-03T10:00:00Z");
  EXPECT_EQ(available_at(recipients), recipients[0].fits_at);
  recipients.push_back(recipient(0, 3));
  EXPECT_EQ(available_at(recipients), std::nullopt);
}

}  // namespace
}  // namespace giftsync::sync
