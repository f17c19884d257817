#include "schema/store/source_book.h"

#include <utility>

#include "schema/spelling.h"
#include "schema/sql/database.h"
#include "schema/store/source_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

constexpr auto kReasons = spelling<AsideReason>({{AsideReason::word, "word"},
                                                 {AsideReason::time, "time"},
                                                 {AsideReason::may_set, "may_set"},
                                                 {AsideReason::faulty, "faulty"},
                                                 {AsideReason::other_origin, "other_origin"},
                                                 {AsideReason::no_gift, "no_gift"}});

/// The rows of source s, with what is held and kept aside of each.
std::vector<SourceStanding> select_standings(soci::session& session) {
  SourceStanding row;
  long long failures = 0;
  long long accepted = 0;
  long long repeated = 0;
  long long ignored = 0;
  long long gifts = 0;
  long long refused = 0;
  long long held = 0;
  long long aside = 0;
  soci::statement statement = sql::bound(
      session,
      "SELECT s.name, s.state, s.state_since, s.reason, s.position, s.due_at, s.failures, "
      "s.last_heard_at, s.accepted, s.repeated, s.ignored, s.gifts, s.refused, (SELECT count(*) FROM "
      "change_log c WHERE c.source = s.name AND c.held = 1), (SELECT count(*) FROM source_aside a "
      "WHERE a.source = s.name) - (SELECT count(*) FROM source_aside h WHERE h.source = s.name "
      "AND h.reason = 'no_gift') FROM source s ORDER BY s.name",
      into(row.name), into(row.state), into(row.state_since), into(row.reason), into(row.position),
      into(row.due_at), into(failures), into(row.last_heard_at), into(accepted), into(repeated),
      into(ignored), into(gifts), into(refused), into(held), into(aside));
  std::vector<SourceStanding> standings;
  sql::each_row(statement, [&] {
    row.failures = failures;
    row.accepted = accepted;
    row.repeated = repeated;
    row.ignored = ignored;
    row.gifts = gifts;
    row.refused = refused;
    row.held = held;
    row.kept_aside = aside;
    standings.push_back(row);
  });
  return standings;
}

/// `which`: a condition of constant words.
std::vector<AsideReport> select_kept(soci::session& session, const std::string& which,
                                     const std::string& source, std::int64_t after, std::size_t limit) {
  const long long last = after;
  AsideReport row;
  std::string reason;
  long long id = 0;
  soci::statement statement = sql::bound(
      session,
      "SELECT id, source, digest, reason, word, detail, transaction_id, report, "
      "received_at FROM source_aside WHERE id > :after AND (source = :source OR :every "
      "= '') AND " +
          which + " ORDER BY id LIMIT " + std::to_string(limit),
      use(last), use(source), use(source), into(id), into(row.source), into(row.digest), into(reason),
      into(row.word), into(row.detail), into(row.transaction), into(row.report), into(row.received_at));
  std::vector<AsideReport> found;
  sql::each_row(statement, [&] {
    row.id = id;
    row.reason = aside_reason_from_word(reason).value_or(AsideReason::faulty);
    found.push_back(row);
  });
  return found;
}

}  // namespace

std::string_view to_word(AsideReason reason) {
  return kReasons.of(reason);
}

std::optional<AsideReason> aside_reason_from_word(std::string_view word) {
  return kReasons.read(word);
}

SourceBook::SourceBook(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(std::move(database)),
      changes_(changes),
      request_ids_(database_, "request"),
      aside_ids_(database_, "aside") {}

void SourceBook::open(const std::string& source, const std::string& origin, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO source (name, state, state_since, reason, position, revision, due_at, failures, "
               "lease_owner, lease_until, accepted, repeated, ignored, gifts, refused) VALUES (:name, 'new', "
               ":now, '', '', 0, 0, 0, '', 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
        use(source), use(now);
    session << "UPDATE change_log SET origin = :origin WHERE source = :source AND held = 1 AND origin <> "
               ":other",
        use(origin), use(source), use(origin);
  });
}

void SourceBook::begin_judging(const std::string& source, const std::string& reading) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET to_judge = :reading WHERE name = :name", use(reading), use(source);
  });
}

void SourceBook::end_judging(const std::string& source, const std::string& reading) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET to_judge = '' WHERE name = :name AND to_judge = :reading", use(source),
        use(reading);
  });
}

