#include "sync/crm_reconciliation.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "schema/contact_normalization.h"
#include "sync/adopt_existing.h"
#include "sync/gift_record_draft.h"
#include "sync/match_decision.h"
#include "sync/rematch.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

using Kind = ReconciliationFinding::Kind;

constexpr const char* kRecordDeleted = "the gift record was deleted in the CRM";
constexpr const char* kOutcomeIgnored =
    "the time of an outcome that does not count is kept in the gift's history only";

std::string text_of(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<schema::Money>(&value)) return schema::to_decimal(*money);
  if (const auto* time = std::get_if<platform::UtcMillis>(&value)) return platform::to_rfc3339(*time);
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return "";
}

/// Of an adopted record the store computes only these fields; all others were read from the record.
bool is_status_field(schema::GiftField field) {
  if (field == schema::GiftField::status) return true;
  return schema::descriptor_of(field).type == schema::FieldType::date_time &&
         field != schema::GiftField::sent_at;
}

/// Fields of an adopted record that the store keeps too. When the record has another value now, the
/// difference is reported and the record is not changed.
bool is_reported_when_adopted(schema::GiftField field) {
  return field == schema::GiftField::sent_at || field == schema::GiftField::total_price;
}

/// Many CRMs store whole seconds, and e-mail addresses in lower case.
bool is_same(schema::GiftField field, const schema::FieldValue& in_crm, const schema::FieldValue& wanted) {
  if (schema::descriptor_of(field).type == schema::FieldType::email)
    return schema::email_key(text_of(in_crm)) == schema::email_key(text_of(wanted));
  const auto* one = std::get_if<platform::UtcMillis>(&in_crm);
  const auto* other = std::get_if<platform::UtcMillis>(&wanted);
  if (!one || !other) return in_crm == wanted;
  const bool is_whole = one->value % platform::kSecondMillis == 0;
  return *one == *other || (is_whole && platform::are_within_a_second(*one, *other));
}

/// The text in the CRM that is not a value of the field.
const std::string* unreadable_text_of(const schema::GiftRecord& record, schema::GiftField field) {
  for (const schema::UnreadableValue& cell : record.unreadable) {
    if (cell.field == field) return &cell.text;
  }
  return nullptr;
}

bool has_value(const schema::GiftRecord& record, schema::GiftField field) {
  return !std::holds_alternative<std::monostate>(record.get(field));
}

/// An unknown price may have been entered in the CRM by a user.
bool keeps_crm_value(const schema::GiftRecord& wanted, schema::GiftField field) {
  return !has_value(wanted, field) && schema::is_preserved_when_absent(field);
}

/// The store's and the CRM's data of one transaction.
struct GiftAndRecord {
  const schema::store::Gift* gift = nullptr;
  const schema::GiftRecord* record = nullptr;
  const schema::store::CrmSyncState* sync_state = nullptr;
  bool is_queued = false;
};

/// The CRM refused the gift's record because of a record that giftsync did not write (GiftUpsert::may_adopt),
/// and that record still exists. The sync worker keeps retrying; only a change in the CRM can end the
/// conflict.
bool has_id_conflict(const GiftAndRecord& pair) {
  return pair.is_queued && pair.record && pair.sync_state && pair.sync_state->has_id_conflict();
}

class GiftRecordReconciler {
 public:
  GiftRecordReconciler(schema::store::Store& store, schema::crm::Crm& crm, const ReconciliationRules& rules,
                       schema::TransactionId after, platform::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), after_(after), now_(now) {}

  ReconciliationBatch run() {
    load();
    for (const auto& [id, pair] : pairs_) classify(id, pair);
    find_missing_lookups();
    rematch_skipped();
    adopt();
    rewrite();
    recreate();
    if (!rules_.dry_run) {
      store_.backfill.mark_deleted(newly_deleted_, kRecordDeleted);
      store_.backfill.mark_needs_relink(with_missing_lookups_);
    }
    for (auto& [id, finding] : findings_) batch_.findings.push_back(std::move(finding));
    return std::move(batch_);
  }

