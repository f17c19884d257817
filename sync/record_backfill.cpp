#include "sync/record_backfill.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "schema/address.h"
#include "sync/adoption.h"
#include "sync/decision.h"
#include "sync/gift_record_draft.h"
#include "sync/rematch.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

using schema::FieldOwner;
using schema::Gift;
using schema::GiftField;
using schema::GiftMirror;
using schema::GiftRecord;
using schema::MirrorState;
using schema::TransactionId;
using Kind = RecordFinding::Kind;

constexpr const char* kGone = "the gift record was deleted in the CRM";
constexpr const char* kLost = "the time of an outcome that does not count stays in the gift's history";

std::string text_of(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<schema::Money>(&value)) return to_decimal(*money);
  if (const auto* time = std::get_if<schema::UtcMillis>(&value)) return to_rfc3339(*time);
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return "";
}

/// Of an adopted record only what the fold decides is known; all else is what was found in it.
bool is_status_field(GiftField field) {
  if (field == GiftField::status) return true;
  return schema::field_of(field).type == schema::FieldType::date_time && field != GiftField::sent_at;
}

/// What the store has of an adopted record and tells by itself: when the record says something else now, that
/// is told, and the record is left.
bool is_told_when_adopted(GiftField field) {
  return field == GiftField::sent_at || field == GiftField::total_price;
}

/// Many CRMs keep whole seconds, and addresses in lower case.
bool is_same(GiftField field, const schema::FieldValue& in_crm, const schema::FieldValue& wanted) {
  if (schema::field_of(field).type == schema::FieldType::email)
    return schema::email_key(text_of(in_crm)) == schema::email_key(text_of(wanted));
  const auto* one = std::get_if<schema::UtcMillis>(&in_crm);
  const auto* other = std::get_if<schema::UtcMillis>(&wanted);
  if (!one || !other) return in_crm == wanted;
  const bool is_whole = one->value % schema::kSecondMillis == 0;
  return *one == *other || (is_whole && are_within_a_second(*one, *other));
}

/// What stands in the CRM and is no value of the field.
const std::string* unreadable_in(const GiftRecord& record, GiftField field) {
  for (const schema::UnreadableCell& cell : record.unreadable) {
    if (cell.field == field) return &cell.text;
  }
  return nullptr;
}

bool has_value(const GiftRecord& record, GiftField field) {
  return !std::holds_alternative<std::monostate>(record.get(field));
}

/// A price that giftsync does not know may be known to whoever wrote it there.
bool is_left(const GiftRecord& wanted, GiftField field) {
  return !has_value(wanted, field) && is_left_when_absent(field);
}

/// What the gift and the CRM have to say of one transaction.
struct Pair {
  const Gift* gift = nullptr;
  const GiftRecord* record = nullptr;
  const GiftMirror* mirror = nullptr;
  bool is_waiting = false;
};

/// The CRM refused the gift's record for one that giftsync did not write (GiftUpsert::may_take_over), and
/// that one still stands. The sync loop tries again and again; only somebody in the CRM can make it succeed.
bool is_blocked(const Pair& pair) {
  return pair.is_waiting && pair.record && pair.mirror && pair.mirror->is_kept_out();
}

class Chunk {
 public:
  Chunk(schema::Store& store, schema::Crm& crm, const RecordBackfillRules& rules, TransactionId after,
        schema::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), after_(after), now_(now) {}

  RecordChunk run() {
    load();
    for (const auto& [id, pair] : pairs_) judge(id, pair);
    look_for_lost_links();
    decide_skipped();
    adopt();
    rewrite();
    recreate();
    if (!rules_.dry_run) {
      store_.backfill.note_gone(gone_, kGone);
      store_.backfill.note_lost_links(lost_);
    }
    for (auto& [id, finding] : findings_) chunk_.findings.push_back(std::move(finding));
    return std::move(chunk_);
  }

