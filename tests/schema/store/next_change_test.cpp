// The event that the next change inserts, on both back ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/sql/database.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/shared_text.h"
#include "schema/store/statements/audit_log.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

AuditEvent event(const std::string& action) {
  AuditEvent made;
  made.actor_kind = ActorKind::command;
  made.actor = "root";
  made.action = action;
  return made;
}

class NextChanges : public tests::StoreFixture {
 protected:
  std::vector<std::string> actions() {
    std::vector<std::string> found;
    for (const AuditEvent& one : store_->audit.list(Viewer::of_command_line(), {}, 100))
      found.push_back(one.action);
    return found;
  }
  Account account(const std::string& email) {
    Account made;
    made.email = email;
    made.name = "A name";
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, NextChanges,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// CON-8
TEST_P(NextChanges, OneChangeInsertsTheEventAndWhatChangesNothingKeepsIt) {
  store_->accounts.create(account("ana@example.com"));
  NextChange next(address());
  next.set_event(event("first"));
  EXPECT_FALSE(store_->accounts.create(account("ana@example.com"))) << "it is there already";
  EXPECT_FALSE(store_->accounts.set_active("sam@example.com", false));
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_FALSE(next.has_inserted());
  EXPECT_TRUE(store_->accounts.set_active("ana@example.com", false));
  EXPECT_THAT(actions(), ElementsAre("first"));
  EXPECT_TRUE(next.has_inserted());
  EXPECT_TRUE(store_->accounts.set_active("ana@example.com", true));
  EXPECT_THAT(actions(), ElementsAre("first")) << "once";
  next.set_event(event("second"));
  next.set_event(event("third"));
  EXPECT_TRUE(store_->accounts.set_active("ana@example.com", false));
  EXPECT_THAT(actions(), ElementsAre("third", "first")) << "the second was replaced";
  EXPECT_TRUE(store_->accounts.find_by_email("ana@example.com").has_value());
}

// CON-8
TEST_P(NextChanges, ADestroyedOneInsertsNothing) {
  {
    NextChange next(address());
    next.set_event(event("first"));
  }
  EXPECT_TRUE(store_->accounts.create(account("ana@example.com")).has_value());
  EXPECT_THAT(actions(), IsEmpty());
}

// CON-8
TEST_P(NextChanges, TheEventIsRolledBackWithItsChange) {
  NextChange next(address());
  next.set_event(event("first"));
  const auto shared = sql::Database::shared(address());
  EXPECT_THROW(shared->write([](soci::session& session) {
    session << "UPDATE store_metadata SET value = value";
    session << "INSERT INTO audit_event (id) SELECT id, id FROM audit_event";
  }),
               DependencyError);
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_TRUE(store_->accounts.create(account("ana@example.com")).has_value());
  EXPECT_THAT(actions(), ElementsAre("first")) << "the next one has it";
}

// CON-8
TEST_P(NextChanges, WhatAProcessNotesIsNoChange) {
  NextChange next(address());
  next.set_event(event("first"));
  SharedText(address(), "noted").update([](const auto&) { return std::string("x"); });
  EXPECT_THAT(actions(), IsEmpty());
  EXPECT_TRUE(store_->accounts.create(account("ana@example.com")).has_value());
  EXPECT_THAT(actions(), ElementsAre("first"));
}

// CON-63
TEST_P(NextChanges, AnAuditorReadsNoOptionsThatMayNameARecipient) {
  const Viewer auditor{{}, {}, {}, {Role::auditor}};
  for (const std::string kind : {"gift", "request", "change", "key"}) {
    AuditEvent made = event(kind);
    made.object_kind = kind;
    made.detail = "--reason Ada said so";
    store_->audit.add(made);
    EXPECT_EQ(store_->audit.list(auditor, {}, 1).at(0).detail, kind == "key" ? made.detail : "***") << kind;
  }
}

}  // namespace
}  // namespace giftsync::store
