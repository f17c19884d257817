// daemon/salesforce: the only writer of SOQL literals and identifiers. What a statement contains besides its
// own words comes from here, so no text from outside can change the statement. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/time.h"

namespace giftsync::daemon::salesforce {

/// Salesforce's limit for one text literal, in characters as UTF-16 counts them.
inline constexpr std::size_t kMaxLiteralLength = 4000;

/// UTF-16 code units of well-formed UTF-8: Salesforce counts lengths of statements and texts in these.
std::size_t utf16_length(std::string_view text);
/// The longest prefix of at most `units` of them, without half a character.
std::string_view cut_to_utf16(std::string_view text, std::size_t units);

/// 'O\'Brien': nullopt for what no field can hold: NUL, bytes that are not UTF-8 (lone surrogates too), and
/// more than kMaxLiteralLength characters.
std::optional<std::string> text_literal(std::string_view text);

/// Whether an org takes it for a record Id (schema/crm_id.h). Another text refuses the whole question or
/// row.
bool is_record_id(std::string_view text);
inline constexpr std::size_t kShortIdLength = 15;
/// 15 and 18 characters of one Id are equal in these.
std::string short_id(std::string_view id);
/// '0035g00000AbCdE': nullopt for what is no Id.
std::optional<std::string> id_literal(std::string_view id);

std::string number_literal(std::int64_t number);

/// 2026-11-22T10:00:00Z: the second in which the time lies, because Salesforce compares its own stamps by
/// whole seconds. With >= no row of that second is missed.
std::string time_literal(platform::UtcMillis time);

/// A field or an object, or a path over lookups: Opportunity.Account.Name.
bool is_identifier(std::string_view text);

}  // namespace giftsync::daemon::salesforce
