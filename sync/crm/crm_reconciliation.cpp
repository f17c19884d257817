#include "sync/crm/crm_reconciliation.h"

#include <algorithm>
#include <optional>
#include <set>

#include "matching/match_decision.h"
#include "matching/rematch.h"
#include "schema/enums.h"
#include "schema/store/gift/erased_address.h"
#include "sync/crm/gift_record_draft.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {

using Kind = ReconciliationFinding::Kind;
using store::CrmSyncState;
using store::StatusChange;

constexpr auto kKinds = enum_words<Kind>({{Kind::unchanged, "unchanged"},
                                          {Kind::created, "created"},
                                          {Kind::repaired, "repaired"},
                                          {Kind::times_imported, "times_imported"},
                                          {Kind::recreated, "recreated"},
                                          {Kind::adopted, "adopted"},
                                          {Kind::deleted_in_crm, "deleted_in_crm"},
                                          {Kind::skipped, "skipped"},
                                          {Kind::queued, "queued"},
                                          {Kind::id_conflict, "id_conflict"},
                                          {Kind::refused, "refused"}});

constexpr const char* kRecordDeleted = "the gift record was deleted in the CRM";
constexpr const char* kOutcomeIgnored =
    "the time of an outcome that does not count is kept in the gift's history only";

/// The store's and the CRM's data of one transaction.
struct GiftAndRecord {
  std::optional<store::Gift> gift;
  std::optional<GiftRecord> record;
  std::optional<CrmSyncState> sync_state;
  bool is_queued = false;
};

struct LoadedBatch {
  std::map<TransactionId, GiftAndRecord> pairs;
  TransactionId last{kMaxId};
  bool done = false;
};

/// What was found, and what has to be written for it.
struct ReconciliationPlan {
  std::map<TransactionId, ReconciliationFinding> findings;
  std::vector<const GiftAndRecord*> compared;  ///< gifts that were compared with their record
  std::vector<CrmSyncState> skipped;
  std::vector<CrmSyncState> newly_deleted;
  std::vector<CrmSyncState> with_missing_lookups;
  std::vector<CrmSyncState> to_recreate;
  std::vector<store::Adoption> adoptions;
  std::vector<store::RecordRewrite> rewrites;
  std::vector<StatusChange> imported_changes;
};

struct ReconciliationContext {
  store::Store& store;
  crm::Crm& crm;
  const ReconciliationRules& rules;
  UtcMillis now;
};

/// The CRM refused the gift's record because of a record that giftsync did not write (GiftUpsert::may_adopt),
/// and that record still exists. The sync worker keeps retrying; only a change in the CRM can end the
/// conflict.
bool has_id_conflict(const GiftAndRecord& pair) {
  return pair.is_queued && pair.record && pair.sync_state && pair.sync_state->has_id_conflict();
}

/// Likewise because the record's version is above every one of the store: the admin who runs the backfill
/// says that the store is right.
bool is_ahead(const GiftAndRecord& pair) {
  using store::CrmSyncStatus;
  return pair.is_queued && pair.record && pair.gift && pair.sync_state &&
         pair.sync_state->state == CrmSyncStatus::rejected &&
         pair.sync_state->error == crm::newer_record_result(pair.gift->transaction.id).reason;
}

