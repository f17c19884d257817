// cli: one request record as JSON and as text, with its transitions and its gift.
#pragma once

#include <string>

#include "cli/cli_context.h"
#include "cli/console.h"
#include "cli/json_array_writer.h"

namespace giftsync::cli {

/// The fields of the record by their API names without prefix and suffix (REQ-1).
Json request_json(const schema::RequestRecord& record);
/// Id, Name and Request_Status.
Json request_record_summary(const schema::RequestRecord& record);

/// One printable line; empty when the field has no value.
std::string request_value_text(const schema::RequestRecord& record, schema::RequestRecordField field);

int show_request_record(const Console& console, CliContext& ctx, const std::string& number, bool json);

}  // namespace giftsync::cli
