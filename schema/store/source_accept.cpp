#include <algorithm>
#include <map>
#include <string_view>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_inserts.h"
#include "schema/store/held_reports.h"
#include "schema/store/source_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using Type = BulkInsert::Type;

SourceReceipt untouched(SourceReceipt::Kind why) {
  SourceReceipt receipt;
  receipt.kind = why;
  return receipt;
}

/// Nobody here asked for it, so it has no account; its sender is known by address alone.
GiftRequest request_of(const ExternalGift& gift) {
  GiftRequest request;
  request.mode = SendMode::external;
  request.gift = gift.gift;
  request.item_name = gift.item_name;
  request.item_description = gift.item_description;
  request.costs = gift.costs;
  request.sender_email = gift.sender_email;
  request.created_at = gift.sent_at;
  return request;
}

/// Whose the gift is that a report was refused for, and what to do about it. `owner`: its origin.
std::string collision_in_words(TransactionId id, const std::string& owner, const SourceReport& report) {
  const std::string gift = "transaction " + std::to_string(id.value);
  if (owner.empty())
    return gift +
           " is a gift that giftsync sent, and this source reports on gifts of its own; if it is to "
           "report on giftsync's, set transactions: own";
  if (owner == report.source)
    return gift + " is this source's own, from when it had transactions: external; set that again";
  return gift + " belongs to source " + owner + ": the gifts of a source go by its name; if " + owner +
         " was renamed to " + report.source + ", give it its old name back";
}

/// The report while it is being written.
class Accepting {
 public:
  Accepting(soci::session& session, Dialect dialect, const SourceReport& report)
      : session_(session), dialect_(dialect), report_(report) {}

  SourceReceipt run(const std::vector<StatusChange>& numbered, std::int64_t request_id,
                    std::int64_t aside_id) {
    if (is_replay()) return untouched(SourceReceipt::Kind::replayed);
    if (is_overtaken()) return untouched(SourceReceipt::Kind::overtaken);
    delete_settled(numbered);
    create_gifts(request_id);
    accept(numbered);
    next_aside_id_ = aside_id;
    keep_aside(numbered);
    keep_held_reports();
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
        (session_.prepare << "UPDATE source SET position = :position, revision = revision + 1, failures = 0 "
                             "WHERE name = :name AND lease_owner = :owner AND revision = :revision",
         use(advance.position), use(report_.source), use(advance.owner), use(revision));
    update.execute(true);
    return update.get_affected_rows() == 0;
  }

  void delete_settled(const std::vector<StatusChange>& numbered) {
    if (report_.settled.empty()) return;
    const std::string list = sql::list_of(dialect_, report_.settled);
    long long change = 0;
    long long sent = 0;
    std::vector<std::int64_t> readings;
    soci::statement statement =
        sql::bound(session_,
                   "DELETE FROM source_aside WHERE " + sql::in_list(dialect_, "id", "ids", false) +
                       " RETURNING change_id, sent_id",
                   use(list), into(change), into(sent));
    sql::each_row(statement, [&] { add_readings(readings, change, sent); });
    sql::withdraw_readings(session_, dialect_, readings, numbered, report_.now);
  }

  static void add_readings(std::vector<std::int64_t>& readings, std::int64_t change, std::int64_t sent) {
    if (change != 0) readings.push_back(change);
    if (sent != 0) readings.push_back(sent);
  }

  /// The origins of those transactions that exist.
  std::unordered_map<TransactionId, std::string> origins_of_gifts() {
    std::vector<TransactionId> ids;
    for (const SourceItem& item : report_.items) {
      if (item.gift && !item.kept_aside) ids.push_back(item.gift->id);
    }
    if (ids.empty()) return {};
    return sql::known_transactions(session_, dialect_, ids);
  }

