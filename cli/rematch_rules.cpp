#include "cli/rematch_rules.h"

#include "cli/os_user.h"
#include "wiring/database_config.h"

namespace giftsync::cli {

sync::RematchRules rematch_rules(const CliContext& ctx) {
  sync::RematchRules rules;
  rules.match_fields = wiring::match_fields(ctx.settings.matching);
  rules.skip_unmatched = ctx.settings.matching.skip_unmatched;
  rules.tasks_enabled = ctx.settings.tasks.enabled;
  rules.by = os_user() + " on the command line";
  return rules;
}

}  // namespace giftsync::cli
