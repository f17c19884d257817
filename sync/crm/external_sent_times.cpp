#include "sync/crm/external_sent_times.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using Times = std::map<TransactionId, UtcMillis>;

bool is_external(const store::RecipientTransaction& gift) {
  return !gift.gift_source.empty() && gift.gift_source != store::kAdoptedGiftSource;
}

void keep_earliest(Times& times, TransactionId id, UtcMillis time) {
  const auto [known, is_first] = times.emplace(id, time);
  if (!is_first) known->second = std::min(known->second, time);
}

/// A "sent" change creates a gift. Older stores have only the gift's own time.
bool has_sent_report(const store::Gift& gift, std::span<const store::StatusChange> changes) {
  return std::any_of(changes.begin(), changes.end(), [&](const store::StatusChange& change) {
    return change.transaction == gift.transaction.id && change.status == Status::sent &&
           change.occurred_at == gift.request.created_at;
  });
}

}  // namespace

Times reported_sent_times(store::ChangeLog& log, std::span<const store::Gift* const> gifts,
                          std::span<const store::ChangeSpan> effective_spans) {
  Times times;
  for (const store::ChangeSpan& span : effective_spans) {
    if (span.status == Status::sent) keep_earliest(times, span.transaction, span.earliest);
  }
  std::vector<const store::Gift*> unconfirmed;  // the change that created them does not seem to count
  std::vector<TransactionId> ids;
  for (const store::Gift* gift : gifts) {
    const TransactionId id = gift->transaction.id;
    const auto earliest = times.find(id);
    if (!is_external(gift->transaction)) {
      if (earliest != times.end()) times.erase(earliest);
    } else if (earliest == times.end() || earliest->second > gift->request.created_at) {
      unconfirmed.push_back(gift);
      ids.push_back(id);
    }
  }
  if (unconfirmed.empty()) return times;
  const std::vector<store::StatusChange> changes = log.changes_of(ids);
  for (const store::Gift* gift : unconfirmed) {
    if (!has_sent_report(*gift, changes))
      keep_earliest(times, gift->transaction.id, gift->request.created_at);
  }
  Times voided;
  for (const store::StatusChange& change : changes) {
    if (change.status == Status::sent && !times.contains(change.transaction))
      keep_earliest(voided, change.transaction, change.occurred_at);
  }
  times.merge(voided);
  return times;
}

}  // namespace giftsync::sync
