// What was decided of a gift, and how its record in the CRM stands: the mirrors.
#include <cstdlib>

#include "schema/crm.h"
#include "schema/spelling.h"
#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/sql/kept_query.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using Type = BulkInsert::Type;

constexpr auto kMirrorStates = spelling<MirrorState>({{MirrorState::decided, "decided"},
                                                      {MirrorState::written, "written"},
                                                      {MirrorState::skipped, "skipped"},
                                                      {MirrorState::gone, "gone"},
                                                      {MirrorState::rejected, "rejected"}});
constexpr auto kTaskStates = spelling<TaskState>({{TaskState::none, "none"},
                                                  {TaskState::wanted, "wanted"},
                                                  {TaskState::open, "open"},
                                                  {TaskState::completed, "completed"},
                                                  {TaskState::gone, "gone"}});

std::vector<GiftMirror> select_mirrors(soci::session& session, Dialect dialect,
                                       const std::vector<std::int64_t>& ids) {
  sql::KeptQuery row(
      session,
      "SELECT transaction_id, state, decided_at, contact_id, account_id, lead_id, opportunity_id, "
      "deal_stage, sender_id, reason, warnings, written_version, error, needs_rematch, task FROM "
      "gift_mirror WHERE " +
          sql::in_list(dialect, "transaction_id", "list", false) + " ORDER BY transaction_id");
  std::vector<GiftMirror> found;
  found.reserve(ids.size());
  row.each_row({sql::list_of(dialect, ids)}, [&] {
    GiftMirror& mirror = found.emplace_back();
    mirror.transaction = {row.integer(0)};
    mirror.state = kMirrorStates.read(row.text(1)).value_or(MirrorState::decided);
    mirror.decided_at = {row.integer(2)};
    int column = 3;
    MatchDecision& d = mirror.decision;
    for (std::string* text : {&d.contact_id, &d.account_id, &d.lead_id, &d.opportunity_id, &d.deal_stage,
                              &d.sender_id, &d.reason, &d.warnings})
      *text = row.text(column++);
    mirror.written_version = row.integer(11);
    mirror.error = row.text(12);
    mirror.needs_rematch = row.integer(13) != 0;
    mirror.task = kTaskStates.read(row.text(14)).value_or(TaskState::none);
  });
  return found;
}

/// Returns whether it was still the decision that had been read.
bool redecide_one(soci::session& session, const std::string& clock, const Redecision& one) {
  const GiftMirror& mirror = one.mirror;
  const MatchDecision& d = mirror.decision;
  const std::string state(to_word(mirror.state));
  const std::string task(to_word(mirror.task));
  const long long needs_rematch = mirror.needs_rematch ? 1 : 0;
  const long long version = mirror.written_version;
  soci::statement update(session);
  std::string text =
      "UPDATE gift_mirror SET decided_at = :decided, contact_id = :contact, account_id = :account, "
      "lead_id = :lead, opportunity_id = :opportunity, deal_stage = :stage, reason = :reason, "
      "warnings = :warnings, needs_rematch = :needs";
  update.exchange(use(mirror.decided_at));
  for (const std::string* text_value :
       {&d.contact_id, &d.account_id, &d.lead_id, &d.opportunity_id, &d.deal_stage, &d.reason, &d.warnings})
    update.exchange(use(*text_value));
  update.exchange(use(needs_rematch));
  // A record that is there keeps what the sync loop says of it; one that is to be made must not have been
  // made since it was read.
  if (one.make_record) {
    text += ", state = :state, task = :task";
    update.exchange(use(state));
    update.exchange(use(task));
  }
  text += " WHERE transaction_id = :id AND decided_at = :read";
  update.exchange(use(mirror.transaction));
  update.exchange(use(one.read_decided_at));
  if (one.make_record) {
    text +=
        " AND written_version = :version AND NOT EXISTS (SELECT 1 FROM sync_mark m WHERE m.transaction_id = "
        "gift_mirror.transaction_id AND m.lease_until >= " +
        clock + ")";
    update.exchange(use(version));
  }
  update.alloc();
  update.prepare(text, sql::kRunOnce);
  update.define_and_bind();
  update.execute(true);
  return update.get_affected_rows() == 1;
}

std::string_view condition_of(RematchScope scope) {
  switch (scope) {
    case RematchScope::unmatched:
      return "state <> 'gone' AND ((contact_id = '' AND lead_id = '') OR needs_rematch = 1)";
    case RematchScope::needs_rematch:
      return "state <> 'gone' AND needs_rematch = 1";
    case RematchScope::linked_to_lead:
      return "state <> 'gone' AND lead_id <> ''";
  }
  std::abort();  // a value outside its enumeration: a bug
}

