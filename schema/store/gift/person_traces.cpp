#include "schema/store/gift/person_traces.h"

#include <algorithm>
#include <array>
#include <utility>

#include "platform/digest.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/do_not_send.h"
#include "schema/store/gift/erased_address.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/named_address.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/rollup_deltas.h"

namespace giftsync::store {
namespace {

using soci::use;

/// What an erased text becomes.
enum class Erasure {
  mark,        ///< kErased
  empty_json,  ///< an event without fields: a reprocessed one stays what it is
  empty_list,  ///< of JSON: a repeated call gets it
  address,     ///< the address alone is replaced: an audit event stays otherwise
  empty_text   ///< values or a body that are read as a whole
};

/// A column whose texts something else than giftsync may have written, or that repeats addresses.
struct TextColumn {
  const char* table;
  const char* key;
  bool is_number;  ///< the key
  const char* column;
  Erasure erasure = Erasure::mark;
  const char* only = "";  ///< a condition on the rows: events about accounts name senders
};

constexpr std::array kTextColumns{
    TextColumn{"gift_request", "id", true, "utm_campaign_id"},
    TextColumn{"gift_request", "id", true, "reference"},
    TextColumn{"recipient_transaction", "id", true, "reference"},
    TextColumn{"gift_reference", "request_id", true, "reference"},
    TextColumn{"gift_request_idempotency", "key", false, "warnings", Erasure::empty_list},
    TextColumn{"gift_action", "id", true, "comment"},
    TextColumn{"mail_outbox", "transaction_id", true, "last_reply"},
    TextColumn{"mail_breaker", "daemon", false, "reason"},
    TextColumn{"crm_outbox", "transaction_id", true, "last_error"},
    TextColumn{"crm_sync_state", "transaction_id", true, "reason"},
    TextColumn{"crm_sync_state", "transaction_id", true, "warnings"},
    TextColumn{"crm_sync_state", "transaction_id", true, "error"},
    TextColumn{"sender_notice", "transaction_id", true, "email"},
    TextColumn{"sender_notice", "transaction_id", true, "reply"},
    TextColumn{"change_log", "id", true, "void_reason"},
    TextColumn{"change_audit", "id", true, "reason"},
    TextColumn{"inbound_event", "id", true, "payload", Erasure::empty_json},
    TextColumn{"inbound_event", "id", true, "detail"},
    TextColumn{"inbound_event", "id", true, "status_word"},
    TextColumn{"refused_message", "id", true, "reason"},
    TextColumn{"source", "name", false, "reason"},
    TextColumn{"source", "name", false, "last_refusal"},
    TextColumn{"request_record_state", "record_id", false, "approved_content", Erasure::empty_text},
    TextColumn{"request_record_state", "record_id", false, "seen_content", Erasure::empty_text},
    TextColumn{"request_record_state", "record_id", false, "gift_request_text", Erasure::empty_text},
    TextColumn{"request_record_state", "record_id", false, "error"},
    TextColumn{"request_record_transition", "id", true, "comment"},
    TextColumn{"request_record_edit", "id", true, "old_values", Erasure::empty_text},
    TextColumn{"request_record_edit", "id", true, "new_values", Erasure::empty_text},
    TextColumn{"held_gift_request", "request_id", true, "content", Erasure::empty_text},
    TextColumn{"held_gift_request", "request_id", true, "comment"},
    TextColumn{"held_gift_request", "request_id", true, "findings", Erasure::address},
    TextColumn{"approver_notice", "transition_id", true, "recipient"},
    TextColumn{"approver_notice", "transition_id", true, "reasons", Erasure::address},
    TextColumn{"do_not_send", "pattern", false, "comment"},
    TextColumn{"store_metadata", "name", false, "value", Erasure::address, "name = 'mail_admin_pause' AND "},
    TextColumn{"api_key", "id", true, "pause_reason", Erasure::address},
    TextColumn{"organization_token", "id", true, "pause_reason", Erasure::address},
    TextColumn{"audit_event", "id", true, "detail", Erasure::address,
               "(object_kind NOT IN ('account', 'user', 'key') OR action = 'key.pause') AND "}};

/// Ids that sources gave. They stay, or a repeated report would not be known.
constexpr std::array kIdColumns{
    TextColumn{"recipient_transaction", "id", true, "external_id", Erasure::mark, "gift_source <> '' AND "},
    TextColumn{"external_transaction", "transaction_id", true, "external_id"},
    TextColumn{"inbound_event", "id", true, "transaction_id"},
    TextColumn{"change_event", "change_id", true, "event_id"}};

/// Base64, so that no condition of SQL finds an address in it.
constexpr TextColumn kRefusedBody{"refused_message", "id", true, "body", Erasure::empty_text};

/// Few gifts in a transaction: other writers wait for it.
constexpr std::size_t kGiftsPerTransaction = 100;

/// A condition on the column, with its parameters: it has one of the spellings, by bytes.
sql::Conditions has_spelling(sql::Dialect dialect, const std::string& column,
                             const std::vector<std::string>& spellings) {
  const std::string lower =
      "lower(" + column + (dialect == sql::Dialect::postgresql ? " COLLATE \"C\")" : ")");
  sql::Conditions conditions;
  std::string any;
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    const std::string name = "spelling" + std::string(1, static_cast<char>('a' + i));
    any += (any.empty() ? "(" : " OR ") + lower + " LIKE :" + name + " ESCAPE '!'";
    conditions.bind(name, "%" + sql::like_pattern(spellings[i]) + "%");
  }
  conditions.text = any + ")";
  return conditions;
}

std::vector<PersonText> texts_of(soci::session& session, const TextColumn& of, const sql::Conditions& where) {
  PersonText row{of.table, of.column, "", ""};
  return sql::select_rows(row, session,
                          std::string("SELECT cast(") + of.key + " AS text), " + of.column + " FROM " +
                              of.table + " WHERE " + of.only + where.text,
                          where, soci::into(row.key), soci::into(row.text));
}

/// The texts of these columns that name the address.
std::vector<PersonText> naming_texts(soci::session& session, std::span<const TextColumn> columns,
                                     const std::string& address_key) {
  const std::vector<std::string> spellings = address_spellings(address_key);
  std::vector<PersonText> found;
  for (const TextColumn& column : columns)
    for (PersonText& text : texts_of(session, column, has_spelling(session, column.column, spellings)))
      if (names_address(text.text, address_key)) found.push_back(std::move(text));
  return found;
}

/// Of a gift `t`: a worker has it at this moment, and would write what it read before.
std::string is_busy(sql::Dialect dialect) {
  const std::string now(sql::database_now(dialect));
  return "(EXISTS (SELECT 1 FROM crm_outbox c WHERE c.transaction_id = t.id AND c.lease_owner <> '' AND "
         "c.lease_until > " +
         now +
         ") OR EXISTS (SELECT 1 FROM mail_outbox m WHERE m.transaction_id = t.id AND m.state = 'sending' AND "
         "m.lease_until > " +
         now + "))";
}

/// A text about one gift.
struct GiftText {
  const char* table;
  const char* column;
};
constexpr std::array kGiftTexts{GiftText{"gift_action", "comment"},     GiftText{"mail_outbox", "last_reply"},
                                GiftText{"crm_outbox", "last_error"},   GiftText{"crm_sync_state", "reason"},
                                GiftText{"crm_sync_state", "warnings"}, GiftText{"crm_sync_state", "error"},
                                GiftText{"sender_notice", "email"},     GiftText{"sender_notice", "reply"},
                                GiftText{"change_log", "void_reason"}};

/// Sets the column to kErased where it has a text.
void erase_column(soci::session& session, const std::string& table, const std::string& column,
                  const std::string& where, const std::string& list) {
  sql::change_rows(
      session,
      "UPDATE " + table + " SET " + column + " = '" + kErased + "' WHERE " + column + " <> '' AND " + where,
      use(list, "ids"));
}

/// Comments and edits of request records. `records`: a condition on their `record_id`, with `list`.
void erase_history_of_records(soci::session& session, const std::string& records, const std::string& list) {
  erase_column(session, "request_record_transition", "comment", records, list);
  sql::change_rows(session,
                   "UPDATE request_record_edit SET old_values = '', new_values = '' WHERE " + records,
                   use(list, "ids"));
}

constexpr const char* kRecordsOfGifts =
    "SELECT g.record_id FROM request_record_gift g JOIN recipient_transaction t ON t.request_id = "
    "g.gift_request_id WHERE ";

/// Of the gifts `ids`, FROM on: their events that are kept, as `e`. Vendors' ids are texts. Those of a source
/// that allots are its own: another gift may have the same number here.
std::array<std::string, 2> events_of(soci::session& session) {
  return {
      "external_transaction t JOIN inbound_event e ON e.transaction_id = t.external_id AND e.source = "
      "t.gift_source WHERE " +
          sql::in_list(session, "t.transaction_id", "ids", false),
      "recipient_transaction t JOIN inbound_event e ON e.transaction_id = cast(t.id AS text) WHERE "
      "t.external_id = '' AND (e.source = t.gift_source OR e.source NOT IN (SELECT gift_source FROM "
      "external_transaction)) AND " +
          sql::in_list(session, "t.id", "ids", false)};
}

void erase_events(soci::session& session, const std::string& list) {
  for (const std::string& events : events_of(session))
    sql::change_rows(
        session,
        std::string(
            "UPDATE inbound_event SET payload = '{}', detail = CASE WHEN detail = '' THEN '' ELSE '") +
            kErased + "' END WHERE id IN (SELECT e.id FROM " + events + ")",
        use(list, "ids"));
}

/// What is kept about the gifts outside of their rows. `list`: their ids.
void erase_about(soci::session& session, const std::string& list) {
  const auto in_ids = [&](const std::string& column) { return sql::in_list(session, column, "ids", false); };
  for (const GiftText& text : kGiftTexts)
    erase_column(session, text.table, text.column, in_ids("transaction_id"), list);
  erase_column(session, "change_audit", "reason",
               "change_id IN (SELECT id FROM change_log WHERE " + in_ids("transaction_id") + ")", list);
  erase_history_of_records(session, "record_id IN (" + (kRecordsOfGifts + in_ids("t.id")) + ")", list);
  erase_events(session, list);
}

/// Their records are written once more, whatever the caller comes to: those that giftsync wrote before.
void enqueue_records(soci::session& session, const std::string& list, UtcMillis now) {
  const auto ids =
      sql::select_column<TransactionId>(session,
                                        "SELECT transaction_id FROM crm_sync_state WHERE state = '" +
                                            std::string(to_word(CrmSyncStatus::written)) + "' AND " +
                                            sql::in_list(session, "transaction_id", "ids", false),
                                        use(list, "ids"));
  enqueue_sync(session, ids, now);
}

/// In the caller's transaction; returns the gifts that were changed.
std::vector<TransactionId> erase_some(soci::session& session, std::span<const TransactionId> gifts,
                                      const std::string& mark) {
  std::vector<std::int64_t> ids;
  for (const TransactionId gift : gifts) ids.push_back(gift.value);
  lock_gifts(session, ids);
  const std::string asked = sql::list_of(session, ids);
  ids = sql::select_column<std::int64_t>(session,
                                         "SELECT t.id FROM recipient_transaction t WHERE " +
                                             sql::in_list(session, "t.id", "ids", false) +
                                             " AND t.email <> :mark AND NOT " + is_busy(session),
                                         use(asked, "ids"), use(mark, "mark"));
  if (ids.empty()) return {};
  const std::string list = sql::list_of(session, ids);
  const std::string erased = std::string("'") + kErased + "'";
  const auto now = sql::select_value<UtcMillis>(session, "SELECT " + std::string(sql::database_now(session)));
  // All at once, behind the gifts and before their rows in the sync queue, as every writer has it (API-10).
  mark_for_feed(session, FeedMarkKind::gift, ids, feed_reason::kSilent, now);
  erase_about(session, list);
  sql::change_rows(session,
                   "UPDATE recipient_transaction SET version = version + 1, email = :mark, first_name = " +
                       erased + ", last_name = '', message = CASE WHEN message = '' THEN '' ELSE " + erased +
                       " END, phone = CASE WHEN phone = '' THEN '' ELSE " + erased +
                       " END, reference = CASE WHEN reference = '' THEN '' ELSE " + erased + " END WHERE " +
                       sql::in_list(session, "id", "ids", false),
                   use(mark, "mark"), use(list, "ids"));
  const std::string requests = sql::list_of(
      session, sql::select_column<std::int64_t>(session,
                                                "SELECT request_id FROM recipient_transaction WHERE " +
                                                    sql::in_list(session, "id", "ids", false),
                                                use(list, "ids")));
  sql::change_rows(
      session,
      "UPDATE gift_reference SET reference = " + erased + " WHERE " +
          sql::in_list(session, "request_id", "requests", false) +
          " AND EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = gift_reference.transaction_id AND "
          "t.email = :mark)",
      use(requests, "requests"), use(mark, "mark"));
  enqueue_records(session, list, now);
  std::vector<TransactionId> changed;
  for (const std::int64_t id : ids) changed.push_back({id});
  return changed;
}

const TextColumn& column_of(const PersonText& text) {
  const auto* found = std::find_if(kTextColumns.begin(), kTextColumns.end(), [&](const TextColumn& column) {
    return text.table == column.table && text.column == column.column;
  });
  return found == kTextColumns.end() ? kRefusedBody : *found;
}

std::string erased_text(const TextColumn& column, const PersonText& text, const std::string& address_key,
                        const std::string& mark) {
  switch (column.erasure) {
    case Erasure::mark:
      return kErased;
    case Erasure::empty_json:
      return "{}";
    case Erasure::empty_list:
      return "[]";
    case Erasure::address:
      return address_replaced(text.text, address_key, mark);
    case Erasure::empty_text:
      break;
  }
  return {};
}

/// False when it has changed since. True also of one that was erased with its gift or request record.
bool erase_text(soci::session& session, const PersonText& text, const std::string& address_key,
                const std::string& mark) {
  const TextColumn& column = column_of(text);
  const std::string table = column.table;
  // An open record is another person's by now: its history stays but for this text.
  const std::string closed_record =
      "record_id = (SELECT s.record_id FROM request_record_state s WHERE s.state IN ('sent', 'rejected') AND "
      "s.record_id = ";
  if (table == "request_record_state")
    erase_history_of_records(session, closed_record + ":ids)", text.key);
  else if (table == "request_record_transition" || table == "request_record_edit")
    erase_history_of_records(
        session, closed_record + "(SELECT record_id FROM " + table + " WHERE id = cast(:ids AS bigint)))",
        text.key);
  const std::string erased = erased_text(column, text, address_key, mark);
  const std::string statement = "UPDATE " + table + " SET " + column.column + " = :erased WHERE " +
                                column.key + " = " + (column.is_number ? "cast(:key AS bigint)" : ":key");
  if (&column == &kRefusedBody)  // `text` has its bytes
    return sql::change_rows(session, statement, use(erased, "erased"), use(text.key, "key")) > 0;
  return sql::change_rows(session, statement + " AND " + column.column + " IN (:known, :erased)",
                          use(erased, "erased"), use(text.key, "key"), use(text.text, "known")) > 0;
}

}  // namespace

