// schema: e-mail addresses and phone numbers: what is a valid one, and when two are the same
// (design 3.2, 3.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync::schema {

/// Why an e-mail address is refused, as a sentence for the caller; empty when it is good: RFC 5321 dot-atom
/// local part (<= 64 octets), a domain of at least one label (internationalised ones by IDNA 2008), <= 254
/// octets in all, no quoted local part and no address literal. White space around it does not count.
std::optional<std::string> email_fault(std::string_view email);

/// The key under which two spellings of one address are equal: trimmed, lower case, domain in its ASCII form.
/// Text that is no address still gets a key (CRM rows hold anything); empty text gets an empty key, which
/// matches nothing.
std::string email_key(std::string_view email);

/// A key with its domain in Unicode, as rows of a CRM may have it; the key itself when that is the same.
std::string email_key_in_unicode(const std::string& key);

/// The address as it goes into an SMTP envelope: the domain in its ASCII form.
std::string email_for_envelope(std::string_view email);

/// The key under which two written forms of one phone number are equal: E.164 ("+16508673450") when it parses
/// as a possible number of `default_region` ("US", ISO 3166), else its digits when there are at least 7, else
/// empty (matches nothing).
std::string phone_key(std::string_view phone, std::string_view default_region);

/// True when libphonenumber knows the two-letter region.
bool is_phone_region(std::string_view region);

}  // namespace giftsync::schema