 private:
  /// Reads the store first: a written record that the CRM then lacks was deleted, whatever a daemon does
  /// meanwhile.
  void load() {
    const std::size_t limit = crm_.pace().rows_per_read;
    const std::vector<schema::TransactionId> ids = store_.backfill.transactions(after_, limit);
    gifts_ = store_.gifts.find(ids);
    sync_states_ = store_.sync.find_states(ids);
    const std::vector<schema::TransactionId> queued = store_.backfill.find_queued(ids);
    records_ = crm_.gift_records().page(after_, limit);
    schema::TransactionId end{schema::kMaxId};
    if (ids.size() == limit) end = std::min(end, ids.back());
    if (records_.size() == limit) end = std::min(end, records_.back().transaction());
    batch_.done = ids.size() < limit && records_.size() < limit;
    batch_.last = end;
    // No Transaction Id is larger.
    batch_.done = batch_.done || end.value >= schema::kMaxId;
    const auto is_in_batch = [&](schema::TransactionId id) { return id <= end; };
    for (const schema::store::Gift& gift : gifts_) {
      if (is_in_batch(gift.transaction.id)) pairs_[gift.transaction.id].gift = &gift;
    }
    for (const schema::GiftRecord& record : records_) {
      if (is_in_batch(record.transaction())) pairs_[record.transaction()].record = &record;
    }
    for (const schema::store::CrmSyncState& sync_state : sync_states_) {
      if (const auto pair = pairs_.find(sync_state.transaction); pair != pairs_.end())
        pair->second.sync_state = &sync_state;
    }
    for (const schema::TransactionId id : queued) {
      if (const auto pair = pairs_.find(id); pair != pairs_.end()) pair->second.is_queued = true;
    }
  }

  void classify(schema::TransactionId id, const GiftAndRecord& pair) {
    ReconciliationFinding& finding = findings_[id];
    finding.transaction = id;
    if (!pair.gift) {
      classify_unknown(*pair.record, finding);
    } else if (has_id_conflict(pair)) {
      finding.kind = Kind::id_conflict;
      finding.detail = pair.sync_state->error;
    } else if (pair.is_queued) {
      finding.kind = Kind::queued;
    } else if (pair.sync_state && pair.sync_state->state == schema::store::CrmSyncStatus::skipped) {
      finding.kind = Kind::skipped;
      if (pair.record)
        finding.detail =
            "the settings skip this gift, but the CRM has a record of it; giftsync does not change it";
      else
        skipped_.push_back(*pair.sync_state);
    } else if (!pair.sync_state || (!pair.record && !pair.sync_state->was_written())) {
      // It is not in the CRM outbox, although a daemon should have put it there; do it now.
      finding.kind = Kind::queued;
      rewrites_.push_back({id, pair.gift->transaction.version, 0});
    } else if (pair.record) {
      compare(*pair.gift, *pair.record, *pair.sync_state, finding);
      compared_.push_back(&pair);
    } else {
      classify_deleted(*pair.sync_state, finding);
    }
  }

  void classify_unknown(const schema::GiftRecord& record, ReconciliationFinding& finding) {
    auto adoption = plan_adoption(record, now_);
    if (const auto* fault = std::get_if<std::string>(&adoption)) {
      finding.kind = Kind::refused;
      finding.detail = *fault;
      return;
    }
    finding.kind = Kind::adopted;
    finding.detail = std::get<schema::store::Adoption>(adoption).sync_state.decision.warnings;
    adoptions_.push_back(std::move(std::get<schema::store::Adoption>(adoption)));
  }

  void classify_deleted(const schema::store::CrmSyncState& sync_state, ReconciliationFinding& finding) {
    if (rules_.recreate) {
      finding.kind = Kind::recreated;
      to_recreate_.push_back(sync_state);
      return;
    }
    finding.kind = Kind::deleted_in_crm;
    finding.detail = kRecordDeleted;
    if (sync_state.state != schema::store::CrmSyncStatus::deleted) newly_deleted_.push_back(sync_state);
  }

