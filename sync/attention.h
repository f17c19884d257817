// sync: what of an installation does not get better until an admin acts (OPS-27). `status`, its exit code and
// the console's overview say the same, because all of them ask needs_attention(). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/server_certificate.h"
#include "platform/text.h"
#include "schema/store/account/credentials.h"
#include "schema/store/background_work.h"
#include "schema/store/crm/backfill_store.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/event/sources.h"
#include "schema/store/event/webhook_endpoints.h"
#include "schema/store/gift/gift_codes.h"
#include "schema/store/gift/sending_usage.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/mail/delivery_queue.h"
#include "schema/store/mail/mail_pauses.h"
#include "schema/store/statements/bounded_count.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::sync {

/// The part of an installation that a condition belongs to.
enum class Part { daemon, store, mail, crm, requests, sources, items, keys, sending, webhooks };
inline constexpr Part kAllParts[] = {Part::store,   Part::daemon, Part::mail, Part::crm,     Part::requests,
                                     Part::sources, Part::items,  Part::keys, Part::sending, Part::webhooks};
std::string_view to_word(Part part);

/// What one condition has found.
struct Finding {
  std::string what;
  std::string next_step;
  std::string object = {};  ///< the source, item or key that it is about; may be empty
};

struct AttentionItem : Finding {
  std::string condition;  ///< its name for monitors, which stays: "mail.held"
  Part part;
};

/// A budget of which 100 % or more is used, or whose rest pays for no gift (GUARD-14).
struct UsedUpBudget {
  std::string kind;  ///< "account", "organization" or "installation"
  std::string name;  ///< the account's address or the organization's name; empty: the installation
  store::UsageLimit limit;
  store::Usage used;
};
inline constexpr std::size_t kMaxUsedUpBudgets = 20;

/// The certificate of `server.tls` that clients refuse, or refuse within days.
struct BadCertificate {
  std::string file;
  CertificateDates dates;
  CertificateState state = CertificateState::ending;  ///< never good
};

/// Everything that the conditions look at.
struct AttentionFacts {
  std::string program = "giftsyncctl ";  ///< for commands that can be copied
  std::vector<store::SeenDaemonInstance> daemons = {};
  std::vector<Finding> daemon_faults = {};        ///< by who has asked the daemons
  std::vector<std::string> settings_faults = {};  ///< of the file on disk
  std::string clock_doubt = {};  ///< of a daemon, as ClockDoubt is described; empty: its clock is trusted
  std::optional<BadCertificate> certificate = {};
  std::string full_disk = {};          ///< what is full, as a sentence's beginning; empty: none is
  store::BackgroundWork upgrade = {};  ///< what an upgrade has left to do
  std::int64_t gifts_in_future = 0;
  std::vector<store::CircuitBreaker> mail_pauses = {};
  std::optional<store::MailPause> admin_pause = {};  ///< of all mail
  std::int64_t waiting_mails = 0;                    ///< counted while there is an admin_pause
  std::vector<store::Credential> paused_credentials = {};
  std::int64_t held_mails = 0;
  std::vector<SharedReply> shared_replies = {};  ///< with which many mails failed
  std::vector<Finding> crm_pauses = {};          ///< only those that an admin ends
  store::SyncQueue::Counts sync = {};
  std::int64_t rejected_records = 0;
  std::vector<store::BackfillRun> backfills = {};  ///< the latest run of each
  std::int64_t requests_in_error = 0;
  std::vector<store::SourceSummary> sources = {};
  std::vector<store::GiftCodeCounts> codes = {};
  std::vector<UsedUpBudget> used_up_budgets = {};     ///< the first kMaxUsedUpBudgets
  std::int64_t more_used_up_budgets = 0;              ///< beyond those
  std::int64_t waiting_requests = 0;                  ///< gift requests that are held
  std::vector<store::WebhookEndpoint> webhooks = {};  ///< also those that take events
  bool is_feed_on = true;                             ///< feed.enabled
  bool has_sending_limit = true;  ///< a budget or a burst limits what is sent; no condition
};

/// A daemon that runs is seen every ten seconds.
inline constexpr std::int64_t kMaxUnseenMillis = 60'000;

/// In the order of the table of conditions.
std::vector<AttentionItem> needs_attention(const AttentionFacts& facts);

/// "mars" of a daemon's "mars 1f3c".
std::string host_name(const store::SeenDaemonInstance& daemon);

// Bounded counts of the store in words (OPS-33).

/// "17", or "more than 10000".
inline std::string count_text(std::int64_t count) {
  if (count <= store::kMaxCounted) return std::to_string(count);
  return "more than " + std::to_string(store::kMaxCounted);
}

/// "1 gift", "17 gifts", "more than 10000 gifts".
inline std::string count_text(std::int64_t count, std::string_view singular) {
  if (count <= store::kMaxCounted) return pluralize(count, singular);
  return count_text(count) + " " + std::string(singular) + "s";
}

}  // namespace giftsync::sync
