#include "schema/store/request_book.h"

#include "schema/spelling.h"
#include "schema/sql/database.h"
#include "schema/store/waiting_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

constexpr auto kStates = spelling<RequestState>({{RequestState::pending, "pending"},
                                                 {RequestState::approved, "approved"},
                                                 {RequestState::claimed, "claimed"},
                                                 {RequestState::rejected, "rejected"},
                                                 {RequestState::sent, "sent"}});
constexpr auto kApprovals = spelling<Approval>(
    {{Approval::none, ""}, {Approval::automatic, "automatic"}, {Approval::person, "person"}});

template <class Words>
auto known_word(const Words& words, const std::string& word) {
  if (const auto found = words.read(word)) return *found;
  throw BrokenWorld(false, "request_state holds \"" + word + "\", which this program does not know");
}

constexpr const char* kColumns =
    "request_key, number, state, shown, approval, approved_by, approved_content, order_text, asked_by, "
    "error, "
    "failures, due_at, deleted, version";

/// A row's values as SOCI takes them.
struct Row {
  KnownRequest known;
  std::string state;
  std::string shown;
  std::string approval;
  long long failures = 0;
  long long deleted = 0;
  long long version = 0;

  Row() = default;
  explicit Row(const KnownRequest& from)
      : known(from),
        state(to_word(from.state)),
        shown(to_word(from.shown)),
        approval(to_word(from.approval)),
        failures(from.failures),
        deleted(from.deleted ? 1 : 0),
        version(from.version) {}
  KnownRequest value() const {
    KnownRequest request = known;
    request.state = known_word(kStates, state);
    request.shown = request_status_from_word(shown).value_or(RequestStatus::pending);
    request.approval = known_word(kApprovals, approval);
    request.failures = failures;
    request.deleted = deleted != 0;
    request.version = version;
    return request;
  }
};

void insert_moves(soci::session& session, const std::string& key, const std::vector<RequestMove>& moves) {
  for (const RequestMove& move : moves) {
    session << "INSERT INTO request_move (request_key, moved_at, who, from_state, to_state, remark) VALUES "
               "(:key, :at, "
               ":who, :old_state, :new_state, :remark)",
        use(key), use(move.at), use(move.who), use(move.from), use(move.to), use(move.comment);
  }
}

bool insert_new(soci::session& session, const Row& row) {
  const KnownRequest& k = row.known;
  soci::statement statement =
      sql::bound(session,
                 std::string("INSERT INTO request_state (") + kColumns +
                     ") VALUES (:key, :number, :state, :shown, :approval, :approver, :content, :order_text, "
                     ":asker, :error, :failures, :due, :deleted, 1) ON CONFLICT (request_key) DO NOTHING",
                 use(k.key), use(k.number), use(row.state), use(row.shown), use(row.approval),
                 use(k.approved_by), use(k.approved_content), use(k.order), use(k.asked_by), use(k.error),
                 use(row.failures), use(k.due_at), use(row.deleted));
  statement.execute(true);
  return statement.get_affected_rows() == 1;
}

bool update_known(soci::session& session, const Row& row) {
  const KnownRequest& k = row.known;
  soci::statement statement =
      sql::bound(session,
                 "UPDATE request_state SET number = :number, state = :state, shown = :shown, approval = "
                 ":approval, approved_by = :approver, approved_content = :content, order_text = :order_text, "
                 "error = :error, failures = :failures, due_at = :due, deleted = :deleted, version = version "
                 "+ 1 WHERE request_key = :key AND version = :version",
                 use(k.number), use(row.state), use(row.shown), use(row.approval), use(k.approved_by),
                 use(k.approved_content), use(k.order), use(k.error), use(row.failures), use(k.due_at),
                 use(row.deleted), use(k.key), use(row.version));
  statement.execute(true);
  return statement.get_affected_rows() == 1;
}

std::vector<SentRequest> select_sent(soci::session& session, const std::string& where,
                                     const std::string& list) {
  std::vector<SentRequest> found;
  SentRequest row;
  RequestOrigin& origin = row.origin;
  soci::statement statement = sql::bound(
      session,
      "SELECT request_key, gift_request_id, contact_id, lead_id, account_id, opportunity_id, "
      "sender_id FROM sent_request WHERE " +
          where,
      use(list), into(origin.key), into(row.gift_request), into(origin.contact_id), into(origin.lead_id),
      into(origin.account_id), into(origin.opportunity_id), into(origin.sender_id));
  sql::each_row(statement, [&] { found.push_back(row); });
  return found;
}

}  // namespace

std::string_view to_word(RequestState state) {
  return kStates.of(state);
}

std::string_view to_word(Approval approval) {
  return kApprovals.of(approval);
}

RequestBook::RequestBook(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<KnownRequest> RequestBook::find(std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const Dialect dialect = database_->dialect();
  const std::string list = sql::list_of(dialect, std::vector<std::string>(keys.begin(), keys.end()));
  return database_->read([&](soci::session& session) {
    std::vector<KnownRequest> found;
    Row row;
    KnownRequest& k = row.known;
    soci::statement statement = sql::bound(
        session,
        std::string("SELECT ") + kColumns + " FROM request_state WHERE " +
            sql::in_list(dialect, "request_key", "keys", true),
        use(list), into(k.key), into(k.number), into(row.state), into(row.shown), into(row.approval),
        into(k.approved_by), into(k.approved_content), into(k.order), into(k.asked_by), into(k.error),
        into(row.failures), into(k.due_at), into(row.deleted), into(row.version));
    sql::each_row(statement, [&] { found.push_back(row.value()); });
    return found;
  });
}

std::set<std::string> RequestBook::save(std::span<const RequestChange> changes) {
  if (changes.empty()) return {};
  return database_->write([&](soci::session& session) {
    std::set<std::string> saved;
    for (const RequestChange& change : changes) {
      const Row row(change.next);
      if (!(row.version == 0 ? insert_new(session, row) : update_known(session, row))) continue;
      insert_moves(session, change.next.key, change.moves);
      saved.insert(change.next.key);
    }
    return saved;
  });
}

std::vector<std::string> RequestBook::due(UtcMillis now, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    std::vector<std::string> keys;
    std::string key;
    soci::statement statement =
        sql::bound(session,
                   "SELECT request_key FROM request_state WHERE due_at <= :now ORDER BY due_at LIMIT " +
                       std::to_string(limit),
                   use(now), into(key));
    sql::each_row(statement, [&] { keys.push_back(key); });
    return keys;
  });
}