std::vector<PersonGift> PersonTraces::gifts(const std::string& address_key, const std::string& mark) {
  std::vector<std::string> addresses{address_key, email_key_in_unicode(address_key)};
  if (!mark.empty()) addresses.push_back(mark);
  return database_->read([&](soci::session& session) {
    const std::string list = sql::list_of(session, addresses);
    std::int64_t id = 0;
    std::int64_t busy = 0;
    std::int64_t waits = 0;
    std::string email;
    std::vector<PersonGift> gifts;
    soci::statement statement = sql::bound(
        session,
        "SELECT t.id, t.email, CASE WHEN " + is_busy(session) +
            " THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM crm_outbox o WHERE "
            "o.transaction_id = t.id AND o.is_rejected = 0) THEN 1 ELSE 0 END FROM "
            "recipient_transaction t WHERE " +
            sql::in_list(session, store::address_key(session, "t.email"), "addresses", true) +
            " AND t.is_test = 0 ORDER BY t.id",
        use(list, "addresses"), soci::into(id), soci::into(email), soci::into(busy), soci::into(waits));
    sql::each_row(statement, [&] {
      gifts.push_back({{id}, is_erased_address(email), busy != 0, waits != 0});
    });
    return gifts;
  });
}

std::vector<PersonText> PersonTraces::texts(const std::string& address_key) {
  return database_->read([&](soci::session& session) {
    std::vector<PersonText> found = naming_texts(session, kTextColumns, address_key);
    for (PersonText& text : texts_of(session, kRefusedBody, {"body <> ''"})) {
      text.text = from_base64_text(text.text).value_or("");
      if (names_address(text.text, address_key)) found.push_back(std::move(text));
    }
    return found;
  });
}

