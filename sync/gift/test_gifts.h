// sync: test gifts (TEST-1). The recipient's address says what becomes of one: an address of giftsync.test
// has an outcome of its own, any other becomes delivered. Pure, but for the last function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/gift_record.h"
#include "schema/store/store.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::sync {

/// The domain of recipients with outcomes. Its top-level domain is reserved, so no such mailbox exists.
inline constexpr std::string_view kTestDomain = "giftsync.test";

/// What becomes of a test gift (TEST-4): the part of its recipient's address before @ and +.
enum class TestOutcome {
  delivered,
  undelivered,
  opened,
  redeemed,
  donated,
  expired,
  refunded,
  complained,
  opted_out,
  do_not_send,  ///< the request is refused
  held,         ///< the request is held
};
/// "delivered, undelivered, ..." for messages.
std::string test_outcome_words();

/// The source of the changes that a test gift's steps are. No source of the settings has a blank in its name.
inline constexpr const char* kTestSource = "test gift";

/// An address of giftsync.test, in any case.
bool is_test_address(std::string_view email);
/// Of an address of giftsync.test; nothing when its domain is another or it names no outcome.
std::optional<TestOutcome> test_outcome_of(std::string_view email);

/// What the timer does next with a test gift in that state, and when: one step a second from its sending on
/// (TEST-5). Nothing once it has all steps.
std::optional<DueOutcome> next_test_step(const store::Gift& gift, const FoldedStatus& state);

/// The record that the CRM would have, as JSON: each field by its name, and under "warnings" what the match
/// and the record say.
std::string test_record_json(const GiftRecord& record, const std::vector<std::string>& warnings);

/// Deletes the test gifts that were requested before then, and the held ones; returns how many. A part of
/// them while `may_continue` says so.
std::int64_t purge_test_gifts(store::TestGifts& test_gifts, UtcMillis before,
                              const std::function<bool()>& may_continue);

}  // namespace giftsync::sync