  void create_gifts(std::int64_t request_id) {
    std::unordered_map<TransactionId, std::string> origins = origins_of_gifts();
    BulkInsert requests = sql::request_rows(dialect_);
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
      sql::add_request(requests, {request_id}, request_of(gift));
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

  void accept(const std::vector<StatusChange>& numbered) {
    const std::vector<AcceptOutcome> outcomes = sql::accept_changes(session_, dialect_, numbered);
    find_owners(numbered, outcomes);
    std::size_t next = 0;
    for (const SourceItem& item : report_.items) {
      if (item.kept_aside) {
        aside_.push_back(item.aside);
      } else if (item.change) {
        const AcceptOutcome outcome = outcomes[next++];
        // Without room for the time of sending beside it, a report has no room at all.
        const bool has_no_room = item.sent && outcomes[next++] == AcceptOutcome::too_many_held;
        take(item, has_no_room ? AcceptOutcome::too_many_held : outcome);
      }
    }
  }

  void find_owners(const std::vector<StatusChange>& numbered, const std::vector<AcceptOutcome>& outcomes) {
    std::vector<TransactionId> others;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i] == AcceptOutcome::other_origin) others.push_back(numbered[i].transaction);
    }
    if (!others.empty()) owners_ = sql::known_transactions(session_, dialect_, others);
  }

  void take(const SourceItem& item, AcceptOutcome outcome) {
    switch (outcome) {
      case AcceptOutcome::accepted:
        ++receipt_.accepted;
        return;
      case AcceptOutcome::repeated:
        ++receipt_.repeated;
        if (!item.held_detail.empty()) perhaps_held_.push_back(&item);
        return;
      case AcceptOutcome::held:
        ++receipt_.held;
        if (!item.held_detail.empty()) perhaps_held_.push_back(&item);
        return;
      case AcceptOutcome::too_many_held:
        if (report_.settled.empty()) throw sql::TooMuchKept{};
        // It was kept aside before and takes its own place again, so that the others of its batch are
        // settled.
        aside_.push_back(item.aside);
        return;
      case AcceptOutcome::other_origin:
        break;
    }
    AsideReport& aside = aside_.emplace_back(item.aside);
    aside.reason = AsideReason::other_origin;
    aside.detail = collision_in_words(item.change->transaction, owners_[item.change->transaction], report_);
    receipt_.collisions.push_back(aside.detail);
  }

  BulkInsert aside_rows() const {
    return {dialect_,
            "source_aside",
            {{"id", Type::integer},
             {"source", Type::text},
             {"digest", Type::text},
             {"reason", Type::text},
             {"word", Type::text},
             {"detail", Type::text},
             {"transaction_id", Type::text},
             {"report", Type::text},
             {"received_at", Type::integer},
             {"change_id", Type::integer},
             {"sent_id", Type::integer}},
            "ON CONFLICT DO NOTHING"};
  }

  /// `change`, `sent`: the held changes that it was read as; 0: none.
  void add_aside(BulkInsert& rows, const AsideReport& aside, std::int64_t change = 0, std::int64_t sent = 0) {
    rows.add({next_aside_id_++, report_.source, aside.digest, to_word(aside.reason), aside.word, aside.detail,
              aside.transaction, aside.report, aside.received_at.value, change, sent});
  }

  void keep_aside(const std::vector<StatusChange>& numbered) {
    if (aside_.empty()) return;
    take_places_of_held_reports(numbered);
    BulkInsert rows = aside_rows();
    for (const AsideReport& aside : aside_) add_aside(rows, aside);
    receipt_.kept_aside = static_cast<std::size_t>(rows.run(session_));
    // Judging again needs no room.
    if (receipt_.kept_aside > 0 && report_.settled.empty() && is_too_much_aside()) throw sql::TooMuchKept{};
  }

  /// The same report was kept beside a change that was held; now there is more to say of it.
  void take_places_of_held_reports(const std::vector<StatusChange>& numbered) {
    std::vector<std::string> digests;
    for (const AsideReport& aside : aside_) digests.push_back(aside.digest);
    const std::string list = sql::list_of(dialect_, digests);
    long long change = 0;
    long long sent = 0;
    std::vector<std::int64_t> readings;
    soci::statement statement =
        sql::bound(session_,
                   "DELETE FROM source_aside WHERE source = :source AND reason = 'no_gift' AND " +
                       sql::in_list(dialect_, "digest", "digests", true) + " RETURNING change_id, sent_id",
                   use(report_.source), use(list), into(change), into(sent));
    sql::each_row(statement, [&] { add_readings(readings, change, sent); });
    sql::withdraw_readings(session_, dialect_, readings, numbered, report_.now);
  }

  /// All that is kept of the source, counted in an index alone.
  long long count_kept() {
    long long kept = 0;
    session_ << "SELECT count(*) FROM source_aside WHERE source = :source", use(report_.source), into(kept);
    return kept;
  }

  bool is_too_much_aside() {
    const long long kept = count_kept();
    if (kept <= kMaxAside) return false;
    long long beside = 0;
    session_ << "SELECT count(*) FROM source_aside WHERE source = :source AND reason = 'no_gift'",
        use(report_.source), into(beside);
    return kept - beside > kMaxAside;
  }

  /// Without room for its report a change is held all the same. Judging again needs none.
  void keep_held_reports() {
    if (perhaps_held_.empty()) return;
    std::vector<TransactionId> ids;
    for (const SourceItem* item : perhaps_held_) ids.push_back(item->change->transaction);
    const std::vector<StatusChange> waiting = sql::waiting_changes(session_, dialect_, report_.source, ids);
    if (waiting.empty()) return;
    std::map<sql::Identity, std::int64_t> held;
    for (const StatusChange& change : waiting) held.emplace(sql::identity_of(change), change.id.value);
    const auto id_of = [&](const std::optional<StatusChange>& change) -> std::int64_t {
      if (!change) return 0;
      const auto found = held.find(
          {change->transaction, change->status, change->premise, change->occurred_at, report_.source});
      return found == held.end() ? 0 : found->second;
    };
    const auto settled = static_cast<long long>(report_.settled.size());
    long long room = std::max<long long>(kMaxAside - count_kept(), settled);
    BulkInsert rows = aside_rows();
    for (const SourceItem* item : perhaps_held_) {
      const std::int64_t change = id_of(item->change);
      if (change == 0) continue;
      if (room-- <= 0) break;
      AsideReport kept = item->aside;
      kept.reason = AsideReason::no_gift;
      kept.detail = item->held_detail;
      kept.transaction = std::to_string(item->change->transaction.value);  // as forget_held_reports() looks
      add_aside(rows, kept, change, id_of(item->sent));
    }
    if (!rows.empty()) rows.run(session_);
  }

  /// To judge again what was kept is not to hear from the source.
  void count() {
    const long long is_heard = report_.settled.empty() ? 1 : 0;
    const long long accepted =
        static_cast<long long>(receipt_.accepted) + static_cast<long long>(receipt_.held);
    const long long repeated = is_heard * static_cast<long long>(receipt_.repeated);
    const long long ignored = static_cast<long long>(report_.ignored);
    const long long gifts = static_cast<long long>(receipt_.gifts);
    session_ << "UPDATE source SET last_heard_at = CASE WHEN :heard = 1 THEN :now ELSE last_heard_at END, "
                "accepted = accepted + :accepted, repeated = repeated + :repeated, "
                "ignored = ignored + :ignored, gifts = gifts + :gifts WHERE name = :name",
        use(is_heard), use(report_.now), use(accepted), use(repeated), use(ignored), use(gifts),
        use(report_.source);
  }

  soci::session& session_;
  const Dialect dialect_;
  const SourceReport& report_;
  std::vector<AsideReport> aside_;
  std::unordered_map<TransactionId, std::string> owners_;  // of the gifts that are another's
  std::vector<const SourceItem*> perhaps_held_;  // in report_; a repeat may be of a gift that is there
  std::int64_t next_aside_id_ = 0;
  SourceReceipt receipt_;
};

}  // namespace

SourceReceipt sql::accept_report(soci::session& session, Dialect dialect, const SourceReport& report,
                                 const std::vector<StatusChange>& changes, std::int64_t request_id,
                                 std::int64_t aside_id) {
  return Accepting(session, dialect, report).run(changes, request_id, aside_id);
}

}  // namespace giftsync::schema
