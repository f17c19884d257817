// schema/crm/managed: reads the rows of the managed CRM's tables, with an admin's own columns. Included by
// schema/'s .cpp files only.
#pragma once

#include "schema/crm/row_reader.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

class ManagedRowReader : public RowReader {
 public:
  explicit ManagedRowReader(sql::Database& database) : database_(database) {}

  std::vector<std::string> objects() override { return kReadableObjects; }
  std::vector<CrmRow> page(const std::string& object, const std::string& after, std::size_t limit) override;
  std::optional<CrmRow> find(const std::string& object, const std::string& id) override;

 private:
  sql::Database& database_;
};

}  // namespace giftsync::schema::crm::managed
