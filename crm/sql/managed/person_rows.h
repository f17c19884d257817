// crm/sql/managed: a person's rows in the managed tables. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "crm/person_rows.h"
#include "schema/sql/database.h"

namespace giftsync::crm::managed {

/// Each call is one transaction.
class ManagedPersonRows : public PersonRows {
 public:
  explicit ManagedPersonRows(sql::Database& database) : database_(database) {}

  std::vector<std::string> request_records(const RequestRecordsOf& person, const ErasureMarks& marks,
                                           bool is_closed) override;
  std::vector<std::string> deleted_people(PersonObject object, const std::string& email_key) override;
  std::int64_t erase_people(PersonObject object, std::span<const std::string> ids,
                            const ErasureMarks& marks) override;
  std::int64_t erase_gift_records(std::span<const ErasedGiftRecord> records,
                                  const ErasureMarks& marks) override;
  std::int64_t erase_request_records(std::span<const std::string> ids, const ErasureMarks& marks) override;

 private:
  sql::Database& database_;
};

}  // namespace giftsync::crm::managed
