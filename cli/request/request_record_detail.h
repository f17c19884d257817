// cli: one request record as JSON and as text, with its transitions and its gift.
#pragma once

#include <string>

#include "cli/cli_context.h"
#include "cli/console.h"
#include "cli/listing.h"

namespace giftsync::cli {

/// The fields of the record by their API names without prefix and suffix (REQ-1).
Json request_json(const RequestRecord& record);
/// Id, Name and Request_Status.
Json request_record_summary(const RequestRecord& record);

/// One printable line; empty when the field has no value.
std::string request_value_text(const RequestRecord& record, RequestRecordField field);

int show_request_record(const Console& console, CliContext& ctx, const std::string& number, bool json);

// What keeps a request record from being sent, as JSON and as text (REQ-52).

/// Prints all findings to `out`; exit code 0 without any, 1 with some, 65 for an unknown record.
int print_request_record_check(const Console& console, CliContext& ctx, const std::string& number, bool json);

/// Prints the findings of a record that was just approved as warnings.
void warn_of_findings(const Console& console, CliContext& ctx, const std::string& id);

}  // namespace giftsync::cli
