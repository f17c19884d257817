// crm/sql/managed: imports the rows of a CSV file into the managed CRM.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "crm/row_import.h"
#include "schema/sql/dsn.h"

namespace giftsync::crm::managed {

/// `header` has no faults. migrate_managed_crm() must have created the tables.
std::unique_ptr<RowImport> make_csv_import(const sql::Dsn& database, ImportObject object,
                                           std::span<const std::string> header,
                                           ImportMode mode = ImportMode::write);

}  // namespace giftsync::crm::managed
