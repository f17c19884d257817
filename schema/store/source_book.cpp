#include "schema/store/source_book.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using Type = BulkInsert::Type;

constexpr std::pair<AsideReason, std::string_view> kReasons[] = {{AsideReason::word, "word"},
                                                                 {AsideReason::time, "time"},
                                                                 {AsideReason::may_set, "may_set"},
                                                                 {AsideReason::faulty, "faulty"},
                                                                 {AsideReason::other_origin, "other_origin"}};

/// Thrown to roll the whole report back.
struct TooMuchKept {};

SourceReceipt untouched(SourceReceipt::Kind why) {
  SourceReceipt receipt;
  receipt.kind = why;
  return receipt;
}

/// The report while it is being written.
class Accepting {
 public:
  Accepting(soci::session& session, Dialect dialect, const SourceReport& report)
      : session_(session), dialect_(dialect), report_(report) {}

  SourceReceipt run(std::vector<StatusChange> numbered, std::int64_t request_id, std::int64_t aside_id) {
    if (is_replay()) return untouched(SourceReceipt::Kind::replayed);
    if (is_overtaken()) return untouched(SourceReceipt::Kind::overtaken);
    delete_settled();
    create_gifts(request_id);
    accept(std::move(numbered));
    keep_aside(aside_id);
    count();
    return std::move(receipt_);
  }

 private:
  bool is_replay() {
    if (!report_.message_id) return false;
    BulkInsert row(dialect_, "source_message",
                   {{"source", Type::text}, {"message_id", Type::text}, {"received_at", Type::integer}},
                   "ON CONFLICT DO NOTHING");
    row.add({report_.source, *report_.message_id, report_.now.value});
    return row.run(session_) == 0;
  }

  bool is_overtaken() {
    if (!report_.advance) return false;
    const SourceReport::Advance& advance = *report_.advance;
    const long long revision = advance.revision;
    soci::statement update =
        (session_.prepare << "UPDATE source SET position = :position, revision = revision + 1 WHERE name = "
                             ":name AND lease_owner = :owner AND revision = :revision",
         use(advance.position), use(report_.source), use(advance.owner), use(revision));
    update.execute(true);
    return update.get_affected_rows() == 0;
  }

  void delete_settled() {
    if (report_.settled.empty()) return;
    const std::string list = sql::list_of(dialect_, report_.settled);
    session_ << "DELETE FROM source_aside WHERE " + sql::in_list(dialect_, "id", "ids", false), use(list);
  }

  /// The origins of those transactions that exist.
  std::map<TransactionId, std::string> origins_of_gifts() {
    std::vector<std::int64_t> ids;
    for (const SourceItem& item : report_.items) {
      if (item.gift && !item.kept_aside) ids.push_back(item.gift->id.value);
    }
    std::map<TransactionId, std::string> origins;
    if (ids.empty()) return origins;
    const std::string list = sql::list_of(dialect_, ids);
    TransactionId id;
    std::string origin;
    soci::statement statement = (session_.prepare << "SELECT id, origin FROM recipient_transaction WHERE " +
                                                         sql::in_list(dialect_, "id", "ids", false),
                                 use(list), into(id), into(origin));
    sql::each_row(statement, [&] { origins[id] = origin; });
    return origins;
  }

  void create_gifts(std::int64_t request_id) {
    std::map<TransactionId, std::string> origins = origins_of_gifts();
    BulkInsert requests(dialect_, "gift_request",
                        {{"id", Type::integer},
                         {"account_id", Type::integer},
                         {"mode", Type::text},
                         {"gift_id", Type::integer},
                         {"item_name", Type::text},
                         {"item_description", Type::text},
                         {"item_cost", Type::integer},
                         {"shipping_cost", Type::integer},
                         {"carbon_neutral_cost", Type::integer},
                         {"transaction_fee", Type::integer},
                         {"sender_email", Type::text},
                         {"sender_name", Type::text},
                         {"created_at", Type::integer}});
    BulkInsert transactions(dialect_, "recipient_transaction",
                            {{"id", Type::integer},
                             {"request_id", Type::integer},
                             {"position", Type::integer},
                             {"email", Type::text},
                             {"first_name", Type::text},
                             {"last_name", Type::text},
                             {"message", Type::text},
                             {"generation", Type::integer},
                             {"status", Type::text},
                             {"sent_at", Type::integer},
                             {"version", Type::integer},
                             {"phone", Type::text},
                             {"origin", Type::text}});
    std::vector<TransactionId> created;
    const std::int64_t zero = 0;
    for (const SourceItem& item : report_.items) {
      if (!item.gift || item.kept_aside) continue;
      const ExternalGift& gift = *item.gift;
      if (!origins.emplace(gift.id, report_.origin).second) continue;
      requests.add({request_id, zero, to_word(SendMode::external), gift.gift.value, gift.item_name,
                    gift.item_description, gift.costs.item.minor_units, gift.costs.shipping.minor_units,
                    gift.costs.carbon_neutral.minor_units, gift.costs.transaction_fee.minor_units,
                    gift.sender_email, std::string_view(), gift.sent_at.value});
      transactions.add({gift.id.value, request_id, zero, gift.email, gift.first_name, gift.last_name,
                        gift.message, zero, to_word(Status::sent), gift.sent_at.value, std::int64_t{1},
                        gift.phone, report_.origin});
      created.push_back(gift.id);
      ++request_id;
    }
    requests.run(session_);
    transactions.run(session_);
    sql::mark_for_sync(session_, dialect_, created, report_.now);
    receipt_.gifts = created.size();
  }

