// schema/store: where events of the feed are posted, how far each endpoint has come, the events that are
// tried again by themselves, and the log of attempts (HOOK-5). An endpoint keeps one position in the feed,
// not a row for each event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/record_fields.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync {

/// `failing`: only one event at a time tests it. `disabled`: nothing is posted until an admin enables it.
enum class WebhookState { active, failing, disabled };
std::string_view to_word(WebhookState state);
std::optional<WebhookState> webhook_state_from_word(std::string_view word);

}  // namespace giftsync

namespace giftsync::store {

/// Of one owner: of an account, of an organization, or of all.
inline constexpr std::size_t kMaxWebhookEndpoints = 20;
/// Of all owners: each has a worker that reads the store every second.
inline constexpr std::size_t kMaxWebhookEndpointsInAll = 100;
/// As given to seal_text() for the secrets.
inline constexpr std::string_view kWebhookSecretLabel = "webhook secret";

struct WebhookEndpoint {
  std::int64_t id = 0;
  std::string name{};
  std::string url{};
  std::string types{};                 ///< "gift.*,gift_request.held"; empty: all
  std::optional<AccountId> account{};  ///< whose events; neither of both: all
  std::optional<OrganizationId> organization{};
  bool is_test = false;           ///< gets the events of test gifts, and no others
  std::string secret{};           ///< sealed
  std::string previous_secret{};  ///< sealed; also signs until `previous_until`; empty: none does
  std::optional<UtcMillis> previous_until{};
  std::int64_t epoch = 0;     ///< of the feed
  std::int64_t position = 0;  ///< the last event that was tried or passed
  WebhookState state = WebhookState::active;
  UtcMillis state_since{};
  std::string reason{};         ///< why it is not active
  std::int64_t failures = 0;    ///< of first attempts, in a row
  UtcMillis next_attempt_at{};  ///< of one that is failing
  std::int64_t attempts = 0;    ///< that were made so far
  UtcMillis created_at{};
  std::string created_by{};
};

// One field a line.
// clang-format off
inline constexpr auto kWebhookEndpointFields = record_fields(
    "webhook_endpoint",
    field<&WebhookEndpoint::id>("id"),
    field<&WebhookEndpoint::name>("name"),
    field<&WebhookEndpoint::url>("url"),
    field<&WebhookEndpoint::types>("types"),
    field<&WebhookEndpoint::account>("account_id"),
    field<&WebhookEndpoint::organization>("organization_id"),
    field<&WebhookEndpoint::is_test>("is_test"),
    field<&WebhookEndpoint::secret>("secret"),
    field<&WebhookEndpoint::previous_secret>("previous_secret"),
    field<&WebhookEndpoint::previous_until>("previous_until"),
    field<&WebhookEndpoint::epoch>("epoch"),
    field<&WebhookEndpoint::position>("position"),
    field<&WebhookEndpoint::state>("state"),
    field<&WebhookEndpoint::state_since>("state_since"),
    field<&WebhookEndpoint::reason>("reason"),
    field<&WebhookEndpoint::failures>("failures"),
    field<&WebhookEndpoint::next_attempt_at>("next_attempt_at"),
    field<&WebhookEndpoint::attempts>("attempts"),
    field<&WebhookEndpoint::created_at>("created_at"),
    field<&WebhookEndpoint::created_by>("created_by"));
// clang-format on

/// An event that is tried again by itself.
struct WebhookRetry {
  std::int64_t seq = 0;
  std::int64_t attempt = 0;                    ///< how many were made
  std::optional<UtcMillis> next_attempt_at{};  ///< absent: given up
};

struct WebhookAttempt {
  std::int64_t endpoint = 0;
  std::int64_t number = 0;   ///< counts those of the endpoint; set by the store
  std::int64_t seq = 0;      ///< of the event; 0: a test
  std::int64_t attempt = 0;  ///< of the event; 1: the first
  UtcMillis started_at{};
  std::int64_t millis = 0;  ///< how long it took
  std::int64_t status = 0;  ///< 0: no complete response
  std::string error{};      ///< why there was none
  std::string response{};   ///< the beginning of its body, as printable text
  bool failed = false;
};

// One field a line.
// clang-format off
inline constexpr auto kWebhookAttemptFields = record_fields(
    "webhook_attempt",
    field<&WebhookAttempt::endpoint>("endpoint_id"),
    field<&WebhookAttempt::number>("number"),
    field<&WebhookAttempt::seq>("seq"),
    field<&WebhookAttempt::attempt>("attempt"),
    field<&WebhookAttempt::started_at>("started_at"),
    field<&WebhookAttempt::millis>("millis"),
    field<&WebhookAttempt::status>("status"),
    field<&WebhookAttempt::error>("error"),
    field<&WebhookAttempt::response>("response"),
    field<&WebhookAttempt::failed>("failed"));
// clang-format on

/// What a batch has come to.
struct WebhookResults {
  WebhookEndpoint before;                  ///< as it was read
  WebhookEndpoint after;                   ///< epoch, position, state and what belongs to it
  std::vector<WebhookRetry> retries = {};  ///< inserted, or in place of those with the same number
  std::vector<std::int64_t> ended = {};    ///< numbers of retries that were taken
  std::vector<WebhookAttempt> attempts = {};
  std::optional<AuditEvent> audit = {};  ///< of one that was disabled
};

/// How many events of an endpoint are tried by themselves, and how many were given up.
struct WebhookRetryCounts {
  std::int64_t waiting = 0;
  std::int64_t given_up = 0;
};

/// Any thread. Throws DependencyError.
class WebhookEndpoints {
 public:
  explicit WebhookEndpoints(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  enum class Inserted { done, name_exists, too_many, too_many_in_all };
  /// Sets its id.
  Inserted insert(WebhookEndpoint& endpoint, const AuditEvent& audit);
  /// By name.
  std::vector<WebhookEndpoint> list();
  /// Those whose events are of what the viewer sees (CON-7).
  std::vector<WebhookEndpoint> list(const Viewer& viewer);
  std::optional<WebhookEndpoint> find(const std::string& name);
  std::optional<WebhookEndpoint> find(std::int64_t id);
  std::optional<WebhookEndpoint> find(const Viewer& viewer, std::int64_t id);

  // An admin's changes. False, without a change, when there is no such endpoint.
  /// Name, URL and types. Throws when another one has the name.
  bool update(const WebhookEndpoint& endpoint, const AuditEvent& audit);
  /// The secrets.
  bool replace_secrets(const WebhookEndpoint& endpoint, const AuditEvent& audit);
  /// Epoch and position.
  bool move(const WebhookEndpoint& endpoint, const AuditEvent& audit);
  /// The state, with all that belongs to it, epoch and position.
  bool set_state(const WebhookEndpoint& endpoint, const AuditEvent& audit);
  /// Also deletes its retries and attempts.
  bool remove(std::int64_t endpoint, const AuditEvent& audit);
  /// Makes the waiting and given-up retries of an endpoint due, or that of one event; returns how many. One
  /// that is failing is tested at once, unless the event is not there (HOOK-9).
  std::int64_t retry_now(std::int64_t endpoint, std::optional<std::int64_t> seq, UtcMillis now,
                         const AuditEvent& audit);
  /// The poster of any daemon tests an endpoint that is failing at once; nothing for others.
  void wake(std::int64_t endpoint, UtcMillis now);

  // The poster's.
  /// Those that are due, the longest first.
  std::vector<WebhookRetry> due_retries(std::int64_t endpoint, UtcMillis now, std::size_t limit);
  /// The first one that waits, due or not.
  std::optional<WebhookRetry> next_retry(std::int64_t endpoint);
  /// In one transaction (HOOK-5). Position and state stay when an admin has changed them since they were
  /// read; so does the time of the next attempt, after wake().
  void save(const WebhookResults& results);
  /// The endpoint goes on at another place of the feed, of another epoch: its retries are of no event any
  /// more.
  void begin_epoch(const WebhookEndpoint& endpoint);
  /// The endpoint goes on at another place of the same epoch.
  void begin_place(const WebhookEndpoint& endpoint);

  WebhookRetryCounts count_retries(std::int64_t endpoint);
  /// By their event's number, behind `after`.
  std::vector<WebhookRetry> list_retries(std::int64_t endpoint, std::int64_t after, std::size_t limit);
  /// The newest first, with a number below `below`.
  std::vector<WebhookAttempt> list_attempts(std::int64_t endpoint, bool only_failed, std::int64_t below,
                                            std::size_t limit);
  void add_attempt(const WebhookAttempt& attempt);
  /// Deletes attempts from before then, and retries of events below `oldest`, which the feed has no more.
  void prune(UtcMillis before, std::int64_t oldest);

 private:
  template <class Change>
  bool change(std::int64_t endpoint, const AuditEvent& audit, const Change& change);

  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
