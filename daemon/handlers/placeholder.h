// daemon/handlers: finds unfilled merge fields in a text that is about to be sent (HTTP-24).
#pragma once

#include <optional>
#include <string_view>

namespace giftsync::daemon::handlers {

/// The first placeholder that a merge tool left unfilled, as written in the text; nullopt when there is none.
///
/// Unambiguous delimiters always count: {{first_name}}, {%if x%}, ${name}, @{name}, {!Contact.FirstName},
/// <%=name%>, %%name%%, *|FNAME|*, [[name]]. Brackets that people also write (<NAME>, [First Name], {name},
/// %NAME%, guillemets) count only around UPPER_CASE_WORDS or a usual field name, so that "<3", "[sic]" and
/// "100%" do not. Linear in the text's length.
std::optional<std::string_view> find_placeholder(std::string_view text);

}  // namespace giftsync::daemon::handlers
