// A sealed text is opened by the same secret and label only, and any change of it is noticed.
#include <gtest/gtest.h>

#include "platform/keys.h"
#include "platform/text.h"

namespace giftsync {
namespace {

const std::string kSecret(32, 's');

TEST(SealedText, IsOpenedByTheSameSecretAndLabelOnly) {
  for (const std::string& text : {std::string(), std::string("00D!token"), std::string(5000, '\xff')}) {
    const std::string sealed = seal_text(kSecret, "salesforce token", text);
    EXPECT_EQ(open_sealed_text(kSecret, "salesforce token", sealed), text);
    EXPECT_EQ(open_sealed_text(kSecret, "another purpose", sealed), std::nullopt);
    EXPECT_EQ(open_sealed_text(std::string(32, 'x'), "salesforce token", sealed), std::nullopt);
  }
}

TEST(SealedText, IsDifferentEachTimeAndStorableAsText) {
  const std::string once = seal_text(kSecret, "label", "a secret text");
  const std::string twice = seal_text(kSecret, "label", "a secret text");
  EXPECT_NE(once, twice);
  EXPECT_TRUE(is_storable_text(once));
  EXPECT_EQ(once.find("secret"), std::string::npos);
}

TEST(SealedText, AnyChangeIsNoticed) {
  const std::string sealed = seal_text(kSecret, "label", "a secret text");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(open_sealed_text(kSecret, "label", changed), std::nullopt) << i;
    EXPECT_EQ(open_sealed_text(kSecret, "label", sealed.substr(0, i)), std::nullopt) << i;
  }
  EXPECT_EQ(open_sealed_text(kSecret, "label", sealed + "A"), std::nullopt);
}

}  // namespace
}  // namespace giftsync
