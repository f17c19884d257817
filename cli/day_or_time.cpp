#include "cli/day_or_time.h"

#include <string_view>

#include "cli/duration.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {

bool is_day(const std::string& text) {
  return text.size() == std::string_view("2026-10-31").size() && platform::from_rfc3339(text + "T00:00:00Z");
}

std::optional<platform::UtcMillis> parse_day_or_time(const std::string& text, platform::UtcMillis now) {
  if (const auto age = parse_duration(text)) return now - *age;
  return platform::from_rfc3339(is_day(text) ? text + "T00:00:00Z" : text);
}

CLI::Validator day_or_time() {
  return {[](const std::string& text) -> std::string {
            if (parse_day_or_time(text, {})) return {};
            return "found " + platform::in_quotes(text) +
                   "; allowed: a day such as 2026-10-31, a time such as 2026-10-31T08:00:00Z, or how long "
                   "ago, such as 24h or 7d";
          },
          ""};
}

}  // namespace giftsync::cli
