// covers: CON-59
#include "schema/record_fields.h"

#include <gtest/gtest.h>

#include "tests/support/json.h"

namespace giftsync {
namespace {

struct Parcel {
  std::int64_t weight = 0;
  bool is_fragile = false;
  std::string street = {};
  std::optional<Money> price = {};
  std::optional<UtcMillis> sent_at = {};
  std::string note = {};
};

// One field a line.
// clang-format off
constexpr auto kParcelFields = record_fields(
    "parcel",
    field<&Parcel::weight>("weight", "Weight"),
    field<&Parcel::is_fragile>("is_fragile", "Fragile"),
    field<&Parcel::street>("street", "Street").masked(),
    field<&Parcel::price>("price", "Price"),
    field<&Parcel::sent_at>("sent_at", "Sent"),
    field<&Parcel::note>("note"));
// clang-format on

TEST(RecordFields, FieldsWithATitleAreListedAsNumbersFlagsTextsAndNull) {
  nlohmann::ordered_json json{{"id", 7}};
  add_listed(json, kParcelFields, {0, true, "", Money{550}, UtcMillis{0}, "not listed"});
  EXPECT_EQ(json.dump(), R"({"id":7,"weight":0,"is_fragile":true,"street":null,"price":"5.50",)"
                         R"("sent_at":"1970-01-01T00:00:00.000Z"})");
}

TEST(RecordFields, OnlyMaskedFieldsAreMasked) {
  std::string masked;
  kParcelFields.each([&](const auto& field) { masked += field.is_masked ? field.column : ""; });
  EXPECT_EQ(masked, "street");
  EXPECT_EQ(kParcelFields.index_of("sent_at"), 4u);
}

}  // namespace
}  // namespace giftsync
