// cli: what an import into the CRM did, or would do: the refused rows, the custom fields that are text or
// have another type by now, and the counts.
#pragma once

#include <string>

#include "cli/console.h"
#include "schema/crm/row_import.h"

namespace giftsync::cli {

struct ImportedFile {
  std::string object;
  std::string name;
  bool dry_run = false;
};
void print_import_report(const Console& console, const schema::crm::ImportResult& result,
                         const ImportedFile& file);

}  // namespace giftsync::cli
