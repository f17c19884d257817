// schema: e-mail addresses and phone numbers: validation and normalization (MATCH-1, MATCH-2, HTTP-22).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync {

/// The reason why an e-mail address is invalid, as a sentence for the caller; empty when it is valid: RFC
/// 5321 dot-atom local part (<= 64 octets), a domain of at least one label (internationalised ones by
/// IDNA 2008), <= 254 octets in total, no quoted local part and no address literal. White space around it
/// is ignored.
std::optional<std::string> email_error(std::string_view email);

/// The key under which two spellings of one address are equal: without white space at its ends, of any
/// script, lower case, domain in its ASCII form. Text that is no address gets a key as well (CRM rows hold
/// anything). Empty text gets an empty key, which matches nothing.
std::string email_key(std::string_view email);

/// A key with its domain in Unicode, as CRM rows may have it; the key itself when both are equal.
std::string email_key_in_unicode(const std::string& key);

/// The address as gifts have it: an internationalised domain in Unicode, lower case and composed; any other
/// text as it is. SQL, which folds A to Z alone, then finds it under its key or the key in Unicode.
std::string email_to_store(std::string_view email);

/// The address for an SMTP envelope: the domain in its ASCII form.
std::string email_for_envelope(std::string_view email);

/// The key under which two written forms of one phone number are equal: E.164 ("+16508673450") when it is a
/// valid number, without country code of `default_region` ("US", ISO 3166). Else empty (matches nothing), and
/// so for a filler: the last seven digits are one digit, or follow each other up or down (MATCH-2).
std::string phone_key(std::string_view phone, std::string_view default_region);

/// The white space that email_key() removes, beyond ASCII's: code points of Unicode. For SQL, which has to
/// remove the same.
inline constexpr std::array<char32_t, 21> kWideSpaces{0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003,
                                                      0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                                      0x200B, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF};

/// True when libphonenumber supports the two-letter region.
bool is_phone_region(std::string_view region);

/// The form in which domains are compared: lower case, ASCII. Empty for an invalid domain.
std::string normalized_domain(std::string_view domain);

// How a phone number may be written where a CRM can only be asked for equal texts. Pure; any thread.

/// The usual spellings of a phone_key(), the key first, each once: E.164 and its digits, international and
/// national forms with spaces, hyphens, dots and without. A key that is no number has only itself. Other
/// spellings (an extension, a remark) are not among them.
std::vector<std::string> phone_spellings(const std::string& key);

}  // namespace giftsync
