// schema: e-mail addresses and phone numbers: validation and normalization (MATCH-1, MATCH-2, HTTP-22).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync::schema {

/// The reason why an e-mail address is invalid, as a sentence for the caller; empty when it is valid: RFC
/// 5321 dot-atom local part (<= 64 octets), a domain of at least one label (internationalised ones by
/// IDNA 2008), <= 254 octets in total, no quoted local part and no address literal. White space around it
/// is ignored.
std::optional<std::string> email_error(std::string_view email);

/// The key under which two spellings of one address are equal: trimmed, lower case, domain in its ASCII
/// form. Text that is no address gets a key as well (CRM rows hold anything). Empty text gets an empty
/// key, which matches nothing.
std::string email_key(std::string_view email);

/// A key with its domain in Unicode, as CRM rows may have it; the key itself when both are equal.
std::string email_key_in_unicode(const std::string& key);

/// The address for an SMTP envelope: the domain in its ASCII form.
std::string email_for_envelope(std::string_view email);

/// The key under which two written forms of one phone number are equal: E.164 ("+16508673450") when it
/// parses as a possible number of `default_region` ("US", ISO 3166), else its digits when there are at
/// least 7, else empty (matches nothing).
std::string phone_key(std::string_view phone, std::string_view default_region);

/// True when libphonenumber supports the two-letter region.
bool is_phone_region(std::string_view region);

/// The form in which domains are compared: lower case, ASCII. Empty for an invalid domain.
std::string normalized_domain(std::string_view domain);

}  // namespace giftsync::schema