std::vector<PersonText> PersonTraces::kept_ids(const std::string& address_key) {
  return database_->read(
      [&](soci::session& session) { return naming_texts(session, kIdColumns, address_key); });
}

std::vector<PersonText> PersonTraces::texts_about(std::span<const TransactionId> gifts,
                                                  std::span<const std::string> record_ids) {
  return database_->read([&](soci::session& session) {
    std::vector<PersonText> texts;
    const auto add = [&](const std::string& table, const std::string& key, const std::string& column,
                         const std::string& rows, const std::string& list) {
      PersonText row{table, column.substr(column.find('.') + 1), "", ""};
      std::vector<PersonText> found = sql::select_rows(
          row, session,
          "SELECT cast(" + key + " AS text), " + column + " FROM " + rows + " AND " + column + " <> ''",
          use(list, "ids"), soci::into(row.key), soci::into(row.text));
      // Here, since an ORDER BY makes SQLite read the gifts by the events.
      std::ranges::sort(found, {},
                        [](const PersonText& text) { return std::pair(text.key.size(), text.key); });
      std::ranges::move(found, std::back_inserter(texts));
    };
    std::vector<std::int64_t> numbers;
    for (const TransactionId gift : gifts) numbers.push_back(gift.value);
    const std::string ids = sql::list_of(session, numbers);
    for (const std::string& events : events_of(session))
      for (const char* column : {"e.payload", "e.detail"}) add("inbound_event", "e.id", column, events, ids);
    for (const GiftText& text : {GiftText{"crm_outbox", "last_error"}, GiftText{"sender_notice", "email"},
                                 GiftText{"sender_notice", "reply"}})
      add(text.table, "transaction_id", text.column,
          std::string(text.table) + " WHERE " + sql::in_list(session, "transaction_id", "ids", false), ids);
    std::vector<std::string> records(record_ids.begin(), record_ids.end());
    for (std::string& record : sql::select_column<std::string>(
             session, kRecordsOfGifts + sql::in_list(session, "t.id", "ids", false), use(ids, "ids")))
      records.push_back(std::move(record));
    const std::string record_list = sql::list_of(session, records);
    for (const TextColumn& column : kTextColumns) {
      const std::string table = column.table;
      if (table.starts_with("request_record_"))
        add(table, column.key, column.column,
            table + " WHERE " + sql::in_list(session, "record_id", "ids", true), record_list);
    }
    return texts;
  });
}

