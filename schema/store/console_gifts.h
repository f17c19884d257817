// schema/store: the gifts as console and API list them (CON-16, CON-17, API-1): for a viewer, by keyset, and
// over a bounded number of gifts, so that a filter that nearly no gift passes does not read the whole table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::store {

/// The state of a gift's record in the CRM, as a filter.
enum class CrmFilter { any, waiting, failing, rejected, unmatched, needs_relink, skipped, deleted };
std::string_view to_word(CrmFilter filter);
std::optional<CrmFilter> crm_filter_from_word(std::string_view word);

/// An empty field matches all.
struct ConsoleGiftFilter {
  std::optional<Status> status = {};
  std::vector<TransactionId> ids = {};  ///< any of these; empty: of any id
  std::string recipient = {};           ///< an e-mail address; ignored for a masked viewer
  /// A part of the recipient's first and last name, letters of any script without case; ignored for a masked
  /// viewer.
  std::string name = {};
  /// The id in the CRM of the gift's record, or of the contact, lead, account or opportunity that it is
  /// linked to. With a name too, either of both.
  std::string crm_id = {};
  std::string sender = {};                 ///< an e-mail address
  std::string item = {};                   ///< the item's number or its exact name
  std::string campaign = {};               ///< the exact utm_campaign_id
  std::string key = {};                    ///< GiftRequest::credential_prefix
  std::optional<std::string> source = {};  ///< the exact gift_source; empty: sent by giftsync
  std::optional<UtcMillis> sent_since = {};
  std::optional<UtcMillis> sent_until = {};         ///< before then
  std::optional<UtcMillis> reached_since = {};      ///< came to `status`, which is set, then or later
  std::optional<UtcMillis> reached_until = {};      ///< and before then
  std::optional<GiftRequestId> request = {};        ///< of this gift request
  std::string reference = {};                       ///< exactly, of the gift or of its request
  std::optional<UtcMillis> undelivered_since = {};  ///< became undelivered then or later, and still are
  CrmFilter crm = CrmFilter::any;
  std::string error_class = {};  ///< CrmFailureClass::error; ignored for a masked viewer
  bool conflict = false;         ///< only those with contradicting final statuses
};

struct ConsoleGift {
  Gift gift;
  std::optional<CrmSyncStatus> crm_state = {};  ///< none before the first sync
  std::string contact_id = {};
  std::string lead_id = {};
  bool needs_relink = false;
  bool is_waiting = false;    ///< the CRM does not have the current state
  std::int64_t failures = 0;  ///< of the attempts to write it
  std::string last_error = {};
};

struct ConsoleGiftPage {
  std::vector<ConsoleGift> gifts;              ///< by descending id
  std::optional<TransactionId> next_before{};  ///< where the listing continues; absent at the end
  /// The search stopped here, after `budget` gifts, and not because the page is full.
  std::optional<UtcMillis> searched_back_to{};
};

struct ListedRequest {
  GiftRequest request;
  std::int64_t gifts = 0;
};

struct ListedRequestPage {
  std::vector<ListedRequest> requests;         ///< by descending id
  std::optional<GiftRequestId> next_before{};  ///< where the listing continues; absent at the end
};

/// The same in the order of sending.
struct SentGiftPage {
  std::vector<ConsoleGift> gifts;    ///< the latest sent first
  std::optional<SentPosition> next;  ///< the listing continues below it; absent at the end
};
struct SentRequestPage {
  std::vector<ListedRequest> requests;  ///< the latest sent first
  std::optional<SentPosition> next;
};

/// Whether a list with that filter is to be read in the order of sending: it has a time of sending, and no
/// index finds its gifts better. By id all gifts would be looked at, also those of other times.
bool goes_by_sending(const Viewer& viewer, const ConsoleGiftFilter& filter);

/// A gift of a class of failures.
struct FailingGift {
  UtcMillis since = {};  ///< when the first of the attempts failed that have failed in a row
  /// When the last one failed, by the clock of audit events; zero: none since the gift was queued. A fault of
  /// the whole CRM is no attempt, and leaves it.
  UtcMillis failed_at = {};
  UtcMillis next_attempt_at = {};
};

/// The class of an error: its text with # for each number.
std::string failure_class_of(const std::string& error);

/// Gifts whose records the CRM does not get, of one error.
struct CrmFailureClass {
  std::string error;          ///< with # in place of each number
  std::string example;        ///< the error of one gift, as it is
  std::int64_t gifts = 0;     ///< bounded
  TransactionId last;         ///< the one with the highest id
  std::int64_t rejected = 0;  ///< of the gifts: refused by the CRM as they are; they rest up to a day
  // Since when its gifts fail, whatever their errors were before: the first one and the last one.
  UtcMillis first_failing_since = {};
  UtcMillis last_failing_since = {};
  std::vector<FailingGift> failing = {};  ///< each of its gifts
};

/// Any thread.
class ConsoleGifts {
 public:
  /// How many gifts one call of list() looks at; of a filter with ids, an address, a request, a reference
  /// that no more have, or undelivered_since, of those that an index has for it (CON-47).
  static constexpr std::int64_t kScanBudget = 30'000;
  static constexpr std::size_t kMaxFailures = 10'000;

  explicit ConsoleGifts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Up to `limit` gifts with an id below `before`, or the highest ones. For a masked viewer what names the
  /// recipient is replaced (CON-59); both names are in first_name.
  ConsoleGiftPage list(const Viewer& viewer, const ConsoleGiftFilter& filter,
                       std::optional<TransactionId> before, std::size_t limit,
                       std::int64_t budget = kScanBudget);
  /// Nothing when there is no such gift, or the viewer does not see it.
  std::optional<ConsoleGift> find(const Viewer& viewer, TransactionId id);
  /// The same of gift requests that giftsync took. Of the filter count sender, item, campaign, key,
  /// reference, of the request alone, and the times of sending.
  ListedRequestPage list_requests(const Viewer& viewer, const ConsoleGiftFilter& filter,
                                  std::optional<GiftRequestId> before, std::size_t limit,
                                  std::int64_t budget = kScanBudget);
  /// As list() and list_requests(), for a filter that goes_by_sending(): of gifts that were sent in its time
  /// `budget` are looked at, by the index of the times, and no others.
  SentGiftPage list_by_sending(const Viewer& viewer, const ConsoleGiftFilter& filter,
                               std::optional<SentPosition> below, std::size_t limit,
                               std::int64_t budget = kScanBudget);
  SentRequestPage list_requests_by_sending(const Viewer& viewer, const ConsoleGiftFilter& filter,
                                           std::optional<SentPosition> below, std::size_t limit,
                                           std::int64_t budget = kScanBudget);
  /// The classes with the most gifts first, of what the viewer sees of the kMaxFailures failing gifts with
  /// the highest ids.
  std::vector<CrmFailureClass> failure_classes(const Viewer& viewer);
  /// Whether at least kMaxFailures gifts of all senders fail: there may be more than failure_classes() has
  /// looked at.
  bool has_most_failures();
  /// The gifts that became undelivered since then and still are; bounded.
  std::int64_t count_undelivered(const Viewer& viewer, UtcMillis since);
  static constexpr std::int64_t kUndeliveredDays = 7;  ///< that status and overview count
  /// The rejected gifts of that class, at most `limit` of the same failing gifts.
  std::vector<TransactionId> rejected_gifts(const Viewer& viewer, const std::string& error_class,
                                            std::size_t limit);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