  void accept(std::vector<StatusChange> numbered) {
    const std::vector<AcceptOutcome> outcomes = sql::accept_changes(session_, dialect_, numbered);
    std::size_t next = 0;
    for (const SourceItem& item : report_.items) {
      if (item.kept_aside) {
        aside_.push_back(item.aside);
      } else if (item.change) {
        take(item, outcomes[next++]);
      }
    }
  }

  void take(const SourceItem& item, AcceptOutcome outcome) {
    switch (outcome) {
      case AcceptOutcome::accepted:
        ++receipt_.accepted;
        return;
      case AcceptOutcome::repeated:
        ++receipt_.repeated;
        return;
      case AcceptOutcome::held:
        ++receipt_.held;
        return;
      case AcceptOutcome::too_many_held:
        throw TooMuchKept{};
      case AcceptOutcome::other_origin:
        break;
    }
    AsideReport& aside = aside_.emplace_back(item.aside);
    aside.reason = AsideReason::other_origin;
    aside.detail = "transaction " + std::to_string(item.change->transaction.value) + " is " +
                   (report_.origin.empty() ? "one that another source reports"
                                           : "one of our own, or one that another source reports");
    receipt_.collisions.push_back(aside.detail);
  }

  void keep_aside(std::int64_t id) {
    BulkInsert rows(dialect_, "source_aside",
                    {{"id", Type::integer},
                     {"source", Type::text},
                     {"digest", Type::text},
                     {"reason", Type::text},
                     {"word", Type::text},
                     {"detail", Type::text},
                     {"transaction_id", Type::text},
                     {"report", Type::text},
                     {"received_at", Type::integer}},
                    "ON CONFLICT DO NOTHING");
    for (const AsideReport& aside : aside_) {
      rows.add({id++, report_.source, aside.digest, to_word(aside.reason), aside.word, aside.detail,
                aside.transaction, aside.report, aside.received_at.value});
    }
    if (rows.empty()) return;
    receipt_.kept_aside = static_cast<std::size_t>(rows.run(session_));
    if (receipt_.kept_aside == 0) return;
    long long kept = 0;
    session_ << "SELECT count(*) FROM source_aside WHERE source = :source", use(report_.source), into(kept);
    if (kept > kMaxAside) throw TooMuchKept{};
  }

  void count() {
    const long long accepted = static_cast<long long>(receipt_.accepted + receipt_.held);
    const long long repeated = static_cast<long long>(receipt_.repeated);
    const long long ignored = static_cast<long long>(report_.ignored);
    const long long gifts = static_cast<long long>(receipt_.gifts);
    session_ << "UPDATE source SET last_heard_at = :now, accepted = accepted + :accepted, repeated = "
                "repeated + :repeated, ignored = ignored + :ignored, gifts = gifts + :gifts WHERE name = "
                ":name",
        use(report_.now), use(accepted), use(repeated), use(ignored), use(gifts), use(report_.source);
  }

  soci::session& session_;
  const Dialect dialect_;
  const SourceReport& report_;
  std::vector<AsideReport> aside_;
  SourceReceipt receipt_;
};

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
  soci::statement statement =
      (session.prepare
           << "SELECT s.name, s.state, s.state_since, s.reason, s.position, s.due_at, s.failures, "
              "s.last_heard_at, s.accepted, s.repeated, s.ignored, s.gifts, s.refused, (SELECT count(*) FROM "
              "change_log c WHERE c.source = s.name AND c.held = 1), (SELECT count(*) FROM source_aside a "
              "WHERE a.source = s.name) FROM source s ORDER BY s.name",
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

}  // namespace

