// cli: what `status` has found, and what of it needs an admin.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/daemon_report.h"
#include "daemon/config/effective_settings.h"
#include "schema/store/store.h"
#include "schema/store/store_stats.h"
#include "wiring/org_status.h"

namespace giftsync::cli {

/// What `status` prints.
struct StatusReport {
  std::size_t accounts = 0;
  std::size_t active_accounts = 0;
  std::size_t keys = 0;
  std::size_t working_keys = 0;
  std::size_t keys_without_access = 0;  ///< valid keys whose account or plan has no access
  std::vector<std::pair<schema::DeliveryState, std::int64_t>> mails;
  std::vector<schema::store::CircuitBreaker> pauses;  ///< of mail delivery, one per daemon; the longest first
  std::vector<schema::store::DeliveryRow> uncertain_mails;
  schema::store::SyncQueue::Counts sync;
  std::vector<std::pair<schema::store::CrmSyncStatus, std::int64_t>> sync_states;
  std::int64_t orphaned_changes = 0;
  std::vector<schema::store::SourceSummary> sources;
  std::vector<schema::store::GiftCodeCounts> codes;
  std::size_t items_without_redemption = 0;
  schema::store::StoreStats stats;
  std::string full_disk;                                       ///< wiring::full_disk_clause(); empty: none
  std::optional<wiring::OrgStatus> org;                        ///< of crm.type: salesforce
  std::vector<DaemonReport> daemons;                           ///< never empty: daemon_reports()
  std::vector<daemon::config::SettingDifference> differences;  ///< of the first daemon and the settings file
  std::vector<std::string> settings_faults;                    ///< of the settings file
};

struct AttentionItem {
  std::string what;
  std::string next_step;
};

/// What does not get better until an admin acts (OPS-27). Warnings such as a low number of gift codes are not
/// in it. `program`: "giftsyncctl ", for commands that can be copied.
std::vector<AttentionItem> needs_attention(const StatusReport& report, const std::string& program);

/// 69 when the daemon does not answer, 1 when something needs an admin, else 0 (OPS-27).
int exit_code(const StatusReport& report, const std::vector<AttentionItem>& attention);

}  // namespace giftsync::cli
