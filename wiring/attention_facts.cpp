#include "wiring/attention_facts.h"

#include <algorithm>
#include <array>

#include "wiring/org_status.h"
#include "wiring/store_preflight.h"

namespace giftsync::wiring {
namespace {

/// With the state "removed" for those that the settings do not have.
std::vector<schema::store::SourceSummary> sources_of(const daemon::config::Settings& settings,
                                                     schema::store::Store& store) {
  auto sources = store.sources.list();
  for (schema::store::SourceSummary& row : sources) {
    const bool is_removed =
        std::none_of(settings.sources.begin(), settings.sources.end(),
                     [&](const daemon::config::SourceSettings& one) { return one.name == row.name; });
    if (!is_removed) continue;
    row.state = "removed";
    row.reason.clear();
  }
  return sources;
}

}  // namespace

sync::AttentionFacts attention_facts(const daemon::config::Settings& settings, schema::store::Store& store,
                                     const schema::store::StoreStats& stats, const std::string& program,
                                     platform::UtcMillis now) {
  sync::AttentionFacts facts;
  facts.program = program;
  facts.mail_pauses = store.deliveries.breakers();
  facts.shared_replies =
      sync::shared_replies(store.deliveries.failed_mails(now - sync::kSharedReplyMillis), now);
  constexpr std::array kHeld{schema::DeliveryState::held};
  for (const auto& [state, count] : store.deliveries.count_by_state(kHeld)) facts.held_mails += count;
  facts.sync = store.sync.counts();
  facts.rejected_records = store.sync.count_states(schema::store::CrmSyncStatus::rejected);
  if (const auto org = org_status(settings, store, now))
    for (const OrgPause& pause : org_pauses(*org, program))
      if (!pause.next_step.empty()) facts.crm_pauses.push_back({pause.summary, pause.next_step});
  facts.requests_in_error = stats.requests_in_error;
  facts.gifts_in_future = stats.gifts_in_future;
  facts.full_disk = full_disk_clause(settings).value_or("");
  facts.sources = sources_of(settings, store);
  facts.codes = store.codes.counts(settings.catalogue.low_code_threshold);
  return facts;
}

}  // namespace giftsync::wiring
