// schema/store: the transaction of a group of small writes that callers wait for: gift requests, messages of
// sources and decisions about gifts (ARCH-22).
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "schema/store/event/sources.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::store {

/// What became of one write: its outcome, or the fault for which it was not made.
template <class Outcome>
struct Written {
  Outcome outcome{};
  std::exception_ptr fault{};  ///< a DependencyError; null when there is an outcome

  /// Throws the fault.
  Outcome value() && {
    if (fault) std::rethrow_exception(fault);
    return std::move(outcome);
  }
};

struct WriteGroup {
  std::vector<NewGiftRequest> gift_requests;
  std::vector<InboundBatch> messages;  ///< of webhooks: without `advance`
  std::vector<Decision> decisions;

  std::size_t size() const { return gift_requests.size() + messages.size() + decisions.size(); }
};

/// In the order of the group's members.
struct GroupOutcomes {
  std::vector<Written<CreateOutcome>> gift_requests;
  std::vector<Written<IngestResult>> messages;
  std::vector<Written<ConditionalOutcome>> decisions;
};

class UrgentWrites {
 public:
  UrgentWrites(std::shared_ptr<sql::Database> database, GiftRequests& gift_requests, ChangeLog& changes,
               Sources& sources);

  /// Writes the group in one transaction, durable on return. Gift requests and plain messages are written
  /// together, each other message and each decision in a savepoint of its own. A member that is refused
  /// changes nothing for the others: when the database refuses the group, each is written alone (ARCH-23).
  ///
  /// When the connection breaks during COMMIT, each member finds out whether it was committed (ARCH-24): a
  /// gift request and a decision by the ids that they were allotted; a message is written again, which has no
  /// effect when it is known. While the store cannot answer, `may_try_again` is called; it waits and returns
  /// false when there is no time left. What is still not known then is `unknown`, or a transient fault.
  GroupOutcomes write(const WriteGroup& group, const std::function<bool()>& may_try_again);

 private:
  struct RemainingWrites;
  RemainingWrites prepare(const WriteGroup& group);
  GroupOutcomes write_prepared(const WriteGroup& group, RemainingWrites& others,
                               const std::function<bool()>& may_try_again);
  void write_each(const RemainingWrites& others, bool may_be_committed,
                  const std::function<bool()>& may_try_again, GroupOutcomes& outcomes);
  void resolve_gift_requests(const WriteGroup& group, const std::function<bool()>& may_try_again,
                             GroupOutcomes& outcomes);

  const std::shared_ptr<sql::Database> database_;
  GiftRequests& gift_requests_;
  ChangeLog& changes_;
  Sources& sources_;
};

}  // namespace giftsync::store