std::string_view to_word(AsideReason reason) {
  return std::find_if(std::begin(kReasons), std::end(kReasons),
                      [&](const auto& one) { return one.first == reason; })
      ->second;
}

std::optional<AsideReason> aside_reason_from_word(std::string_view word) {
  for (const auto& [reason, text] : kReasons) {
    if (text == word) return reason;
  }
  return std::nullopt;
}

SourceBook::SourceBook(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(database),
      changes_(changes),
      request_ids_(database, "request"),
      aside_ids_(database, "aside") {}

void SourceBook::open(const std::string& source, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO source (name, state, state_since, reason, position, revision, due_at, failures, "
               "lease_owner, lease_until, accepted, repeated, ignored, gifts, refused) VALUES (:name, 'new', "
               ":now, '', '', 0, 0, 0, '', 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
        use(source), use(now);
  });
}

SourceReceipt SourceBook::accept(const SourceReport& report) {
  std::vector<StatusChange> changes;
  std::int64_t gifts = 0;
  for (const SourceItem& item : report.items) {
    if (item.kept_aside) continue;
    gifts += item.gift ? 1 : 0;
    if (!item.change) continue;
    StatusChange& change = changes.emplace_back(*item.change);
    change.source = report.source;
    change.origin = report.origin;
  }
  changes = changes_.numbered(changes);
  const std::int64_t request_id = gifts > 0 ? request_ids_.take(gifts) : 0;
  const std::int64_t aside_id =
      report.items.empty() ? 0 : aside_ids_.take(static_cast<std::int64_t>(report.items.size()));
  try {
    return database_->write_urgently([&](soci::session& session) {
      return Accepting(session, database_->dialect(), report).run(changes, request_id, aside_id);
    });
  } catch (const TooMuchKept&) {
    return untouched(SourceReceipt::Kind::full);
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
    soci::statement statement =
        (session.prepare << "UPDATE source SET lease_owner = :owner, lease_until = " + clock + " + :lease" +
                                condition + " RETURNING position, revision, failures",
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

void SourceBook::break_leases(const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET lease_owner = '', lease_until = 0 WHERE lease_owner = :owner", use(owner);
  });
}

void SourceBook::note_state(const std::string& source, const std::string& state, const std::string& reason,
                            UtcMillis now) {
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
    const long long last = after;
    AsideReport row;
    std::string reason;
    long long id = 0;
    soci::statement statement =
        (session.prepare << "SELECT id, source, digest, reason, word, detail, transaction_id, report, "
                            "received_at FROM source_aside WHERE id > :after AND (source = :source OR :every "
                            "= '') ORDER BY id LIMIT " +
                                std::to_string(limit),
         use(last), use(source), use(source), into(id), into(row.source), into(row.digest), into(reason),
         into(row.word), into(row.detail), into(row.transaction), into(row.report), into(row.received_at));
    std::vector<AsideReport> found;
    sql::each_row(statement, [&] {
      row.id = id;
      row.reason = aside_reason_from_word(reason).value_or(AsideReason::faulty);
      found.push_back(row);
    });
    return found;
  });
}

std::vector<SourceBook::AsideCount> SourceBook::aside_words(std::size_t limit) {
  return database_->read([&](soci::session& session) {
    AsideCount row{};
    std::string reason;
    long long count = 0;
    soci::statement statement =
        (session.prepare << "SELECT source, reason, word, count(*) FROM source_aside GROUP BY source, "
                            "reason, word ORDER BY 4 DESC, source, reason, word LIMIT " +
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
    soci::statement statement = (session.prepare << "DELETE FROM source_aside WHERE source = :source AND "
                                                    "(reason = :reason OR :every = '')",
                                 use(source), use(word), use(word));
    statement.execute(true);
    return static_cast<std::int64_t>(statement.get_affected_rows());
  });
}

std::int64_t SourceBook::discard_held(const std::string& source) {
  return database_->write([&](soci::session& session) {
    session << "DELETE FROM change_event WHERE change_id IN (SELECT id FROM change_log WHERE source = "
               ":source AND held = 1)",
        use(source);
    soci::statement statement =
        (session.prepare << "DELETE FROM change_log WHERE source = :source AND held = 1", use(source));
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
