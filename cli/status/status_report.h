// cli: what `status` has found, and what of it needs an admin.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/daemon_report.h"
#include "daemon/config/effective_settings.h"
#include "daemon/config/read_settings.h"
#include "daemon/wiring/org_status.h"
#include "schema/store/store.h"
#include "schema/store/store_stats.h"
#include "sync/attention.h"

namespace giftsync::cli {

/// What `status` prints.
struct StatusReport {
  sync::AttentionFacts facts;  ///< without daemons and settings_faults
  std::size_t accounts = 0;
  std::size_t active_accounts = 0;
  std::size_t keys = 0;
  std::size_t working_keys = 0;
  std::size_t paused_keys = 0;
  std::size_t keys_without_access = 0;  ///< valid keys whose account or plan has no access
  std::vector<std::pair<DeliveryState, std::int64_t>> mails;
  std::vector<store::DeliveryRow> uncertain_mails;
  std::int64_t undelivered_gifts = 0;  ///< of the last 7 days
  std::vector<std::pair<store::CrmSyncStatus, std::int64_t>> sync_states;
  std::int64_t orphaned_changes = 0;
  std::size_t items_without_redemption = 0;
  store::StoreStats stats;
  std::optional<wiring::OrgStatus> org;                ///< of crm.type: salesforce
  std::vector<DaemonReport> daemons;                   ///< never empty: daemon_reports()
  std::optional<UnitState> unit;                       ///< asked when the first daemon does not answer
  std::vector<config::SettingDifference> differences;  ///< of the first daemon and the settings file
  std::vector<std::string> settings_faults;            ///< of the settings file
};

/// The conditions of sync/attention.h (OPS-27). Warnings such as a low number of gift codes are not in it.
std::vector<sync::AttentionItem> needs_attention(const StatusReport& report);

/// The daemon that the settings file leads to, asked without the store: at the address that its unit names
/// when it runs with this file, which may be faulty, else at the file's own.
DaemonProbe probe_without_store(const config::SettingsReading& file, const std::optional<UnitState>& unit,
                                const ProbeDaemon& probe);

/// Why `status` is refused, as `refusal` says, and the one next step.
sync::AttentionItem refused_item(const config::SettingsReading& file,
                                 const std::vector<std::string>& refusal);

/// 69 when the daemon does not answer, 1 when something needs an admin, else 0 (OPS-27).
int exit_code(const StatusReport& report, const std::vector<sync::AttentionItem>& attention);

}  // namespace giftsync::cli