/// Reads the store first: a written record that the CRM then lacks was deleted, whatever a daemon does
/// meanwhile.
LoadedBatch load(store::Store& store, crm::Crm& crm, TransactionId after) {
  const std::size_t limit = crm.pace().rows_per_read;
  const std::vector<TransactionId> ids = store.backfill.transactions(after, limit);
  std::vector<store::Gift> gifts = store.gifts.find(ids);
  std::vector<CrmSyncState> sync_states = store.sync.find_states(ids);
  const std::vector<TransactionId> queued = store.backfill.find_queued(ids);
  std::vector<GiftRecord> records = crm.gift_records().page(after, limit);
  LoadedBatch batch;
  if (ids.size() == limit) batch.last = std::min(batch.last, ids.back());
  if (records.size() == limit) batch.last = std::min(batch.last, records.back().transaction());
  // No Transaction Id is larger.
  batch.done = (ids.size() < limit && records.size() < limit) || batch.last.value >= kMaxId;
  for (store::Gift& gift : gifts) {
    if (const auto id = gift.transaction.id; id <= batch.last) batch.pairs[id].gift = std::move(gift);
  }
  for (GiftRecord& record : records) {
    if (const auto id = record.transaction(); id <= batch.last) batch.pairs[id].record = std::move(record);
  }
  for (CrmSyncState& sync_state : sync_states) {
    if (const auto pair = batch.pairs.find(sync_state.transaction); pair != batch.pairs.end())
      pair->second.sync_state = std::move(sync_state);
  }
  for (const TransactionId id : queued) {
    if (const auto pair = batch.pairs.find(id); pair != batch.pairs.end()) pair->second.is_queued = true;
  }
  return batch;
}

/// Times filled into an adopted record that are not in the change log. Voided ones are in the log.
std::vector<StatusChange> times_to_import(const ReconciliationContext& context, const store::Gift& gift,
                                          const GiftRecord& record) {
  std::vector<StatusChange> imported = changes_from_record(record, gift.transaction.times, context.now);
  if (imported.empty()) return imported;
  const std::vector<StatusChange> known =
      context.store.changes.changes_of(std::span(&gift.transaction.id, 1));
  std::erase_if(imported, [&](const StatusChange& change) {
    return std::any_of(known.begin(), known.end(), [&](const StatusChange& status_change) {
      return status_change.source == change.source && status_change.status == change.status &&
             status_change.occurred_at == change.occurred_at;
    });
  });
  return imported;
}

/// The gift as the sync step will fold it.
store::Gift with_imported_times(store::ChangeLog& log, store::Gift gift,
                                const std::vector<StatusChange>& imported) {
  store::RecipientTransaction& transaction = gift.transaction;
  std::vector<store::ChangeSpan> spans = log.spans_of(std::span(&transaction.id, 1));
  for (const StatusChange& change : imported) spans.push_back(span_of(change));
  const FoldedStatus folded = fold(*transaction.times[Status::sent], spans, transaction.untimed_status);
  transaction.status = folded.status;
  transaction.times = folded.times;
  return gift;
}

void compare(const ReconciliationContext& context, const GiftAndRecord& pair, ReconciliationFinding& finding,
             ReconciliationPlan& plan) {
  const store::Gift& gift = *pair.gift;
  const GiftRecord& record = *pair.record;
  const SyncRules& rules = context.rules.sync;
  const bool is_adopted = gift.transaction.gift_source == store::kAdoptedGiftSource;
  const std::string link = rules.link_of ? rules.link_of(gift.transaction) : std::string();
  std::vector<StatusChange> imported;
  if (is_adopted) imported = times_to_import(context, gift, record);
  const store::Gift then =
      imported.empty() ? gift : with_imported_times(context.store.changes, gift, imported);
  GiftRecord wanted = draft_gift_record(then, pair.sync_state->decision, link, rules.integration_user).record;
  accept_fallback_owner(record, rules.fallback_owner, wanted);
  RecordDrift drift =
      compare_record(context.crm.gift_records(), record, wanted, is_adopted, rules.knows_link_of(gift));
  finding.repaired = std::move(drift.repaired);
  finding.differences = std::move(drift.differences);
  // The imported times are written back as they are, unless an earlier outcome wins the fold.
  for (const StatusChange& change : imported) {
    const GiftField field = time_field_of(change.status);
    if (record.get(field) == wanted.get(field))
      finding.imported_times.push_back({field, text_of(record.get(field)), text_of(wanted.get(field))});
    else
      finding.detail = kOutcomeIgnored;
  }
  plan.imported_changes.insert(plan.imported_changes.end(), imported.begin(), imported.end());
  plan.compared.push_back(&pair);
  const bool was_marked_deleted = pair.sync_state->state == store::CrmSyncStatus::deleted;
  if (finding.repaired.empty() && finding.imported_times.empty() && !was_marked_deleted) return;
  finding.kind = finding.repaired.empty() && !was_marked_deleted ? Kind::times_imported : Kind::repaired;
  if (was_marked_deleted) finding.detail = "the record was marked as deleted, but it is in the CRM";
  plan.rewrites.push_back({gift.transaction.id, gift.transaction.version, record.version});
}