std::int64_t RequestBook::end_waits_beyond(UtcMillis latest, UtcMillis now) {
  const sql::WaitingRows requests = {.table = "request_state",
                                     .key = "request_key",
                                     .beyond = "due_at > :latest",
                                     .order = "due_at, request_key",
                                     .ended = "due_at = :now"};
  return sql::end_waits_beyond(*database_, requests, latest, now);
}

std::optional<KnownRequest> RequestBook::named(const std::string& number_or_id) {
  std::string key;
  database_->read([&](soci::session& session) {
    soci::statement statement = sql::bound(
        session,
        "SELECT request_key FROM request_state WHERE number = :number OR request_key = :id ORDER BY "
        "CASE WHEN number = :again THEN 1 ELSE 0 END",
        use(number_or_id), use(number_or_id), use(number_or_id), into(key));
    sql::each_row(statement, [] {});
  });
  const std::vector<KnownRequest> found = find(std::span(&key, 1));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

RequestMaking RequestBook::begin_making(AccountId account, const IdempotencyKey& asked,
                                        const std::string& fresh_key, UtcMillis now) {
  return database_->write_urgently([&](soci::session& session) {
    session
        << "INSERT INTO request_making (account_id, key, body_hash, creation_key, request_key, number, "
           "created_at) VALUES (:account, :key, :hash, :fresh, '', '', :now) ON CONFLICT (account_id, key) "
           "DO UPDATE SET key = excluded.key",
        use(account), use(asked.key), use(asked.body_hash), use(fresh_key), use(now);
    // The row is locked by now, so nobody prunes it before it is read.
    RequestMaking making;
    std::string body_hash;
    session << "SELECT body_hash, creation_key, request_key, number FROM request_making WHERE account_id = "
               ":account AND key = :key",
        use(account), use(asked.key), into(body_hash), into(making.creation_key), into(making.key),
        into(making.number);
    making.is_mismatch = body_hash != asked.body_hash;
    return making;
  });
}

std::int64_t RequestBook::prune_makings(UtcMillis before) {
  return database_->write([&](soci::session& session) {
    soci::statement statement =
        sql::bound(session, "DELETE FROM request_making WHERE created_at < :before", use(before));
    statement.execute(true);
    return static_cast<std::int64_t>(statement.get_affected_rows());
  });
}

UtcMillis RequestBook::now() {
  return database_->read([&](soci::session& session) {
    UtcMillis now;
    session << "SELECT " + std::string(sql::database_now(database_->dialect())), into(now);
    return now;
  });
}

void RequestBook::note_made(const MadeRequest& made, UtcMillis now) {
  database_->write_urgently([&](soci::session& session) {
    session
        << "INSERT INTO request_state (request_key, number, state, shown, approval, approved_by, "
           "approved_content, order_text, asked_by, error, failures, due_at, deleted, version) VALUES (:key, "
           ":number, 'pending', 'Pending', '', '', '', '', :asker, '', 0, :due, 0, 1) ON CONFLICT "
           "(request_key) "
           "DO UPDATE SET asked_by = excluded.asked_by",
        use(made.key), use(made.number), use(made.asker), use(now);
    insert_moves(session, made.key, {{now, made.asker, "", "pending", "made"}});
    session
        << "UPDATE request_making SET request_key = :key, number = :number WHERE creation_key = :creation",
        use(made.key), use(made.number), use(made.creation_key);
    return true;
  });
}

std::vector<RequestMove> RequestBook::moves(const std::string& key) {
  return database_->read([&](soci::session& session) {
    std::vector<RequestMove> found;
    RequestMove row;
    soci::statement statement =
        sql::bound(session,
                   "SELECT moved_at, who, from_state, to_state, remark FROM request_move WHERE request_key = "
                   ":key ORDER BY id",
                   use(key), into(row.at), into(row.who), into(row.from), into(row.to), into(row.comment));
    sql::each_row(statement, [&] { found.push_back(row); });
    return found;
  });
}

std::vector<SentRequest> RequestBook::sent(std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const Dialect dialect = database_->dialect();
  const std::string list = sql::list_of(dialect, std::vector<std::string>(keys.begin(), keys.end()));
  return database_->read([&](soci::session& session) {
    return select_sent(session, sql::in_list(dialect, "request_key", "keys", true), list);
  });
}

std::vector<SentRequest> RequestBook::origins(std::span<const GiftRequestId> requests) {
  if (requests.empty()) return {};
  const Dialect dialect = database_->dialect();
  std::vector<std::int64_t> ids;
  for (const GiftRequestId id : requests) ids.push_back(id.value);
  const std::string list = sql::list_of(dialect, ids);
  return database_->read([&](soci::session& session) {
    return select_sent(session, sql::in_list(dialect, "gift_request_id", "ids", false), list);
  });
}

}  // namespace giftsync::schema