  void compare(const schema::store::Gift& gift, const schema::GiftRecord& record,
               const schema::store::CrmSyncState& sync_state, ReconciliationFinding& finding) {
    const bool is_adopted = gift.transaction.gift_source == schema::store::kAdoptedGiftSource;
    const std::string link = rules_.sync.link_of ? rules_.sync.link_of(gift.transaction) : std::string();
    const std::vector<schema::store::StatusChange> imported =
        is_adopted ? times_to_import(gift, record) : std::vector<schema::store::StatusChange>();
    const schema::store::Gift then = imported.empty() ? gift : with_imported_times(gift, imported);
    const schema::GiftRecord wanted =
        draft_gift_record(then, sync_state.decision, link, rules_.sync.integration_user).record;
    for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
      const auto field = static_cast<schema::GiftField>(i);
      const schema::FieldOwner owner = schema::kGiftFields[i].owner;
      const std::string* unreadable = unreadable_text_of(record, field);
      if (owner == schema::FieldOwner::crm ||
          (!unreadable && is_same(field, record.get(field), wanted.get(field))))
        continue;
      if (!crm_.gift_records().has_field(field) || (!unreadable && keeps_crm_value(wanted, field))) continue;
      if (field == schema::GiftField::link && !rules_.sync.link_of) continue;
      // An adopted record without Sent At may have an estimated time in the store.
      const bool is_only_reported = is_adopted && is_reported_when_adopted(field) && has_value(record, field);
      if (is_adopted && !is_status_field(field) && !is_only_reported) continue;
      const bool is_enforced =
          owner == schema::FieldOwner::giftsync && !is_only_reported && !keeps_crm_value(wanted, field);
      // An empty text and no value are the same.
      if (!is_enforced && unreadable && unreadable->empty() && !has_value(wanted, field)) continue;
      (is_enforced ? finding.repaired : finding.differences)
          .push_back(
              {field, unreadable ? *unreadable : text_of(record.get(field)), text_of(wanted.get(field))});
    }
    import_times(imported, record, wanted, finding);
    const bool was_marked_deleted = sync_state.state == schema::store::CrmSyncStatus::deleted;
    if (finding.repaired.empty() && finding.imported_times.empty() && !was_marked_deleted) return;
    finding.kind = finding.repaired.empty() && !was_marked_deleted ? Kind::times_imported : Kind::repaired;
    if (was_marked_deleted) finding.detail = "the record was marked as deleted, but it is in the CRM";
    rewrites_.push_back({gift.transaction.id, gift.transaction.version, record.version});
  }

  void find_missing_lookups() {
    std::vector<schema::Associations> links;
    for (const GiftAndRecord* pair : compared_) links.push_back(associations_of(*pair->record));
    const std::vector<std::vector<schema::GiftField>> missing = crm_.gift_records().missing_lookups(links);
    for (std::size_t i = 0; i < compared_.size(); ++i) {
      ReconciliationFinding& finding = findings_.at(compared_[i]->sync_state->transaction);
      if (missing[i].empty()) continue;
      schema::store::CrmSyncState sync_state = *compared_[i]->sync_state;
      for (const schema::GiftField field : missing[i]) {
        finding.missing_lookups.push_back({field, text_of(compared_[i]->record->get(field)), ""});
        add_warning(sync_state.decision, std::string(schema::descriptor_of(field).label) + " " +
                                             finding.missing_lookups.back().in_crm +
                                             " is not in the CRM any more.");
      }
      if (!sync_state.needs_relink) with_missing_lookups_.push_back(std::move(sync_state));
    }
  }

  /// Times filled into an adopted record that are not in the change log. Voided ones are in the log.
  std::vector<schema::store::StatusChange> times_to_import(const schema::store::Gift& gift,
                                                           const schema::GiftRecord& record) {
    std::vector<schema::store::StatusChange> imported =
        changes_from_record(record, gift.transaction.times, now_);
    if (imported.empty()) return imported;
    const std::vector<schema::store::StatusChange> known =
        store_.changes.changes_of(std::span(&gift.transaction.id, 1));
    std::erase_if(imported, [&](const schema::store::StatusChange& change) {
      return std::any_of(known.begin(), known.end(), [&](const schema::store::StatusChange& one) {
        return one.source == change.source && one.status == change.status &&
               one.occurred_at == change.occurred_at;
      });
    });
    return imported;
  }

  /// The gift as the sync step will fold it.
  schema::store::Gift with_imported_times(schema::store::Gift gift,
                                          const std::vector<schema::store::StatusChange>& imported) {
    schema::store::RecipientTransaction& transaction = gift.transaction;
    std::vector<schema::store::ChangeSpan> spans = store_.changes.spans_of(std::span(&transaction.id, 1));
    for (const schema::store::StatusChange& change : imported)
      spans.push_back(
          {change.transaction, change.status, change.premise, change.occurred_at, change.occurred_at});
    const FoldedStatus folded =
        fold(*transaction.times[schema::Status::sent], spans, transaction.untimed_status);
    transaction.status = folded.status;
    transaction.times = folded.times;
    return gift;
  }

  /// The imported times are written back as they are, unless an earlier outcome wins the fold.
  void import_times(const std::vector<schema::store::StatusChange>& imported,
                    const schema::GiftRecord& record, const schema::GiftRecord& wanted,
                    ReconciliationFinding& finding) {
    for (const schema::store::StatusChange& change : imported) {
      const schema::GiftField field = schema::time_field_of(change.status);
      if (record.get(field) == wanted.get(field))
        finding.imported_times.push_back({field, text_of(record.get(field)), text_of(wanted.get(field))});
      else
        finding.detail = kOutcomeIgnored;
    }
    imported_changes_.insert(imported_changes_.end(), imported.begin(), imported.end());
  }

  /// Skipped gifts are matched again and get a record, if the settings allow.
  void rematch_skipped() {
    RematchRules rules;
    rules.match_fields = rules_.sync.match_fields;
    rules.skip_unmatched = rules_.sync.skip_unmatched;
    rules.tasks_enabled = rules_.sync.tasks.enabled;
    rules.dry_run = rules_.dry_run;
    for (const RematchResult& one : rematch(store_, crm_, rules, skipped_, now_)) {
      ReconciliationFinding& finding = findings_.at(one.transaction);
      if (one.kind == RematchResult::Kind::to_create) {
        finding.kind = Kind::created;
        batch_.to_write.push_back(one.transaction);
      } else if (one.kind == RematchResult::Kind::failed) {
        finding.kind = Kind::queued;
      }
    }
  }

  void adopt() {
    if (rules_.dry_run) return;
    const std::vector<schema::TransactionId> ids = store_.backfill.adopt(adoptions_, now_);
    const std::set<schema::TransactionId> adopted(ids.begin(), ids.end());
    for (const schema::store::Adoption& one : adoptions_) {
      const schema::TransactionId id = one.gift.transaction.id;
      // another process made it known meanwhile
      if (!adopted.contains(id))
        findings_.at(id).kind = Kind::queued;
      else if (one.write)
        batch_.to_write.push_back(id);
    }
  }

  void rewrite() {
    if (rules_.dry_run) return;
    if (!imported_changes_.empty()) store_.changes.accept(imported_changes_);
    const std::vector<schema::TransactionId> ids = store_.backfill.rewrite(rewrites_, now_);
    batch_.to_write.insert(batch_.to_write.end(), ids.begin(), ids.end());
    mark_queued(rewrites_, ids, [](const schema::store::RecordRewrite& one) { return one.transaction; });
  }

  void recreate() {
    if (rules_.dry_run) return;
    const std::vector<schema::TransactionId> ids = store_.backfill.recreate(to_recreate_, now_);
    batch_.to_write.insert(batch_.to_write.end(), ids.begin(), ids.end());
    mark_queued(to_recreate_, ids, [](const schema::store::CrmSyncState& one) { return one.transaction; });
  }

  /// Rows that changed meanwhile are left to the process that changed them.
  template <class Row, class IdOf>
  void mark_queued(const std::vector<Row>& rows, const std::vector<schema::TransactionId>& done,
                   IdOf&& id_of) {
    const std::set<schema::TransactionId> ids(done.begin(), done.end());
    for (const Row& row : rows) {
      if (!ids.contains(id_of(row))) findings_.at(id_of(row)).kind = Kind::queued;
    }
  }

  schema::store::Store& store_;
  schema::crm::Crm& crm_;
  const ReconciliationRules& rules_;
  const schema::TransactionId after_;
  const platform::UtcMillis now_;
  ReconciliationBatch batch_;
  std::vector<schema::store::Gift> gifts_;
  std::vector<schema::store::CrmSyncState> sync_states_;
  std::vector<schema::GiftRecord> records_;
  std::map<schema::TransactionId, GiftAndRecord> pairs_;
  std::map<schema::TransactionId, ReconciliationFinding> findings_;
  std::vector<const GiftAndRecord*> compared_;  ///< gifts that were compared with their record
  std::vector<schema::store::CrmSyncState> skipped_;
  std::vector<schema::store::CrmSyncState> newly_deleted_;
  std::vector<schema::store::CrmSyncState> with_missing_lookups_;  ///< with lookups to missing rows
  std::vector<schema::store::CrmSyncState> to_recreate_;
  std::vector<schema::store::Adoption> adoptions_;
  std::vector<schema::store::RecordRewrite> rewrites_;
  std::vector<schema::store::StatusChange> imported_changes_;
};

}  // namespace

std::string_view to_word(Kind kind) {
  switch (kind) {
    case Kind::unchanged:
      return "unchanged";
    case Kind::created:
      return "created";
    case Kind::repaired:
      return "repaired";
    case Kind::times_imported:
      return "times_imported";
    case Kind::recreated:
      return "recreated";
    case Kind::adopted:
      return "adopted";
    case Kind::deleted_in_crm:
      return "deleted_in_crm";
    case Kind::skipped:
      return "skipped";
    case Kind::queued:
      return "queued";
    case Kind::id_conflict:
      return "id_conflict";
    case Kind::refused:
      return "refused";
  }
  std::abort();  // a value outside its enumeration: a bug
}

ReconciliationBatch reconcile_gift_records(schema::store::Store& store, schema::crm::Crm& crm,
                                           const ReconciliationRules& rules, schema::TransactionId after,
                                           platform::UtcMillis now) {
  return GiftRecordReconciler(store, crm, rules, after, now).run();
}

}  // namespace giftsync::sync
