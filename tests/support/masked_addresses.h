// What an auditor reads in place of a text in the field of an address (CON-59). The store's SQL and the pages
// are held to the same table.
#pragma once

namespace giftsync::tests {

struct MaskedAddress {
  const char* text;
  const char* masked;
};

inline constexpr MaskedAddress kMaskedAddresses[] = {
    {"", ""},
    {"ada@example.com", "***@example.com"},
    {"Ada.B+c@Mail-1.example.COM", "***@Mail-1.example.COM"},
    {"\"ada b\"@example.com", "***@example.com"},
    {"\xc3\xa4"
     "da@example.com",
     "***@example.com"},
    {"ada@xn--bcher-kva.example", "***@xn--bcher-kva.example"},
    {"***@example.com", "***@example.com"},
    // White space, brackets and a second "@" of other scripts look the same to a byte.
    {"ada@b\xc3\xbc"
     "cher.example",
     "***"},
    {"ada@example.com\xc2\xa0"
     "Byron",
     "***"},
    {"no address", "***"},
    {"@adabyron", "***"},
    {"ada@", "***"},
    {"ada%40example.com", "***"},
    {"a@b@example.com", "***"},
    {"@@example.com", "***"},
    {"bea@example.org, ada@example.com", "***"},
    {"bea@example.org;ada@example.com", "***"},
    {"ada@example.com (Ada Lovelace)", "***"},
    {"Ada Lovelace <ada@example.com>", "***"},
    {"ada@example.com ", "***"},
    {"ada@example.com\nAda", "***"},
    {"ada@example.com'Ada", "***"},
    {"ada@example.com_lovelace", "***"},
    {"ada@example.com/bea", "***"},
};

}  // namespace giftsync::tests
