// schema/store: the statement of a page view as SQL. Included by this folder's .cpp files and by the test of
// its plan only.
#pragma once

#include <string>

namespace giftsync::schema::store {

/// All that a page of the gift :id shows: one row for each span of its changes, or one row with a null status
/// when it has none. The other columns are the same in all rows.
std::string page_view_query();

}  // namespace giftsync::schema::store