std::vector<std::string> PersonTraces::open_requests(const std::string& address_key) {
  const std::vector<std::string> spellings = address_spellings(address_key);
  return database_->read([&](soci::session& session) {
    std::vector<std::string> numbers;
    const auto add = [&](const std::string& number, const std::string& texts, const std::string& waiting) {
      const sql::Conditions where = has_spelling(session, texts, spellings);
      PersonText row;
      for (const PersonText& request : sql::select_rows(
               row, session,
               "SELECT " + number + ", " + texts + " FROM " + waiting + " AND " + where.text + " ORDER BY 1",
               where, soci::into(row.key), soci::into(row.text)))
        if (names_address(request.text, address_key)) numbers.push_back(request.key);
    };
    add("s.number", "(s.approved_content || ' ' || s.seen_content || ' ' || s.gift_request_text)",
        "request_record_state s WHERE s.state NOT IN ('sent', 'rejected') AND s.deleted = 0");
    add("cast(h.request_id AS text)", "h.content", "held_gift_request h WHERE h.state = 'held'");
    return numbers;
  });
}

std::vector<std::string> PersonTraces::request_records(std::span<const TransactionId> gifts) {
  return database_->read([&](soci::session& session) {
    std::vector<std::int64_t> ids;
    for (const TransactionId gift : gifts) ids.push_back(gift.value);
    const std::string list = sql::list_of(session, ids);
    return sql::select_column<std::string>(
        session, kRecordsOfGifts + sql::in_list(session, "t.id", "ids", false) + " ORDER BY 1",
        use(list, "ids"));
  });
}

