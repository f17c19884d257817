// wiring: what giftsync knows of its org of Salesforce (crm.type: salesforce), for commands, probes and the
// log, and the change to another org (ORG-4). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "crm/salesforce/calls/access_token.h"
#include "daemon/config/settings.h"
#include "platform/time.h"
#include "schema/store/store.h"
#include "schema/store/store_stats.h"
#include "sync/attention.h"

namespace giftsync::wiring {

/// As the store has it: the daemons' calls keep it current, and nothing is asked of the org.
struct OrgStatus {
  std::string organization_id = {};        ///< whose records the store has; empty before the first sign-in
  std::string other_organization_id = {};  ///< to which the settings lead; empty: to the same
  std::int64_t own_calls = 0;              ///< of giftsync within 24 hours
  std::optional<std::int64_t> share = {};  ///< calls that giftsync may use in 24 hours
  std::optional<std::int64_t> org_calls = {};  ///< of all integrations, at the last answer
  std::optional<std::int64_t> org_limit = {};
  std::optional<UtcMillis> paused_until = {};  ///< no call before that time
  std::string pause_reason = {};
  std::string pause_next_step = {};  ///< of an admin; empty where time alone helps
  /// Request records, tasks and backfills are not called for before that time: giftsync's share is used up.
  std::optional<UtcMillis> share_free_at = {};
  std::string share_reason = {};
  std::string share_next_step = {};
  /// What the org refuses until an admin has mended it, in words: "tasks".
  struct Refusal {
    std::string what;
    UtcMillis until;  ///< when it is tried again
    std::string reason;
    std::string next_step;
  };
  std::vector<Refusal> refusals = {};
  std::string write_problem = {};  ///< why no gift record is written, with the remedy; empty: they are
  /// For which a process makes no call; nullopt while none is refused.
  std::optional<salesforce::StoredRefusal> refused_sign_in = {};
  /// Records that outbound messages named and that no worker has looked up.
  store::CrmChangeBacklog messages = {};
};
/// Nullopt for another kind of CRM.
std::optional<OrgStatus> org_status(const config::Settings& settings, store::Store& store, UtcMillis now);

/// Why calls of an org are not made, or not all.
struct OrgPause {
  std::string summary;    ///< a sentence without an end: "the CRM is paused: ..."
  std::string detail;     ///< a clause: "paused: ..."
  std::string next_step;  ///< of an admin; empty where time alone helps
};
/// `program`: "giftsyncctl ", for commands that can be copied.
std::vector<OrgPause> org_pauses(const OrgStatus& status, const std::string& program);

/// "crm.salesforce.domain leads to the org X, and ...": why no call is made; empty while the org is the same.
std::string other_org_clause(const OrgStatus& status);

/// All daemons and commands of the store, waiting ones too, ask the org again at once, also while it rests
/// after a refused quota or in the org's maintenance, and look whether what kept them from writing is
/// repaired; giftsync's own share stays a limit. Nothing for another kind of CRM.
void ask_org_again(const config::Settings& settings, store::Store& store);

struct OrgIdentity {
  std::string organization_id;
  std::string user_id;
};
/// The org to which the settings lead, by a new sign-in; or why it is not known, as a sentence with the next
/// step.
tl::expected<OrgIdentity, std::string> find_org(const config::Settings& settings);

/// From now on the records are written in the org `organization_id`. What is stored of the other org is
/// deleted: session, count of calls, highest Transaction Id, the Ids of records and tasks, what it calls the
/// object of request records, which of their changes were seen, and those that its messages named.
void accept_org(const config::Settings& settings, const std::string& organization_id);

// What an installation's store and CRM say about its health, for `status` and the console (OPS-27).

/// Everything but the daemons and the settings file on disk. `program`: "giftsyncctl ", for commands that can
/// be copied. `stats`: of now, which callers show too. Its counts are bounded (OPS-33). Any thread.
sync::AttentionFacts attention_facts(const config::Settings& settings, store::Store& store,
                                     const store::StoreStats& stats, const std::string& program,
                                     UtcMillis now);

/// How many budgets of the present periods are used up: those that AttentionFacts has, and
/// more_used_up_budgets.
std::int64_t count_used_up_budgets(const config::Settings& settings, store::Store& store, UtcMillis now);

}  // namespace giftsync::wiring
