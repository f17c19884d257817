// daemon/http: leftovers of mail merge in a text that is about to be sent to a person (design 3.4).
#pragma once

#include <optional>
#include <string_view>

namespace giftsync::daemon {

/// The first placeholder that a merge tool left unfilled, as it stands in the text; nullopt when there is
/// none.
///
/// Delimiters that nothing else uses always count: {{first_name}}, {%if x%}, ${name}, @{name},
/// {!Contact.FirstName},
/// <%=name%>, %%name%%, *|FNAME|*, [[name]]. Brackets that people write too (<NAME>, [First Name], {name},
/// %NAME%, guillemets) count only around UPPER_CASE_WORDS or a usual field name, so that "<3", "[sic]" and
/// "100%" do not. Linear in the text's length.
std::optional<std::string_view> find_placeholder(std::string_view text);

}  // namespace giftsync::daemon
