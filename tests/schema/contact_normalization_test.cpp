// The keys under which addresses and phone numbers are compared.
#include "schema/contact_normalization.h"

#include <gtest/gtest.h>

namespace giftsync {
namespace {

// MATCH-2
TEST(ContactNormalization, AValidNumberHasOneKeyInEverySpelling) {
  for (const char* spelling :
       {"(650) 867-3450", "+1 650.867.3450", "1-650-867-3450 ext. 7", "Fax: 650 867 3450"})
    EXPECT_EQ(phone_key(spelling, "US"), "+16508673450") << spelling;
  EXPECT_EQ(phone_key("0191 498 0000", "GB"), "+441914980000");
  EXPECT_EQ(phone_key("+1 800 222 2223", "DE"), "+18002222223");
}

// MATCH-2
TEST(ContactNormalization, FillersAndTextsHaveNoKey) {
  for (const char* text : {"0000000000",
                           "000-000-0000",
                           "(000) 000-0000",
                           "111-111-1111",
                           "999 999 9999",
                           "555-555-5555",
                           "888-888-8888",
                           "+1 800 222 2222",
                           "123-456-7890",
                           "1234567890",
                           "0123456789",
                           "9876543210",
                           "+1 650 345 6789",
                           "650-765-4321",
                           "+49 0000000",
                           "+49 30 1111111",
                           "867-3450",
                           "650-867",
                           "n/a",
                           "",
                           "call 99-887766554433221100",
                           "Suite 1234567",
                           "order 20260201"})
    EXPECT_EQ(phone_key(text, "US"), "") << text;
  EXPECT_EQ(phone_key(std::string(9000, '7'), "US"), "");
}

// MATCH-1
TEST(ContactNormalization, AnAddressIsComparedWithoutWhiteSpaceAtItsEnds) {
  for (const char* text : {" Cr@X.example\r\n", "\tcr@x.example\v\f", "\u00A0cr@x.example\u2003\u3000",
                           "cr@x.example\u200B", "\uFEFFcr@x.example"})
    EXPECT_EQ(email_key(text), "cr@x.example") << text;
  EXPECT_EQ(email_key("\xFF cr@x.example"), "\xFF cr@x.example") << "bytes that are no text are no space";
  EXPECT_EQ(email_key(" \u00A0 "), "");
}

// covers: GUARD-20
TEST(ContactNormalization, AStoredAddressHasItsDomainAsSqlFindsIt) {
  for (const char* text :
       {"Info@MÜLLER.DE", "Info@Müller.de", "Info@mu\u0308ller.de", "Info@MU\u0308LLER.de", "Info@ｍüller.de",
        "Info@müller。de", "Info@müller.de\u200B", " Info@mÜller.DE\n"}) {
    EXPECT_EQ(email_to_store(text), "Info@müller.de") << text;
    EXPECT_EQ(email_key(email_to_store(text)), email_key(text)) << text;
  }
  for (const char* text : {"Info@Mueller.DE", "Info@XN--mller-kva.de", "info", "", "Müller",
                           "a@b@Example.com", "ada@example.com\u00a0Byron", "Ada@Müller_Söhne.de"})
    EXPECT_EQ(email_to_store(text), text);
}

TEST(ContactNormalization, WhatFollowsANulIsPartOfTheAddress) {
  const std::string text("cr@x.example\0\u00e9", 15);
  EXPECT_TRUE(email_error(text));
  EXPECT_EQ(email_key(text), text);
}

}  // namespace
}  // namespace giftsync
