#include "wiring/poll_position.h"

#include "daemon/sources/poll_cursor.h"
#include "platform/iso8601.h"

namespace giftsync::wiring {

namespace sources = daemon::sources;

tl::expected<std::string, std::string> continue_poll_at(const daemon::config::SourceSettings& source,
                                                        const std::string& installation,
                                                        const std::string& cursor_state,
                                                        const std::string& value) {
  sources::PollCursor position = sources::parse_poll_cursor(cursor_state);
  sources::apply_config_fingerprint(
      position, sources::config_fingerprint(sources::compile_source(source, installation)));
  sources::restart_run(position);
  position.cached_pages.clear();
  position.consecutive_unreadable_pages = 0;
  position.refusals = 0;  // of the position before
  const auto time = source.since.empty() ? std::nullopt : platform::from_iso8601(value);
  if (time) {
    position.since = time;
    position.since_advanced_at = time;
    position.is_overlap_complete = true;
  } else if (!source.next.empty()) {
    position.next = platform::resolve_url(source.url, value);
    if (!platform::is_same_origin(source.url, position.next))
      return tl::unexpected(std::string("the URL of the next page, on the host of the source's url"));
  } else if (!source.cursor_parameter.empty()) {
    position.cursor = value;
  } else {
    return tl::unexpected(std::string(source.since.empty() ? "nothing, because the source has one page"
                                                           : "a time such as 2026-11-21T12:31:07Z"));
  }
  return sources::serialize(position);
}

}  // namespace giftsync::wiring