 private:
  /// The store first: a record that the CRM then lacks was deleted, whatever a daemon does meanwhile.
  void load() {
    const std::vector<TransactionId> ids = store_.backfill.transactions(after_, schema::kCrmBatch);
    gifts_ = store_.gifts.gifts(ids);
    mirrors_ = store_.sync.mirrors(ids);
    const std::vector<TransactionId> waiting = store_.backfill.waiting(ids);
    records_ = crm_.gift_records(after_, schema::kCrmBatch);
    TransactionId end{schema::kMaxId};
    if (ids.size() == schema::kCrmBatch) end = std::min(end, ids.back());
    if (records_.size() == schema::kCrmBatch) end = std::min(end, records_.back().transaction());
    chunk_.done = ids.size() < schema::kCrmBatch && records_.size() < schema::kCrmBatch;
    chunk_.last = end;
    // Ids beyond are no Transaction Ids.
    chunk_.done = chunk_.done || end.value >= schema::kMaxId;
    const auto in_chunk = [&](TransactionId id) { return id <= end; };
    for (const Gift& gift : gifts_) {
      if (in_chunk(gift.transaction.id)) pairs_[gift.transaction.id].gift = &gift;
    }
    for (const GiftRecord& record : records_) {
      if (in_chunk(record.transaction())) pairs_[record.transaction()].record = &record;
    }
    for (const GiftMirror& mirror : mirrors_) {
      if (const auto pair = pairs_.find(mirror.transaction); pair != pairs_.end())
        pair->second.mirror = &mirror;
    }
    for (const TransactionId id : waiting) {
      if (const auto pair = pairs_.find(id); pair != pairs_.end()) pair->second.is_waiting = true;
    }
  }

  void judge(TransactionId id, const Pair& pair) {
    RecordFinding& finding = findings_[id];
    finding.transaction = id;
    if (!pair.gift) {
      judge_unknown(*pair.record, finding);
    } else if (is_blocked(pair)) {
      finding.kind = Kind::blocked;
      finding.note = pair.mirror->error;
    } else if (pair.is_waiting) {
      finding.kind = Kind::waiting;
    } else if (pair.mirror && pair.mirror->state == MirrorState::skipped) {
      finding.kind = Kind::skipped;
      if (pair.record)
        finding.note = "the settings wanted no record for it, but the CRM has one; giftsync leaves it alone";
      else
        skipped_.push_back(*pair.mirror);
    } else if (!pair.mirror || (!pair.record && !pair.mirror->was_written())) {
      // Nobody is about to do it, which no daemon leaves behind; the queue does it now.
      finding.kind = Kind::waiting;
      rewrites_.push_back({id, pair.gift->transaction.version, 0});
    } else if (pair.record) {
      compare(*pair.gift, *pair.record, *pair.mirror, finding);
      compared_.push_back(&pair);
    } else {
      judge_gone(*pair.mirror, finding);
    }
  }

  void judge_unknown(const GiftRecord& record, RecordFinding& finding) {
    auto adoption = adoption_of(record, now_);
    if (const auto* fault = std::get_if<std::string>(&adoption)) {
      finding.kind = Kind::refused;
      finding.note = *fault;
      return;
    }
    finding.kind = Kind::adopted;
    finding.note = std::get<schema::Adoption>(adoption).mirror.decision.warnings;
    adoptions_.push_back(std::move(std::get<schema::Adoption>(adoption)));
  }

  void judge_gone(const GiftMirror& mirror, RecordFinding& finding) {
    if (rules_.recreate) {
      finding.kind = Kind::recreated;
      to_recreate_.push_back(mirror);
      return;
    }
    finding.kind = Kind::gone;
    finding.note = kGone;
    if (mirror.state != MirrorState::gone) gone_.push_back(mirror);
  }

