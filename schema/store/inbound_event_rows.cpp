#include "schema/store/inbound_event_rows.h"

namespace giftsync::schema::store {

using Type = sql::BulkInsert::Type;

sql::BulkInsert inbound_event_rows(sql::Dialect dialect, std::string_view on_conflict) {
  return {dialect,
          "inbound_event",
          {{"id", Type::integer},
           {"source", Type::text},
           {"digest", Type::text},
           {"state", Type::text},
           {"reason", Type::text},
           {"status_word", Type::text},
           {"detail", Type::text},
           {"transaction_id", Type::text},
           {"payload", Type::text},
           {"received_at", Type::integer},
           {"change_id", Type::integer},
           {"sent_id", Type::integer}},
          on_conflict};
}

void add_inbound_event(sql::BulkInsert& rows, std::int64_t id, const std::string& source,
                       const UnappliedEvent& event, DerivedChanges derived) {
  const sql::Cell reason = event.reason ? sql::Cell(to_word(*event.reason)) : sql::Cell();
  rows.add({id, source, event.digest, to_word(event.state), reason, event.status_word, event.detail,
            event.transaction, event.payload, event.received_at.value, derived.change, derived.sent});
}

}  // namespace giftsync::schema::store
