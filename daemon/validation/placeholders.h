// daemon/validation: finds unfilled merge fields in a text that is about to be sent (HTTP-24). Pure.
#pragma once

#include <optional>
#include <string_view>

namespace giftsync::validation {

/// The first placeholder that a merge tool left unfilled, as written in the text; nullopt when there is none.
///
/// Delimiters that people do not write count around nearly everything: {{first_name}}, {%if x%}, ${name},
/// {!Contact.FirstName}, <%=name%>, %%name%%, *|FNAME|*. Brackets that people also write (<NAME>, [First
/// Name], {name}, [[name]], %NAME%, guillemets) count only around UPPER_CASE_WORDS or a usual field name, so
/// that
/// "<3", "[sic]" and "100%" do not. Linear in the text's length.
std::optional<std::string_view> find_placeholder(std::string_view text);

}  // namespace giftsync::validation
