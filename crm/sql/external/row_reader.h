// crm/sql/external: reads the rows of external tables through the mapped names, as far as the database
// user may. Included by schema/'s .cpp files only.
#pragma once

#include "crm/row_reader.h"
#include "crm/sql/external/external_database.h"
#include "crm/sql/table_rows.h"

namespace giftsync::crm::external {

class ExternalRowReader : public RowReader {
 public:
  ExternalRowReader(ExternalDatabase& crm, const ExternalCrmOptions& options);

  std::vector<std::string> objects() override;
  /// Gift records without an Id column are known by their Transaction Ids.
  std::vector<CrmRow> page(const std::string& object, const std::string& after, std::size_t limit) override;
  std::optional<CrmRow> find(const std::string& object, const std::string& id) override;

 private:
  std::optional<crm::sql_crm::TableToRead> table_of(soci::session& session, const MappedTables& tables,
                                                    const std::string& object) const;
  crm::sql_crm::FieldNames field_names(const std::string& object) const;

  ExternalDatabase& crm_;
  std::vector<std::pair<std::string, std::string>> named_fields_;  ///< object and field, of the settings
};

}  // namespace giftsync::crm::external
