// schema/crm/external: reads the rows of external tables through the mapped names, as far as the database
// user may. Included by schema/'s .cpp files only.
#pragma once

#include "schema/crm/external/external_database.h"
#include "schema/crm/row_reader.h"
#include "schema/crm/sql_common/table_rows.h"

namespace giftsync::schema::crm::external {

class ExternalRowReader : public RowReader {
 public:
  ExternalRowReader(ExternalDatabase& crm, const ExternalCrmOptions& options);

  std::vector<std::string> objects() override;
  /// Gift records without an Id column are known by their Transaction Ids.
  std::vector<CrmRow> page(const std::string& object, const std::string& after, std::size_t limit) override;
  std::optional<CrmRow> find(const std::string& object, const std::string& id) override;

 private:
  std::optional<sql_common::TableToRead> table_of(soci::session& session, const MappedTables& tables,
                                                  const std::string& object) const;
  sql_common::FieldNames field_names(const std::string& object) const;

  ExternalDatabase& crm_;
  std::vector<std::pair<std::string, std::string>> named_fields_;  ///< object and field, of the settings
};

}  // namespace giftsync::schema::crm::external
