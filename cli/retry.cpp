#include "cli/retry.h"

#include <fmt/format.h>
#include <sysexits.h>

#include "cli/commands.h"
#include "platform/text.h"
#include "sync/request/request_record_state_machine.h"

namespace giftsync::cli {

void add_retry_options(Command& verb, const std::shared_ptr<RetryOptions>& options,
                       const std::string& all_help) {
  verb.add_option("GIFT", options->gifts, "Transaction ids of gifts")->check(whole_number());
  verb.add_flag("--all", options->all, all_help);
}

int retry(const Console& console, const RetryOptions& options, const Retry& retry) {
  int code = EX_OK;
  for (const std::int64_t gift : options.gifts) {
    if (const std::string reason = retry.one({gift}); !reason.empty())
      code = console.fail(EX_DATAERR, reason);
    else
      console.info(fmt::format("The {} of gift {} is tried now.", retry.what, gift));
  }
  if (code == EX_OK && options.all) console.info(retry.all());
  return code;
}

void retry_failed_requests(const Console& console, CliContext& ctx) {
  const std::int64_t count = sync::retry_failed_request_records(ctx.store.request_records);
  if (count == 0) return;
  console.info(fmt::format("{} that could not be sent {} tried again now.",
                           pluralize(count, "request record"), plural_verb(count, "is", "are")));
}

}  // namespace giftsync::cli
