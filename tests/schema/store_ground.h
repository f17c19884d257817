// The ground that tests of the store stand on: a fresh store on each back end.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "schema/store/store.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::schema {

class StoreGround : public testing::TestWithParam<Dialect> {
 protected:
  void SetUp() override {
    if (!TemporaryDatabase::available(GetParam()))
      GTEST_SKIP() << "GIFTSYNC_TEST_PG is not set: no PostgreSQL to test on";
    database_ = std::make_unique<TemporaryDatabase>(GetParam());
    migrate_store(database_->address());
    store_ = std::make_unique<Store>(database_->address());
  }
  void TearDown() override {
    store_.reset();
    database_.reset();
  }

  std::unique_ptr<TemporaryDatabase> database_;
  std::unique_ptr<Store> store_;
};

}  // namespace giftsync::schema
