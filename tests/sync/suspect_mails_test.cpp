// Whose fault a code such as 421 or 530 in reply to a recipient is, as a table (MAIL-27).
#include <gtest/gtest.h>

#include <utility>

#include "sync/mail/relay_health.h"

namespace giftsync::sync {
namespace {

using Addresses = std::vector<std::string>;

TEST(RelaysFault, ThreeDifferentRecipientsShowIt) {
  const std::vector<std::pair<Addresses, bool>> cases{{{}, false},
                                                      {{"a@x"}, false},
                                                      {{"a@x", "b@x"}, false},
                                                      {{"a@x", "a@x", "a@x", "a@x"}, false},
                                                      {{"a@x", "b@x", "a@x"}, false},
                                                      {{"a@x", "b@x", "c@x"}, true},
                                                      {{"a@x", "a@x", "b@y", "c@z"}, true}};
  for (const auto& [recipients, is_relays] : cases)
    EXPECT_EQ(is_relays_fault(recipients), is_relays) << testing::PrintToString(recipients);
}

struct TellingCase {
  Addresses waiting;
  Addresses suspects;
  std::size_t next;
};

TEST(MostTelling, AnotherDomainGoesBeforeAnotherAddress) {
  const std::vector<TellingCase> cases{
      {{"a@x", "b@x"}, {}, 0},
      {{"a@x", "b@x", "c@y"}, {"a@x"}, 2},
      {{"a@x", "b@x"}, {"a@x"}, 1},
      {{"a@x", "a@x"}, {"a@x"}, 0},
      {{"b@x", "c@y", "d@z"}, {"a@x", "a@y"}, 2},
      {{"b@x", "c@y"}, {"a@x", "a@y"}, 0},
      {{"no address", "b@x"}, {"a@x"}, 0},
  };
  for (const TellingCase& one : cases)
    EXPECT_EQ(most_telling(one.waiting, one.suspects), one.next) << testing::PrintToString(one.waiting);
}

}  // namespace
}  // namespace giftsync::sync
