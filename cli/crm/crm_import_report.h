// cli: what an import into the CRM did, or would do: the refused rows, the custom fields that are text or
// have another type by now, and the counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "crm/row_import.h"

namespace giftsync::cli {

struct ImportedFile {
  std::string object;
  std::string name;
  bool dry_run = false;
};
void print_import_report(const Console& console, const crm::ImportResult& result, const ImportedFile& file);

// The header of a file that a report of the CRM wrote has labels ("Contact ID", "First Name") instead of
// the names of fields. Pure.

/// The standard field of the object that usually has this label; empty: none is known.
std::string field_of_label(crm::ImportObject object, std::string_view label);

/// "Contact ID=Id", "Mobile=MobilePhone" for each cell that is no name of a field, or the label of one that
/// the header lacks. Labels are known in English; in other languages only the column of the ids is, by the
/// word ID.
std::vector<std::string> suggested_names(crm::ImportObject object, const std::vector<std::string>& header);

/// Replaces labels of the header by their names: "Contact ID=Id". Labels are compared by their letters and
/// digits, without case. Returns the faults: labels that the header does not have.
std::vector<std::string> apply_names(const std::vector<std::string>& names, std::vector<std::string>& header);

}  // namespace giftsync::cli