void PersonTraces::erase_request_records(std::span<const std::string> record_ids) {
  if (record_ids.empty()) return;
  database_->write([&](soci::session& session) {
    const std::string list = sql::list_of(session, record_ids);
    const std::string records = sql::in_list(session, "record_id", "ids", true);
    erase_history_of_records(session, records, list);
    erase_column(session, "request_record_state", "error", records, list);
    sql::change_rows(session,
                     "UPDATE request_record_state SET approved_content = '', seen_content = '', "
                     "gift_request_text = '' WHERE state IN ('sent', 'rejected') AND " +
                         records,
                     use(list, "ids"));
  });
}

std::vector<TransactionId> PersonTraces::erase_gifts(std::span<const TransactionId> gifts,
                                                     const std::string& mark) {
  std::vector<TransactionId> erased;
  for (std::size_t from = 0; from < gifts.size(); from += kGiftsPerTransaction) {
    const auto some = gifts.subspan(from, std::min(kGiftsPerTransaction, gifts.size() - from));
    const std::vector<TransactionId> changed =
        database_->write([&](soci::session& session) { return erase_some(session, some, mark); });
    erased.insert(erased.end(), changed.begin(), changed.end());
  }
  return erased;
}

namespace {

/// Locks the gifts that these texts are of: a gift comes before its mark, as in every decision about it.
/// Readers of the API have the texts of gifts and their requests as well (API-11).
void lock_and_mark_gifts_of(soci::session& session, std::span<const PersonText> texts) {
  std::vector<std::int64_t> gifts;
  std::vector<std::int64_t> requests;
  for (const PersonText& text : texts) {
    const auto key = parse_number<std::int64_t>(text.key);
    if (key && text.table == "recipient_transaction") gifts.push_back(*key);
    if (key && text.table == "gift_request") requests.push_back(*key);
  }
  if (!requests.empty()) {
    const std::string list = sql::list_of(session, requests);
    const auto theirs = sql::select_column<std::int64_t>(
        session,
        "SELECT id FROM recipient_transaction WHERE " + sql::in_list(session, "request_id", "ids", false),
        use(list, "ids"));
    gifts.insert(gifts.end(), theirs.begin(), theirs.end());
  }
  if (gifts.empty()) return;
  lock_gifts(session, gifts);
  if (!keeps_feed(session)) return;
  const auto now = sql::select_value<UtcMillis>(session, "SELECT " + std::string(sql::database_now(session)));
  mark_for_feed(session, FeedMarkKind::gift, gifts, feed_reason::kSilent, now);
}

/// What the gifts are counted as whose campaign this is; of another text nothing.
std::vector<CountedGift> counted_by_campaign(soci::session& session, const PersonText& text) {
  std::vector<CountedGift> counted;
  if (text.table != "gift_request" || text.column != "utm_campaign_id") return counted;
  sql::PreparedQuery row(session, gifts_query("t.request_id = cast(:request AS bigint)"), {"request"});
  row.each_row({text.key}, [&] {
    const Gift gift = gift_in(row);
    if (auto found = counted_gift(gift.request, gift.transaction)) counted.push_back(std::move(*found));
  });
  return counted;
}

}  // namespace

std::int64_t PersonTraces::erase_texts(std::span<const PersonText> texts, const std::string& address_key,
                                       const std::string& mark) {
  std::int64_t erased = 0;
  for (std::size_t from = 0; from < texts.size(); from += kGiftsPerTransaction) {
    const auto some = texts.subspan(from, std::min(kGiftsPerTransaction, texts.size() - from));
    erased += database_->write([&](soci::session& session) {
      std::int64_t changed = 0;
      lock_and_mark_gifts_of(session, some);
      RollupDeltas deltas;
      for (const PersonText& text : some) {
        std::vector<CountedGift> counted = counted_by_campaign(session, text);
        if (!erase_text(session, text, address_key, mark)) continue;
        ++changed;
        for (CountedGift& gift : counted) {
          deltas.subtract(gift.by, numbers_of(gift));
          gift.by.campaign = campaign_key(kErased);
          deltas.add(gift);
        }
      }
      deltas.rows(session).run(session);
      return changed;
    });
  }
  return erased;
}

std::int64_t PersonTraces::erase_entries(const std::string& address_key, const std::string& address_hash) {
  return database_->write(
      [&](soci::session& session) { return erase_do_not_send(session, address_key, address_hash); });
}

}  // namespace giftsync::store