void plan_unknown(const GiftRecord& record, UtcMillis now, ReconciliationFinding& finding,
                  ReconciliationPlan& plan) {
  auto adoption = plan_adoption(record, now);
  if (!adoption) {
    finding.kind = Kind::refused;
    finding.detail = adoption.error();
    return;
  }
  finding.kind = Kind::adopted;
  finding.detail = adoption->sync_state.decision.warnings;
  plan.adoptions.push_back(std::move(*adoption));
}

void plan_takeover(const ReconciliationContext& context, const GiftAndRecord& pair,
                   ReconciliationFinding& finding, ReconciliationPlan& plan) {
  const std::size_t rewrites = plan.rewrites.size();
  compare(context, pair, finding, plan);
  const store::RecipientTransaction& transaction = pair.gift->transaction;
  if (plan.rewrites.size() == rewrites)
    plan.rewrites.push_back({transaction.id, transaction.version, pair.record->version});
  finding.kind = Kind::repaired;
  finding.detail = "its Record Version was above the store's; giftsync's state is written over it";
}

void plan_deleted(const CrmSyncState& sync_state, bool recreate, ReconciliationFinding& finding,
                  ReconciliationPlan& plan) {
  if (recreate) {
    finding.kind = Kind::recreated;
    plan.to_recreate.push_back(sync_state);
    return;
  }
  finding.kind = Kind::deleted_in_crm;
  finding.detail = kRecordDeleted;
  if (sync_state.state != store::CrmSyncStatus::deleted) plan.newly_deleted.push_back(sync_state);
}

void plan_transaction(const ReconciliationContext& context, TransactionId id, const GiftAndRecord& pair,
                      ReconciliationPlan& plan) {
  ReconciliationFinding& finding = plan.findings[id];
  finding.transaction = id;
  // Its owner's CRM keeps what it knows of an erased person, and nothing is written to it (GUARD-18).
  if (pair.gift && store::is_erased_address(pair.gift->transaction.email) &&
      context.crm.person_rows() == nullptr)
    return;
  if (!pair.gift) {
    plan_unknown(*pair.record, context.now, finding, plan);
  } else if (has_id_conflict(pair)) {
    finding.kind = Kind::id_conflict;
    finding.detail = pair.sync_state->error;
  } else if (is_ahead(pair)) {
    plan_takeover(context, pair, finding, plan);
  } else if (pair.is_queued) {
    finding.kind = Kind::queued;
  } else if (pair.sync_state && pair.sync_state->state == store::CrmSyncStatus::skipped) {
    finding.kind = Kind::skipped;
    if (pair.record)
      finding.detail =
          "the settings skip this gift, but the CRM has a record of it; giftsync does not change it";
    else
      plan.skipped.push_back(*pair.sync_state);
  } else if (!pair.sync_state || (!pair.record && !pair.sync_state->was_written())) {
    // It is not in the CRM outbox, although a daemon should have put it there; do it now.
    finding.kind = Kind::queued;
    plan.rewrites.push_back({id, pair.gift->transaction.version, 0});
  } else if (pair.record) {
    compare(context, pair, finding, plan);
  } else {
    plan_deleted(*pair.sync_state, context.rules.recreate, finding, plan);
  }
}

void find_missing_lookups(crm::GiftRecords& records, ReconciliationPlan& plan) {
  std::vector<Associations> links;
  for (const GiftAndRecord* pair : plan.compared) links.push_back(associations_of(*pair->record));
  const std::vector<std::vector<GiftField>> missing = records.missing_lookups(links);
  for (std::size_t i = 0; i < plan.compared.size(); ++i) {
    if (missing[i].empty()) continue;
    CrmSyncState sync_state = *plan.compared[i]->sync_state;
    std::vector<FieldDrift>& lookups = plan.findings.at(sync_state.transaction).missing_lookups;
    for (const GiftField field : missing[i]) {
      lookups.push_back({field, text_of(plan.compared[i]->record->get(field)), ""});
      matching::add_warning(sync_state.decision, std::string(descriptor_of(field).label) + " " +
                                                     lookups.back().in_crm + " is not in the CRM any more.");
    }
    if (!sync_state.needs_relink) plan.with_missing_lookups.push_back(std::move(sync_state));
  }
}

