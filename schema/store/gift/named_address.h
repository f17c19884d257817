// schema/store: where a text that something else than giftsync may have written names an address (GUARD-16).
// An address as a part of a longer one is another person's; what is between both is taken for the address:
// "_ana@" and "-ana@" after a space. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::store {

// `address_key`: as email_key() returns it.

/// The spellings of the address that texts have, in lower case: also with "%40" and "%2b", and in Unicode.
std::vector<std::string> address_spellings(const std::string& address_key);

/// Whether the text names the address as a word of its own, also after the escape of a character.
bool names_address(std::string_view text, const std::string& address_key);

/// The text with the mark in each place where it names the address.
std::string address_replaced(const std::string& text, const std::string& address_key,
                             const std::string& mark);

}  // namespace giftsync::store
