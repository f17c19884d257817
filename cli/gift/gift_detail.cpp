#include "cli/gift/gift_detail.h"

#include <fmt/format.h>

#include "cli/listing.h"

namespace giftsync::cli {

std::string no_such_gift(std::int64_t id) {
  return fmt::format(
      "there is no gift {}; numbers have gaps, because they are allotted in blocks; \"giftsyncctl gift "
      "list\" shows the gifts by their ids",
      id);
}

std::optional<GiftDetail> find_gift_detail(CliContext& ctx, TransactionId id) {
  return exports::find_gift_detail(ctx.store, *ctx.crm, id);
}

std::string audit_text(const store::StatusChange& change) {
  std::string text;
  for (const store::ChangeAuditEntry& entry : change.audit) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {} UTC by {}", to_word(entry.kind), minute_text(entry.at), entry.by);
    if (!entry.reason.empty()) text += ": " + entry.reason;
  }
  return text;
}

}  // namespace giftsync::cli