/// Skipped gifts are matched again and get a record, if the settings allow. Returns those that do.
std::vector<TransactionId> rematch_skipped(const ReconciliationContext& context, ReconciliationPlan& plan) {
  matching::RematchRules rules;
  rules.match_fields = context.rules.sync.match_fields;
  rules.skip_unmatched = context.rules.sync.skip_unmatched;
  rules.tasks_enabled = context.rules.sync.tasks.enabled;
  rules.dry_run = context.rules.dry_run;
  std::vector<TransactionId> to_create;
  for (const matching::RematchResult& result :
       rematch(context.store, context.crm, rules, plan.skipped, context.now)) {
    if (result.kind == matching::RematchResult::Kind::to_create) {
      plan.findings.at(result.transaction).kind = Kind::created;
      to_create.push_back(result.transaction);
    } else if (result.kind == matching::RematchResult::Kind::failed) {
      plan.findings.at(result.transaction).kind = Kind::queued;
    }
  }
  return to_create;
}

/// Adds the written rows to `to_write`. Rows that changed meanwhile are left to the process that changed
/// them.
template <class Row>
void add_written(const std::vector<Row>& rows, const std::vector<TransactionId>& written,
                 ReconciliationPlan& plan, std::vector<TransactionId>& to_write) {
  to_write.insert(to_write.end(), written.begin(), written.end());
  const std::set<TransactionId> ids(written.begin(), written.end());
  for (const Row& row : rows) {
    if (!ids.contains(row.transaction)) plan.findings.at(row.transaction).kind = Kind::queued;
  }
}

void write(store::Store& store, UtcMillis now, ReconciliationPlan& plan,
           std::vector<TransactionId>& to_write) {
  const std::vector<TransactionId> ids = store.backfill.adopt(plan.adoptions, now);
  const std::set<TransactionId> adopted(ids.begin(), ids.end());
  for (const store::Adoption& adoption : plan.adoptions) {
    const TransactionId id = adoption.gift.transaction.id;
    // another process made it known meanwhile
    if (!adopted.contains(id))
      plan.findings.at(id).kind = Kind::queued;
    else if (adoption.write)
      to_write.push_back(id);
  }
  if (!plan.imported_changes.empty()) store.changes.accept(plan.imported_changes);
  add_written(plan.rewrites, store.backfill.rewrite(plan.rewrites, now), plan, to_write);
  add_written(plan.to_recreate, store.backfill.recreate(plan.to_recreate, now), plan, to_write);
  store.backfill.mark_deleted(plan.newly_deleted, kRecordDeleted);
  store.backfill.mark_needs_relink(plan.with_missing_lookups);
}

}  // namespace

std::string_view to_word(Kind kind) {
  return kKinds.word_of(kind);
}

ReconciliationBatch reconcile_gift_records(store::Store& store, crm::Crm& crm,
                                           const ReconciliationRules& rules, TransactionId after,
                                           UtcMillis now) {
  const ReconciliationContext context{store, crm, rules, now};
  const LoadedBatch loaded = load(store, crm, after);
  ReconciliationPlan plan;
  for (const auto& [id, pair] : loaded.pairs) plan_transaction(context, id, pair, plan);
  find_missing_lookups(crm.gift_records(), plan);
  ReconciliationBatch batch;
  batch.last = loaded.last;
  batch.done = loaded.done;
  batch.to_write = rematch_skipped(context, plan);
  if (!rules.dry_run) write(store, now, plan, batch.to_write);
  for (auto& [id, finding] : plan.findings) batch.findings.push_back(std::move(finding));
  return batch;
}

}  // namespace giftsync::sync
