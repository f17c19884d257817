#include "cli/request_record_retry.h"

#include <fmt/format.h>

#include "platform/plural.h"
#include "sync/request_record_retry.h"

namespace giftsync::cli {

void retry_failed_requests(const Console& console, CliContext& ctx) {
  const std::int64_t count = sync::retry_failed_request_records(ctx.store);
  if (count == 0) return;
  console.info(fmt::format("{} that could not be sent {} tried again now.",
                           platform::pluralize(count, "request record"),
                           platform::plural_verb(count, "is", "are")));
}

}  // namespace giftsync::cli