std::set<std::string> SourceBook::unjudged() {
  return database_->read([](soci::session& session) {
    std::string name;
    soci::statement statement =
        sql::bound(session, "SELECT name FROM source WHERE to_judge <> ''", into(name));
    std::set<std::string> names;
    sql::each_row(statement, [&] { names.insert(name); });
    return names;
  });
}

SourceReceipt SourceBook::accept(const SourceReport& report) {
  std::vector<StatusChange> changes;
  std::int64_t gifts = 0;
  for (const SourceItem& item : report.items) {
    if (item.kept_aside) continue;
    gifts += item.gift ? 1 : 0;
    if (!item.change) continue;
    changes.push_back(*item.change);
    if (item.sent) changes.push_back(*item.sent);
  }
  for (StatusChange& change : changes) {
    change.source = report.source;
    change.origin = report.origin;
  }
  changes = changes_.numbered(changes);
  const std::int64_t request_id = gifts > 0 ? request_ids_.take(gifts) : 0;
  const std::int64_t aside_id =
      report.items.empty() ? 0 : aside_ids_.take(static_cast<std::int64_t>(report.items.size()));
  const auto write = [&] {
    return database_->write_urgently([&](soci::session& session) {
      return sql::accept_report(session, database_->dialect(), report, changes, request_id, aside_id);
    });
  };
  try {
    try {
      return write();
    } catch (const sql::ConstraintBroken&) {
      // Somebody else told of the same gift at the same moment. Nothing is left of the first try, and the
      // second one finds that gift.
      return write();
    }
  } catch (const sql::TooMuchKept&) {
    SourceReceipt receipt;
    receipt.kind = SourceReceipt::Kind::full;
    return receipt;
  }
}

std::optional<SourceClaim> SourceBook::claim(const std::string& source, const std::string& owner,
                                             std::int64_t lease_millis, UtcMillis now) {
  const std::string clock(sql::database_now(database_->dialect()));
  const std::string condition = " WHERE name = :name AND due_at <= :now AND lease_until < " + clock;
  const auto nothing_due = [&](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM source" + condition, use(source), use(now), into(found);
    return found == 0;
  };
  if (database_->read(nothing_due)) return std::nullopt;  // at rest no write lock is taken
  return database_->write([&](soci::session& session) {
    const long long lease = lease_millis;
    SourceClaim row;
    long long revision = 0;
    long long failures = 0;
    soci::statement statement = sql::bound(
        session,
        "UPDATE source SET lease_owner = :owner, lease_until = " + clock + " + :lease" + condition +
            " RETURNING position, revision, failures",
        use(owner), use(lease), use(source), use(now), into(row.position), into(revision), into(failures));
    std::optional<SourceClaim> claimed;
    sql::each_row(statement, [&] {
      row.revision = revision;
      row.failures = failures;
      claimed = row;
    });
    return claimed;
  });
}

void SourceBook::rest(const std::string& source, const std::string& owner, const Rest& rest) {
  const long long failures = rest.failures;
  database_->write([&](soci::session& session) {
    if (rest.position) {
      session << "UPDATE source SET position = :position, revision = revision + 1 WHERE name = :name AND "
                 "lease_owner = :owner",
          use(*rest.position), use(source), use(owner);
    }
    session << "UPDATE source SET due_at = :due, failures = :failures, lease_owner = '', lease_until = 0 "
               "WHERE name = :name AND lease_owner = :owner",
        use(rest.due_at), use(failures), use(source), use(owner);
  });
}

std::vector<SourceWait> SourceBook::waits() {
  return database_->read([](soci::session& session) {
    SourceWait row;
    long long failures = 0;
    soci::statement statement =
        sql::bound(session, "SELECT name, due_at, failures, position FROM source ORDER BY name",
                   into(row.name), into(row.due_at), into(failures), into(row.position));
    std::vector<SourceWait> found;
    sql::each_row(statement, [&] {
      row.failures = failures;
      found.push_back(row);
    });
    return found;
  });
}

bool SourceBook::end_wait(const SourceWait& seen, UtcMillis now) {
  return database_->write([&](soci::session& session) {
    soci::statement statement =
        sql::bound(session, "UPDATE source SET due_at = :now WHERE name = :name AND due_at = :seen", use(now),
                   use(seen.name), use(seen.due_at));
    statement.execute(true);
    return statement.get_affected_rows() > 0;
  });
}