  void compare(const Gift& gift, const GiftRecord& record, const GiftMirror& mirror, RecordFinding& finding) {
    const bool is_adopted = gift.transaction.origin == schema::kAdoptedOrigin;
    const std::string link = rules_.sync.link_of ? rules_.sync.link_of(gift.transaction) : std::string();
    const std::vector<schema::StatusChange> facts =
        is_adopted ? facts_to_learn(gift, record) : std::vector<schema::StatusChange>();
    const Gift then = facts.empty() ? gift : with_facts(gift, facts);
    const GiftRecord wanted =
        draft_gift_record(then, mirror.decision, link, rules_.sync.integration_user).record;
    for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
      const auto field = static_cast<GiftField>(i);
      const FieldOwner owner = schema::kGiftFields[i].owner;
      const std::string* unreadable = unreadable_in(record, field);
      if (owner == FieldOwner::crm || (!unreadable && is_same(field, record.get(field), wanted.get(field))))
        continue;
      if (!crm_.has_field(field) || (!unreadable && is_left(wanted, field))) continue;
      if (field == GiftField::link && !rules_.sync.link_of) continue;
      // A Sent At that is not there may be one that giftsync had to guess.
      const bool is_only_told = is_adopted && is_told_when_adopted(field) && has_value(record, field);
      if (is_adopted && !is_status_field(field) && !is_only_told) continue;
      const bool is_kept_true = owner == FieldOwner::giftsync && !is_only_told && !is_left(wanted, field);
      // An empty text is nothing, and so is what giftsync has for it.
      if (!is_kept_true && unreadable && unreadable->empty() && !has_value(wanted, field)) continue;
      (is_kept_true ? finding.repaired : finding.differs)
          .push_back(
              {field, unreadable ? *unreadable : text_of(record.get(field)), text_of(wanted.get(field))});
    }
    learn(facts, record, wanted, finding);
    const bool was_thought_gone = mirror.state == MirrorState::gone;
    if (finding.repaired.empty() && finding.learnt.empty() && !was_thought_gone) return;
    finding.kind = finding.repaired.empty() && !was_thought_gone ? Kind::learnt : Kind::repaired;
    if (was_thought_gone) finding.note = "the record is in the CRM after all";
    rewrites_.push_back({gift.transaction.id, gift.transaction.version, record.version});
  }

  void look_for_lost_links() {
    std::vector<schema::Associations> links;
    for (const Pair* pair : compared_) links.push_back(associations_of(*pair->record));
    const std::vector<std::vector<GiftField>> lost = crm_.lost_lookups(links);
    for (std::size_t i = 0; i < compared_.size(); ++i) {
      RecordFinding& finding = findings_.at(compared_[i]->mirror->transaction);
      if (lost[i].empty()) continue;
      GiftMirror mirror = *compared_[i]->mirror;
      for (const GiftField field : lost[i]) {
        finding.lost.push_back({field, text_of(compared_[i]->record->get(field)), ""});
        add_warning(mirror.decision, std::string(schema::field_of(field).label) + " " +
                                         finding.lost.back().in_crm + " is not in the CRM any more.");
      }
      if (!mirror.needs_rematch) lost_.push_back(std::move(mirror));
    }
  }

  /// Times that somebody filled into an adopted record; those that were voided are known already.
  std::vector<schema::StatusChange> facts_to_learn(const Gift& gift, const GiftRecord& record) {
    std::vector<schema::StatusChange> facts = facts_of(record, gift.transaction.times, now_);
    if (facts.empty()) return facts;
    const std::vector<schema::StatusChange> known =
        store_.changes.changes_of(std::span(&gift.transaction.id, 1));
    std::erase_if(facts, [&](const schema::StatusChange& fact) {
      return std::any_of(known.begin(), known.end(), [&](const schema::StatusChange& one) {
        return one.source == fact.source && one.status == fact.status && one.occurred_at == fact.occurred_at;
      });
    });
    return facts;
  }

  /// The gift as the sync step will fold it.
  Gift with_facts(Gift gift, const std::vector<schema::StatusChange>& facts) {
    schema::RecipientTransaction& transaction = gift.transaction;
    std::vector<schema::ChangeSpan> spans = store_.changes.spans_of(std::span(&transaction.id, 1));
    for (const schema::StatusChange& fact : facts)
      spans.push_back({fact.transaction, fact.status, fact.premise, fact.occurred_at, fact.occurred_at});
    const FoldedStatus folded =
        fold(*transaction.times[schema::Status::sent], spans, transaction.untimed_status);
    transaction.status = folded.status;
    transaction.times = folded.times;
    return gift;
  }

  /// They count, and are not taken away again, unless another outcome came before.
  void learn(const std::vector<schema::StatusChange>& facts, const GiftRecord& record,
             const GiftRecord& wanted, RecordFinding& finding) {
    for (const schema::StatusChange& fact : facts) {
      const GiftField field = schema::time_field_of(fact.status);
      if (record.get(field) == wanted.get(field))
        finding.learnt.push_back({field, text_of(record.get(field)), text_of(wanted.get(field))});
      else
        finding.note = kLost;
    }
    learnt_.insert(learnt_.end(), facts.begin(), facts.end());
  }

  /// Gifts that matched nobody are matched anew and get their record, if the settings let them.
  void decide_skipped() {
    RematchRules rules;
    rules.match_fields = rules_.sync.match_fields;
    rules.skip_unmatched = rules_.sync.skip_unmatched;
    rules.tasks_enabled = rules_.sync.tasks.enabled;
    rules.dry_run = rules_.dry_run;
    for (const Rematch& one : rematch(store_, crm_, rules, skipped_, now_)) {
      RecordFinding& finding = findings_.at(one.transaction);
      if (one.kind == Rematch::Kind::to_make) {
        finding.kind = Kind::created;
        chunk_.to_write.push_back(one.transaction);
      } else if (one.kind == Rematch::Kind::failed) {
        finding.kind = Kind::waiting;
      }
    }
  }

  void adopt() {
    if (rules_.dry_run) return;
    const std::vector<TransactionId> ids = store_.backfill.adopt(adoptions_, now_);
    const std::set<TransactionId> adopted(ids.begin(), ids.end());
    for (const schema::Adoption& one : adoptions_) {
      const TransactionId id = one.gift.transaction.id;
      // Somebody else made it known just now.
      if (!adopted.contains(id))
        findings_.at(id).kind = Kind::waiting;
      else if (one.write)
        chunk_.to_write.push_back(id);
    }
  }

  void rewrite() {
    if (rules_.dry_run) return;
    if (!learnt_.empty()) store_.changes.accept(learnt_);
    const std::vector<TransactionId> ids = store_.backfill.rewrite(rewrites_, now_);
    chunk_.to_write.insert(chunk_.to_write.end(), ids.begin(), ids.end());
    leave_out(rewrites_, ids, [](const schema::Rewrite& one) { return one.transaction; });
  }

  void recreate() {
    if (rules_.dry_run) return;
    const std::vector<TransactionId> ids = store_.backfill.recreate(to_recreate_, now_);
    chunk_.to_write.insert(chunk_.to_write.end(), ids.begin(), ids.end());
    leave_out(to_recreate_, ids, [](const GiftMirror& one) { return one.transaction; });
  }

  /// What changed meanwhile is somebody else's work.
  template <class Row, class IdOf>
  void leave_out(const std::vector<Row>& rows, const std::vector<TransactionId>& done, IdOf&& id_of) {
    const std::set<TransactionId> ids(done.begin(), done.end());
    for (const Row& row : rows) {
      if (!ids.contains(id_of(row))) findings_.at(id_of(row)).kind = Kind::waiting;
    }
  }

  schema::Store& store_;
  schema::Crm& crm_;
  const RecordBackfillRules& rules_;
  const TransactionId after_;
  const schema::UtcMillis now_;
  RecordChunk chunk_;
  std::vector<Gift> gifts_;
  std::vector<GiftMirror> mirrors_;
  std::vector<GiftRecord> records_;
  std::map<TransactionId, Pair> pairs_;
  std::map<TransactionId, RecordFinding> findings_;
  std::vector<const Pair*> compared_;  ///< gifts whose record was looked at
  std::vector<GiftMirror> skipped_;
  std::vector<GiftMirror> gone_;
  std::vector<GiftMirror> lost_;  ///< with links that lead nowhere
  std::vector<GiftMirror> to_recreate_;
  std::vector<schema::Adoption> adoptions_;
  std::vector<schema::Rewrite> rewrites_;
  std::vector<schema::StatusChange> learnt_;
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
    case Kind::learnt:
      return "learnt";
    case Kind::recreated:
      return "recreated";
    case Kind::adopted:
      return "adopted";
    case Kind::gone:
      return "gone";
    case Kind::skipped:
      return "skipped";
    case Kind::waiting:
      return "waiting";
    case Kind::blocked:
      return "blocked";
    case Kind::refused:
      return "refused";
  }
  std::abort();  // a value outside its enumeration: a bug
}

RecordChunk backfill_records(schema::Store& store, schema::Crm& crm, const RecordBackfillRules& rules,
                             TransactionId after, schema::UtcMillis now) {
  return Chunk(store, crm, rules, after, now).run();
}

}  // namespace giftsync::sync
