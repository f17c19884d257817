#include "sync/sending_times.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using schema::Status;
using schema::TransactionId;
using schema::UtcMillis;
using Times = std::map<TransactionId, UtcMillis>;

bool is_from_outside(const schema::RecipientTransaction& gift) {
  return !gift.origin.empty() && gift.origin != schema::kAdoptedOrigin;
}

void take(Times& times, TransactionId id, UtcMillis time) {
  const auto [known, is_first] = times.emplace(id, time);
  if (!is_first) known->second = std::min(known->second, time);
}

/// A gift is made by a report of its sending. Before such reports were changes, only the gift kept its time.
bool is_report_kept(const schema::Gift& gift, std::span<const schema::StatusChange> changes) {
  return std::any_of(changes.begin(), changes.end(), [&](const schema::StatusChange& change) {
    return change.transaction == gift.transaction.id && change.status == Status::sent &&
           change.occurred_at == gift.request.created_at;
  });
}

}  // namespace

Times reported_times_of_sending(schema::ChangeLog& log, std::span<const schema::Gift* const> gifts,
                                std::span<const schema::ChangeSpan> counting) {
  Times times;
  for (const schema::ChangeSpan& span : counting) {
    if (span.status == Status::sent) take(times, span.transaction, span.earliest);
  }
  std::vector<const schema::Gift*> unsure;  // the report that made them seems not to count
  std::vector<TransactionId> ids;
  for (const schema::Gift* gift : gifts) {
    const TransactionId id = gift->transaction.id;
    const auto earliest = times.find(id);
    if (!is_from_outside(gift->transaction)) {
      if (earliest != times.end()) times.erase(earliest);
    } else if (earliest == times.end() || earliest->second > gift->request.created_at) {
      unsure.push_back(gift);
      ids.push_back(id);
    }
  }
  if (unsure.empty()) return times;
  const std::vector<schema::StatusChange> changes = log.changes_of(ids);
  for (const schema::Gift* gift : unsure) {
    if (!is_report_kept(*gift, changes)) take(times, gift->transaction.id, gift->request.created_at);
  }
  Times voided;
  for (const schema::StatusChange& change : changes) {
    if (change.status == Status::sent && !times.contains(change.transaction))
      take(voided, change.transaction, change.occurred_at);
  }
  times.merge(voided);
  return times;
}

}  // namespace giftsync::sync