bool SourceBook::rewind(const std::string& source) {
  return database_->write([&](soci::session& session) {
    soci::statement update = (session.prepare << "UPDATE source SET position = '', revision = revision + 1, "
                                                 "due_at = 0, failures = 0, lease_owner = '', lease_until = "
                                                 "0 WHERE name = :name",
                              use(source));
    update.execute(true);
    return update.get_affected_rows() > 0;
  });
}

void SourceBook::break_leases(const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET lease_owner = '', lease_until = 0 WHERE lease_owner = :owner", use(owner);
  });
}

void SourceBook::cut_leases(std::int64_t longest_millis) {
  database_->write([&](soci::session& session) {
    sql::cut_leases(session, database_->dialect(), "source", longest_millis);
  });
}

void SourceBook::break_lease(const std::string& source, const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET lease_owner = '', lease_until = 0 WHERE name = :name AND lease_owner = "
               ":owner",
        use(source), use(owner);
  });
}

void SourceBook::note_state(const std::string& source, const std::string& state, const std::string& reason,
                            UtcMillis now) {
  const auto differs = [&](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM source WHERE name = :name AND (state <> :state OR reason <> :reason)",
        use(source), use(state), use(reason), into(found);
    return found > 0;
  };
  if (!database_->read(differs)) return;  // most often; no write lock is taken
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET state_since = CASE WHEN state = :same THEN state_since ELSE :now END, "
               "state = :state, reason = :reason WHERE name = :name",
        use(state), use(now), use(state), use(reason), use(source);
  });
}

void SourceBook::add_refused(const std::string& source, std::int64_t count) {
  const long long refused = count;
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET refused = refused + :count WHERE name = :name", use(refused), use(source);
  });
}

std::vector<SourceStanding> SourceBook::standings() {
  return database_->read(select_standings);
}

std::vector<AsideReport> SourceBook::aside(const std::string& source, std::int64_t after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_kept(session, "reason <> 'no_gift'", source, after, limit);
  });
}

std::vector<AsideReport> SourceBook::held_reports(const std::string& source, std::int64_t after,
                                                  std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_kept(session, "reason = 'no_gift'", source, after, limit);
  });
}

std::set<std::string> SourceBook::only_held(UtcMillis before) {
  return database_->read([&](soci::session& session) {
    std::string name;
    soci::statement statement = sql::bound(
        session,
        "SELECT s.name FROM source s WHERE s.gifts = 0 AND s.accepted > 0 AND EXISTS (SELECT 1 FROM "
        "change_log c WHERE c.source = s.name AND c.held = 1 AND c.received_at < :before) AND s.accepted <= "
        // Most have more, so that nobody has to look for one that counts.
        "(SELECT count(*) FROM change_log c WHERE c.source = s.name AND c.held = 1) AND NOT EXISTS "
        "(SELECT 1 FROM change_log c WHERE c.source = s.name AND c.held = 0)",
        use(before), into(name));
    std::set<std::string> names;
    sql::each_row(statement, [&] { names.insert(name); });
    return names;
  });
}

std::vector<SourceBook::AsideCount> SourceBook::aside_words(std::size_t limit) {
  return database_->read([&](soci::session& session) {
    AsideCount row{};
    std::string reason;
    long long count = 0;
    soci::statement statement =
        sql::bound(session,
                   "SELECT source, reason, word, count(*) FROM source_aside WHERE reason <> 'no_gift' GROUP "
                   "BY source, reason, word ORDER BY 4 DESC, source, reason, word LIMIT " +
                       std::to_string(limit),
                   into(row.source), into(reason), into(row.word), into(count));
    std::vector<AsideCount> counts;
    sql::each_row(statement, [&] {
      row.reason = aside_reason_from_word(reason).value_or(AsideReason::faulty);
      row.count = count;
      counts.push_back(row);
    });
    return counts;
  });
}

std::int64_t SourceBook::discard_aside(const std::string& source, std::optional<AsideReason> reason) {
  const std::string word(reason ? to_word(*reason) : "");
  return database_->write([&](soci::session& session) {
    soci::statement statement = sql::bound(session,
                                           "DELETE FROM source_aside WHERE source = :source AND "
                                           "(reason = :reason OR (:every = '' AND reason <> "
                                           "'no_gift'))",
                                           use(source), use(word), use(word));
    statement.execute(true);
    return static_cast<std::int64_t>(statement.get_affected_rows());
  });
}

void SourceBook::prune_messages(UtcMillis before) {
  database_->write([&](soci::session& session) {
    session << "DELETE FROM source_message WHERE received_at < :before", use(before);
  });
}

}  // namespace giftsync::schema
