#include "schema/store/next_change.h"

#include <utility>

#include "schema/sql/database.h"

namespace giftsync::schema::store {

NextChange::NextChange(const sql::Dsn& dsn) : database_(sql::Database::shared(dsn)) {}

NextChange::~NextChange() {
  database_->add_to_next_change(nullptr);
}

void NextChange::set_event(AuditEvent event) {
  database_->add_to_next_change([event = std::move(event), done = has_inserted_](soci::session& session) {
    insert_audit_event(session, event);
    *done = true;
  });
}

}  // namespace giftsync::schema::store
