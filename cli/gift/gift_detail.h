// cli: what `gift show` prints about one gift, and what other commands print of it.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "cli/cli_context.h"
#include "daemon/exports/gift_detail.h"

namespace giftsync::cli {

using exports::change_json;
using exports::costs_json;
using exports::find_gift_record;
using exports::gift_detail_json;
using exports::gift_record_json;
using exports::GiftDetail;
using exports::HistoryEntry;
using exports::manual_links;

/// Numbers are allotted in blocks, so one that is missing need not be lost.
std::string no_such_gift(std::int64_t id);

/// As exports::find_gift_detail() does.
std::optional<GiftDetail> find_gift_detail(CliContext& ctx, TransactionId id);

/// Prints it as text, in sections.
void print(const GiftDetail& detail, std::ostream& out);

/// The audit entries in order: "voided 2026-11-21 12:31 UTC by ana: the wrong gift; restored 2026-11-22 08:00
/// UTC by bob"; empty for a change that was never voided.
std::string audit_text(const store::StatusChange& change);

}  // namespace giftsync::cli