/// The mirrors above `after` that fulfil `where`, in the order of their transactions.
std::vector<GiftMirror> select_page(soci::session& session, Dialect dialect, std::string_view where,
                                    TransactionId after, std::size_t limit) {
  TransactionId id;
  std::vector<std::int64_t> ids;
  soci::statement statement =
      sql::bound(session,
                 "SELECT transaction_id FROM gift_mirror WHERE " + std::string(where) +
                     " AND transaction_id > :after ORDER BY transaction_id LIMIT " + std::to_string(limit),
                 use(after), into(id));
  sql::each_row(statement, [&] { ids.push_back(id.value); });
  return select_mirrors(session, dialect, ids);
}

}  // namespace

bool GiftMirror::is_kept_out() const {
  return state == MirrorState::rejected && error == refused_for_strangers_record(transaction).reason;
}

std::string_view to_word(MirrorState state) {
  return kMirrorStates.of(state);
}

std::string_view to_word(TaskState state) {
  return kTaskStates.of(state);
}

void sql::insert_mirrors(soci::session& session, Dialect dialect, std::span<const GiftMirror> mirrors) {
  BulkInsert rows(dialect, "gift_mirror",
                  {{"transaction_id", Type::integer},
                   {"state", Type::text},
                   {"decided_at", Type::integer},
                   {"contact_id", Type::text},
                   {"account_id", Type::text},
                   {"lead_id", Type::text},
                   {"opportunity_id", Type::text},
                   {"deal_stage", Type::text},
                   {"sender_id", Type::text},
                   {"reason", Type::text},
                   {"warnings", Type::text},
                   {"written_version", Type::integer},
                   {"error", Type::text},
                   {"needs_rematch", Type::integer},
                   {"task", Type::text}},
                  "ON CONFLICT DO NOTHING");
  for (const GiftMirror& mirror : mirrors) {
    const MatchDecision& d = mirror.decision;
    rows.add({mirror.transaction.value, to_word(mirror.state), mirror.decided_at.value, d.contact_id,
              d.account_id, d.lead_id, d.opportunity_id, d.deal_stage, d.sender_id, d.reason, d.warnings,
              mirror.written_version, mirror.error, std::int64_t{mirror.needs_rematch ? 1 : 0},
              to_word(mirror.task)});
  }
  rows.run(session);
}

std::vector<GiftMirror> SyncQueue::decide(std::span<const GiftMirror> decisions) {
  if (decisions.empty()) return {};
  const Dialect dialect = database_->dialect();
  return database_->write([&](soci::session& session) {
    sql::insert_mirrors(session, dialect, decisions);
    std::vector<std::int64_t> ids;
    for (const GiftMirror& mirror : decisions) ids.push_back(mirror.transaction.value);
    return select_mirrors(session, dialect, ids);
  });
}

std::vector<GiftMirror> SyncQueue::mirrors(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) {
    return select_mirrors(session, database_->dialect(), sql::values_of(transactions));
  });
}

std::vector<GiftMirror> SyncQueue::mirrors_in(MirrorState state, TransactionId after, std::size_t limit) {
  const std::string where = "state = '" + std::string(to_word(state)) + "'";
  return database_->snapshot([&](soci::session& session) {
    return select_page(session, database_->dialect(), where, after, limit);
  });
}

std::vector<GiftMirror> SyncQueue::mirrors_to_rematch(RematchScope scope, TransactionId after,
                                                      std::size_t limit) {
  return database_->snapshot([&](soci::session& session) {
    return select_page(session, database_->dialect(), condition_of(scope), after, limit);
  });
}

std::vector<TransactionId> SyncQueue::redecide(std::span<const Redecision> decisions, UtcMillis now) {
  if (decisions.empty()) return {};
  const std::string clock(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    std::vector<TransactionId> kept;
    std::vector<TransactionId> to_make;
    for (const Redecision& one : decisions) {
      if (!redecide_one(session, clock, one)) continue;
      kept.push_back(one.mirror.transaction);
      if (one.make_record) to_make.push_back(one.mirror.transaction);
    }
    sql::mark_for_sync(session, database_->dialect(), to_make, now);
    return kept;
  });
}

std::int64_t SyncQueue::count_mirrors(MirrorState state) {
  return database_->read([&](soci::session& session) {
    const std::string word(to_word(state));
    long long count = 0;
    session << "SELECT count(*) FROM gift_mirror WHERE state = :state", use(word), into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema
