#include "schema/store/console_gifts.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/ids.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/bounded_queries.h"

namespace giftsync::store {
namespace {

constexpr auto kCrmFilters = enum_words<CrmFilter>({{CrmFilter::any, "any"},
                                                    {CrmFilter::waiting, "waiting"},
                                                    {CrmFilter::failing, "failing"},
                                                    {CrmFilter::rejected, "rejected"},
                                                    {CrmFilter::unmatched, "unmatched"},
                                                    {CrmFilter::needs_relink, "needs_relink"},
                                                    {CrmFilter::skipped, "skipped"},
                                                    {CrmFilter::deleted, "deleted"}});

/// Their conditions on crm_outbox `o` and crm_sync_state `c`.
constexpr auto kCrmConditions = enum_words<CrmFilter>(
    {{CrmFilter::any, ""},
     {CrmFilter::waiting, "o.transaction_id IS NOT NULL"},
     {CrmFilter::failing, "(o.attempts > 0 OR o.last_error <> '')"},
     {CrmFilter::rejected, "o.is_rejected = 1"},
     {CrmFilter::unmatched, "((c.contact_id = '' AND c.lead_id = '') OR c.needs_relink = 1)"},
     {CrmFilter::needs_relink, "c.needs_relink = 1"},
     {CrmFilter::skipped, "c.state = 'skipped'"},
     {CrmFilter::deleted, "c.state = 'deleted'"}});

/// A pattern of LIKE ... ESCAPE '!': each # of the class stands for digits.
std::string pattern_of(const std::string& error_class) {
  std::string pattern = sql::like_pattern(error_class);
  std::replace(pattern.begin(), pattern.end(), '#', '%');
  return pattern;
}

/// A pattern of GLOB, or a regular expression of PostgreSQL, for texts that contain this one. It names each
/// letter in lower and upper case, because what lower() and LIKE know of letters differs by database and
/// locale.
std::string pattern_of_part(sql::Dialect dialect, const std::string& text) {
  const bool is_glob = dialect == sql::Dialect::sqlite;
  const std::string lower = lower_case(text);
  const std::string upper = upper_case(text);
  std::string_view rest_of_lower = lower;
  std::string_view rest_of_upper = upper;
  std::string pattern;
  while (!rest_of_lower.empty()) {
    const std::string one(truncated(rest_of_lower, 1));
    const std::string other(truncated(rest_of_upper, 1));
    rest_of_lower.remove_prefix(one.size());
    rest_of_upper.remove_prefix(other.size());
    if (one != other)
      pattern += "[" + one + other + "]";
    else if (is_glob)
      pattern += one == "*" || one == "?" || one == "[" ? "[" + one + "]" : one;
    else
      pattern += (std::ispunct(static_cast<unsigned char>(one[0])) != 0 ? "\\" : "") + one;
  }
  return is_glob ? "*" + pattern + "*" : pattern;
}

/// The gifts that have it, and those whose request has it.
constexpr const char* kOfReference =
    "t.id IN (SELECT own.transaction_id FROM gift_reference own WHERE own.reference = :reference AND "
    "own.transaction_id > 0 UNION ALL SELECT of_request.id FROM gift_reference asked JOIN "
    "recipient_transaction of_request ON of_request.request_id = asked.request_id WHERE asked.reference = "
    ":reference AND asked.transaction_id = 0)";

/// The same of one gift request, whatever number of others have it.
constexpr const char* kRequestHasReference =
    "(SELECT count(*) FROM gift_reference held WHERE held.reference = :reference AND held.request_id = r.id "
    "AND held.transaction_id = 0) > 0";

/// The same of one gift, whatever number of others have it: no join, which a planner could begin with them.
constexpr const char* kHasReference =
    "(SELECT count(*) FROM gift_reference held WHERE held.reference = :reference AND held.request_id = "
    "t.request_id AND held.transaction_id IN (0, t.id)) > 0";

/// Whether at most so many requests and gifts have it. All of them are read to find the newest ones.
bool is_rare(soci::session& session, const std::string& reference, std::int64_t limit) {
  std::int64_t count = 0;
  sql::PreparedQuery row(session,
                         "SELECT count(*) FROM (SELECT 1 FROM gift_reference WHERE reference = :reference "
                         "LIMIT " +
                             std::to_string(limit + 1) + ") counted",
                         {"reference"});
  row.each_row({reference}, [&] { count = row.integer(0); });
  return count <= limit;
}

/// What an index finds: a search looks at these gifts alone. A masked viewer could find out addresses by
/// asking for them. `finds_reference`: of the filter's reference too.
sql::Conditions indexed_conditions(sql::Dialect dialect, const Viewer& viewer,
                                   const ConsoleGiftFilter& filter, bool finds_reference,
                                   std::optional<TransactionId> before) {
  sql::Conditions all{viewer.test ? test_condition("t", true) : "1 = 1"};
  if (before) all.add("t.id < :before", "before", std::to_string(before->value));
  if (!filter.ids.empty())
    all.add(sql::in_list(dialect, "t.id", "ids", false), "ids", sql::list_of(dialect, filter.ids));
  if (filter.undelivered_since)
    all.add(
        "t.id IN (SELECT u.id FROM recipient_transaction u WHERE u.status = 'undelivered' AND "
        "u.undelivered_at >= :undelivered_since)",
        "undelivered_since", std::to_string(filter.undelivered_since->value));
  if (filter.request) all.add("t.request_id = :request", "request", std::to_string(filter.request->value));
  if (finds_reference) all.add(kOfReference, "reference", filter.reference);
  if (filter.recipient.empty() || viewer.is_masked()) return all;
  const std::string key = email_key(filter.recipient);
  const std::string in_unicode = email_key_in_unicode(key);
  if (key == in_unicode) {
    all.add(address_key(dialect, "t.email") + " = :recipient", "recipient", key);
  } else {
    // Stored as written: an international domain in either of its forms.
    all.add(address_key(dialect, "t.email") + " IN (:recipient, :in_unicode)", "recipient", key);
    all.bind("in_unicode", in_unicode);
  }
  return all;
}

/// The gifts whose records have or name the id in the CRM. It has no index, which would cost each gift more
/// than few searches are worth: the states of the gifts that are looked at are read in one range.
std::string of_crm_id(const sql::Conditions& all) {
  std::string condition =
      "t.id IN (SELECT s.transaction_id FROM crm_sync_state s WHERE (:crm_id IN (s.contact_id, s.lead_id, "
      "s.account_id, s.opportunity_id, s.crm_id) OR :short_id IN (s.contact_id, s.lead_id, s.account_id, "
      "s.opportunity_id, s.crm_id))";
  for (const std::string& name : all.names) {
    if (name == "lowest") condition += " AND s.transaction_id >= :lowest";
    if (name == "before") condition += " AND s.transaction_id < :before";
  }
  return condition + ")";
}

std::string time_column(Status status) {
  return "t." + std::string(to_word(status)) + "_at";
}

/// A part of the name or an id in the CRM.
void add_search(sql::Conditions& all, sql::Dialect dialect, const Viewer& viewer,
                const ConsoleGiftFilter& filter) {
  const std::string name = std::string("(t.first_name || ' ' || t.last_name) ") +
                           (dialect == sql::Dialect::sqlite ? "GLOB" : "~") + " :name";
  const bool has_name = !filter.name.empty() && !viewer.is_masked();
  if (!filter.crm_id.empty()) {
    all.add(has_name ? "(" + name + " OR " + of_crm_id(all) + ")" : of_crm_id(all), "crm_id",
            long_crm_id(filter.crm_id));
    all.bind("short_id", short_crm_id(filter.crm_id));
  } else if (has_name) {
    all.add(name);
  }
  if (has_name) all.bind("name", pattern_of_part(dialect, filter.name));
}

/// The few requests of test gifts, as the gifts' own index has them: among the others they are far apart.
std::string of_test_gifts(sql::Dialect dialect) {
  const std::string index =
      dialect == sql::Dialect::sqlite ? " INDEXED BY recipient_transaction_test" : std::string();
  return "r.id IN (SELECT tested.request_id FROM recipient_transaction tested" + index +
         " WHERE tested.is_test = 1)";
}

/// What the filter says of gift_request r.
void add_request_filter(sql::Conditions& all, sql::Dialect dialect, const ConsoleGiftFilter& filter) {
  if (!filter.sender.empty())
    all.add(address_key(dialect, "r.sender_email") + " = :sender", "sender", email_key(filter.sender));
  if (!filter.item.empty())
    all.add("(CAST(r.gift_id AS TEXT) = :item OR r.item_name = :item)", "item", filter.item);
  if (!filter.campaign.empty()) all.add("r.utm_campaign_id = :campaign", "campaign", filter.campaign);
  if (!filter.key.empty()) all.add("r.credential_prefix = :key", "key", filter.key);
}

void add_filter(sql::Conditions& all, sql::Dialect dialect, const Viewer& viewer,
                const ConsoleGiftFilter& filter) {
  if (filter.status) all.add("t.status = :status", "status", std::string(to_word(*filter.status)));
  add_search(all, dialect, viewer, filter);
  if (filter.source) all.add("t.gift_source = :source", "source", *filter.source);
  add_request_filter(all, dialect, filter);
  if (filter.status && filter.reached_since)
    all.add(time_column(*filter.status) + " >= :came_since", "came_since",
            std::to_string(filter.reached_since->value));
  if (filter.status && filter.reached_until)
    all.add(time_column(*filter.status) + " < :came_until", "came_until",
            std::to_string(filter.reached_until->value));
  if (filter.sent_since) all.add("t.sent_at >= :since", "since", std::to_string(filter.sent_since->value));
  if (filter.sent_until) all.add("t.sent_at < :until", "until", std::to_string(filter.sent_until->value));
  if (filter.crm != CrmFilter::any) all.add(std::string(kCrmConditions.word_of(filter.crm)));
  if (filter.conflict) all.add("t.has_conflict = 1");
  if (!filter.error_class.empty() && !viewer.is_masked())
    all.add("(o.attempts > 0 OR o.last_error <> '') AND o.last_error LIKE :error ESCAPE '!'", "error",
            pattern_of(filter.error_class));
}

/// kGiftColumns; of masked fields only what a masked viewer may see (CON-16): of a name that there is one.
std::string gift_columns(sql::Dialect dialect, const Viewer& viewer) {
  if (!viewer.is_masked()) return kGiftColumns;
  const auto shown = [&](const auto& field, const std::string& column) -> std::string {
    if (!field.is_masked) return column;
    if (field.column == "email") return masked_address_column(dialect, column);
    if (field.column == "first_name") return masked_column("(t.first_name || t.last_name)");
    return field.column == "last_name" ? "''" : masked_column(column);
  };
  return sql::select_list(kRecipientTransactionFields, "t", shown) + ", " +
         sql::select_list(kGiftRequestFields, "r", shown);
}

std::string query(sql::Dialect dialect, const Viewer& viewer, const std::string& rest) {
  return "SELECT " + gift_columns(dialect, viewer) +
         ", c.state, c.contact_id, c.lead_id, c.needs_relink, o.transaction_id, o.attempts, o.last_error "
         "FROM "
         "recipient_transaction t JOIN gift_request r ON r.id = t.request_id LEFT JOIN crm_sync_state c ON "
         "c.transaction_id = t.id LEFT JOIN crm_outbox o ON o.transaction_id = t.id WHERE " +
         gifts_condition(viewer) + rest;
}

ConsoleGift console_gift_in(const sql::PreparedQuery& row, const Viewer& viewer) {
  ConsoleGift found{gift_in(row)};
  const int at = kGiftColumnCount;
  found.crm_state = crm_sync_status_from_word(row.text(at));
  found.contact_id = row.text(at + 1);
  found.lead_id = row.text(at + 2);
  found.needs_relink = row.integer(at + 3) != 0;
  found.is_waiting = !row.is_null(at + 4);
  found.failures = row.integer(at + 5);
  found.last_error = shown_error(viewer, std::string(row.text(at + 6)));
  return found;
}

/// The gift at which a search of `budget` of those gifts ends.
struct SearchEnd {
  TransactionId id = {};
  UtcMillis sent_at = {};
};
std::optional<SearchEnd> end_of_search(soci::session& session, const sql::Conditions& of,
                                       std::int64_t budget) {
  std::optional<SearchEnd> end;
  sql::PreparedQuery row(session,
                         "SELECT t.id, t.sent_at FROM recipient_transaction t WHERE " + of.text +
                             " ORDER BY t.id DESC LIMIT 1 OFFSET " + std::to_string(budget - 1),
                         of.names);
  row.each_row(of.values, [&] { end = SearchEnd{{row.integer(0)}, {row.integer(1)}}; });
  return end;
}

/// A part of the gifts that were sent in the filter's time.
struct SentPart {
  sql::Conditions conditions;
  std::optional<SentPosition> end = {};  ///< more gifts of that time are below it
};
SentPart part_of_sent(soci::session& session, const ConsoleGiftFilter& filter,
                      std::optional<SentPosition> below, std::int64_t budget) {
  const SentPosition from =
      below.value_or(filter.sent_until ? SentPosition{*filter.sent_until, {}}  // of no gift
                                       : SentPosition::end());
  SentPart part{sent_below("t.", from),
                end_of_sent(session, from, filter.sent_since, static_cast<std::size_t>(budget))};
  if (part.end) {
    part.conditions.add("(t.sent_at, t.id) >= (:sent_end, :id_end)", "sent_end",
                        std::to_string(part.end->sent_at.value));
    part.conditions.bind("id_end", std::to_string(part.end->id.value));
  }
  // PostgreSQL knows how few gifts are between two times, but not between two pairs: it would read all
  // requests rather than those of so many gifts.
  part.conditions.add("t.sent_at <= :latest", "latest", std::to_string(from.sent_at.value));
  const std::optional<UtcMillis> earliest = part.end ? std::optional(part.end->sent_at) : filter.sent_since;
  if (earliest) part.conditions.add("t.sent_at >= :earliest", "earliest", std::to_string(earliest->value));
  return part;
}

/// What a list in the order of sending has at most, and one more, which shows that there are more.
std::string latest_first(std::size_t limit) {
  return " ORDER BY t.sent_at DESC, t.id DESC LIMIT " + std::to_string(limit + 1);
}

/// A gift that the CRM does not get.
struct Failure {
  TransactionId id = {};
  std::string error = {};
  bool is_rejected = false;
  FailingGift times = {};
};

/// While the CRM is away most gifts may fail, and nearly all of them may be those of others.
std::vector<Failure> select_failures(sql::Database& database, const Viewer& viewer) {
  return database.read([&](soci::session& session) {
    Failure row;
    return sql::select_rows(
        row, session,
        "SELECT o.transaction_id, o.last_error, o.is_rejected, o.failing_since, o.failed_at, "
        "o.next_attempt_at FROM "
        "(SELECT transaction_id, last_error, is_rejected, failing_since, failed_at, next_attempt_at FROM "
        "crm_outbox WHERE (attempts > 0 OR last_error <> '') AND " +
            test_gift_condition("crm_outbox.transaction_id", viewer.test) +
            " ORDER BY transaction_id DESC LIMIT " + std::to_string(ConsoleGifts::kMaxFailures) +
            ") o JOIN recipient_transaction t ON t.id = o.transaction_id JOIN "
            "gift_request r ON r.id = t.request_id WHERE " +
            gifts_condition(viewer) + " ORDER BY o.transaction_id DESC",
        soci::into(row.id), soci::into(row.error), soci::into(row.is_rejected), soci::into(row.times.since),
        soci::into(row.times.failed_at), soci::into(row.times.next_attempt_at));
  });
}

}  // namespace

std::string_view to_word(CrmFilter filter) {
  return kCrmFilters.word_of(filter);
}
std::optional<CrmFilter> crm_filter_from_word(std::string_view word) {
  return kCrmFilters.parse(word);
}

std::string failure_class_of(const std::string& error) {
  std::string text;
  for (const char c : error) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit)
      text += c;
    else if (!text.ends_with('#'))
      text += '#';
  }
  return text;
}

ConsoleGiftPage ConsoleGifts::list(const Viewer& viewer, const ConsoleGiftFilter& filter,
                                   std::optional<TransactionId> before, std::size_t limit,
                                   std::int64_t budget) {
  return database_->read([&](soci::session& session) {
    const bool has_reference = !filter.reference.empty() && !viewer.is_masked();
    const bool finds_reference = has_reference && is_rare(session, filter.reference, budget);
    sql::Conditions conditions = indexed_conditions(session, viewer, filter, finds_reference, before);
    const auto end = end_of_search(session, conditions, budget);
    if (end) conditions.add("t.id >= :lowest", "lowest", std::to_string(end->id.value));
    add_filter(conditions, session, viewer, filter);
    if (has_reference && !finds_reference) conditions.add(kHasReference, "reference", filter.reference);
    ConsoleGiftPage page;
    sql::PreparedQuery row(
        session,
        query(session, viewer,
              " AND " + conditions.text + " ORDER BY t.id DESC LIMIT " + std::to_string(limit + 1)),
        conditions.names);
    row.each_row(conditions.values, [&] { page.gifts.push_back(console_gift_in(row, viewer)); });
    if (page.gifts.size() > limit) {
      page.gifts.pop_back();
      page.next_before = page.gifts.back().gift.transaction.id;
    } else if (end) {
      page.next_before = end->id;
      page.searched_back_to = end->sent_at;
    }
    return page;
  });
}

std::optional<ConsoleGift> ConsoleGifts::find(const Viewer& viewer, TransactionId id) {
  return database_->read([&](soci::session& session) {
    std::optional<ConsoleGift> found;
    sql::PreparedQuery row(session, query(session, viewer, " AND t.id = :id"), {"id"});
    row.each_row({std::to_string(id.value)}, [&] { found = console_gift_in(row, viewer); });
    return found;
  });
}

ListedRequestPage ConsoleGifts::list_requests(const Viewer& viewer, const ConsoleGiftFilter& filter,
                                              std::optional<GiftRequestId> before, std::size_t limit,
                                              std::int64_t budget) {
  return database_->read([&](soci::session& session) {
    sql::Conditions conditions{viewer.test ? of_test_gifts(session) : "1 = 1"};
    const bool finds_reference = !filter.reference.empty() && is_rare(session, filter.reference, budget);
    if (finds_reference)
      conditions.add(
          "r.id IN (SELECT asked.request_id FROM gift_reference asked WHERE asked.reference = :reference AND "
          "asked.transaction_id = 0)",
          "reference", filter.reference);
    if (before) conditions.add("r.id < :before", "before", std::to_string(before->value));
    std::optional<GiftRequestId> end;
    sql::PreparedQuery last(session,
                            "SELECT r.id FROM gift_request r WHERE " + conditions.text +
                                " ORDER BY r.id DESC LIMIT 1 OFFSET " + std::to_string(budget - 1),
                            conditions.names);
    last.each_row(conditions.values, [&] { end = GiftRequestId{last.integer(0)}; });
    if (end) conditions.add("r.id >= :lowest", "lowest", std::to_string(end->value));
    add_request_filter(conditions, session, filter);
    if (!filter.reference.empty() && !finds_reference)
      conditions.add(kRequestHasReference, "reference", filter.reference);
    if (filter.sent_since)
      conditions.add("r.created_at >= :since", "since", std::to_string(filter.sent_since->value));
    if (filter.sent_until)
      conditions.add("r.created_at < :until", "until", std::to_string(filter.sent_until->value));
    ListedRequestPage page;
    sql::PreparedQuery row(
        session,
        "SELECT " + kRequestColumns +
            ", (SELECT count(*) FROM recipient_transaction t WHERE t.request_id = r.id) FROM gift_request r "
            "WHERE r.mode <> 'external' AND " +
            gifts_condition(viewer) + " AND " + conditions.text + " ORDER BY r.id DESC LIMIT " +
            std::to_string(limit + 1),
        conditions.names);
    row.each_row(conditions.values, [&] {
      page.requests.push_back({sql::read_record(kGiftRequestFields, row),
                               row.integer(static_cast<int>(kGiftRequestFields.kCount))});
    });
    if (page.requests.size() > limit) {
      page.requests.pop_back();
      page.next_before = page.requests.back().request.id;
    } else {
      page.next_before = end;
    }
    return page;
  });
}

bool goes_by_sending(const Viewer& viewer, const ConsoleGiftFilter& filter) {
  const bool has_index = viewer.test || !filter.ids.empty() || !filter.recipient.empty() || filter.request ||
                         !filter.reference.empty() || filter.undelivered_since;
  return (filter.sent_since || filter.sent_until) && !has_index;
}

SentGiftPage ConsoleGifts::list_by_sending(const Viewer& viewer, const ConsoleGiftFilter& filter,
                                           std::optional<SentPosition> below, std::size_t limit,
                                           std::int64_t budget) {
  return database_->read([&](soci::session& session) {
    auto [conditions, end] = part_of_sent(session, filter, below, budget);
    ConsoleGiftFilter others = filter;  // the part has these
    others.sent_since.reset();
    others.sent_until.reset();
    add_filter(conditions, session, viewer, others);
    SentGiftPage page;
    sql::PreparedQuery row(session, query(session, viewer, " AND " + conditions.text + latest_first(limit)),
                           conditions.names);
    row.each_row(conditions.values, [&] { page.gifts.push_back(console_gift_in(row, viewer)); });
    page.next = end;
    if (page.gifts.size() > limit) {
      page.gifts.pop_back();
      const RecipientTransaction& last = page.gifts.back().gift.transaction;
      page.next = SentPosition{*last.times[Status::sent], last.id};
    }
    return page;
  });
}

SentRequestPage ConsoleGifts::list_requests_by_sending(const Viewer& viewer, const ConsoleGiftFilter& filter,
                                                       std::optional<SentPosition> below, std::size_t limit,
                                                       std::int64_t budget) {
  return database_->read([&](soci::session& session) {
    auto [conditions, end] = part_of_sent(session, filter, below, budget);
    add_request_filter(conditions, session, filter);
    SentRequestPage page;
    std::vector<SentPosition> places;
    // A request is sent with its first gift.
    sql::PreparedQuery row(
        session,
        "SELECT " + kRequestColumns +
            ", (SELECT count(*) FROM recipient_transaction g WHERE g.request_id = r.id), t.sent_at, t.id "
            "FROM "
            "recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE t.position = 0 AND "
            "r.mode <> 'external' AND " +
            gifts_condition(viewer) + " AND " + conditions.text + latest_first(limit),
        conditions.names);
    row.each_row(conditions.values, [&] {
      const int at = static_cast<int>(kGiftRequestFields.kCount);
      page.requests.push_back({sql::read_record(kGiftRequestFields, row), row.integer(at)});
      places.push_back({{row.integer(at + 1)}, TransactionId{row.integer(at + 2)}});
    });
    page.next = end;
    if (page.requests.size() > limit) {
      page.requests.pop_back();
      page.next = places[limit - 1];
    }
    return page;
  });
}

std::vector<CrmFailureClass> ConsoleGifts::failure_classes(const Viewer& viewer) {
  const std::vector<Failure> failures = select_failures(*database_, viewer);
  std::map<std::string, CrmFailureClass> classes;
  for (const Failure& failure : failures) {
    const std::string error = failure_class_of(failure.error);
    CrmFailureClass& failure_class = classes[error];
    const UtcMillis since = failure.times.since;
    if (failure_class.gifts++ == 0) failure_class = {error, failure.error, 1, failure.id, 0, since, since};
    if (failure.is_rejected) ++failure_class.rejected;
    failure_class.first_failing_since = std::min(failure_class.first_failing_since, since);
    failure_class.last_failing_since = std::max(failure_class.last_failing_since, since);
    failure_class.failing.push_back(failure.times);
  }
  std::vector<CrmFailureClass> sorted;
  for (auto& [error, one] : classes) sorted.push_back(std::move(one));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& one, const auto& other) { return one.gifts > other.gifts; });
  return sorted;
}

bool ConsoleGifts::has_most_failures() {
  static_assert(kMaxFailures <= static_cast<std::size_t>(kMaxCounted));
  return database_->read([](soci::session& session) {
    return count_bounded(session, "crm_outbox WHERE (attempts > 0 OR last_error <> '') AND " +
                                      test_gift_condition("crm_outbox.transaction_id", false)) >=
           static_cast<std::int64_t>(kMaxFailures);
  });
}

std::int64_t ConsoleGifts::count_undelivered(const Viewer& viewer, UtcMillis since) {
  return database_->read([&](soci::session& session) {
    return count_bounded(
        session,
        "recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE t.status = "
        "'undelivered' AND t.undelivered_at >= :since AND " +
            gifts_condition(viewer),
        soci::use(since));
  });
}

std::vector<TransactionId> ConsoleGifts::rejected_gifts(const Viewer& viewer, const std::string& error_class,
                                                        std::size_t limit) {
  std::vector<TransactionId> found;
  for (const Failure& failure : select_failures(*database_, viewer)) {
    if (found.size() == limit) break;
    if (failure.is_rejected && failure_class_of(failure.error) == error_class) found.push_back(failure.id);
  }
  return found;
}

}  // namespace giftsync::store
