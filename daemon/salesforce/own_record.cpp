#include "daemon/salesforce/own_record.h"

#include <string>

#include "platform/time.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::GiftField;
using schema::GiftRecord;

std::string address_of(const GiftRecord& record) {
  const auto* address = std::get_if<std::string>(&record.get(GiftField::recipient_email));
  return address == nullptr ? std::string() : schema::email_key(*address);
}

}  // namespace

bool is_own_record(const GiftRecord& record, const GiftRecord& gift) {
  const std::string address = address_of(record);
  const std::string own_address = address_of(gift);
  if (!address.empty() && own_address.starts_with(address)) return true;
  const auto* sent_at = std::get_if<platform::UtcMillis>(&record.get(GiftField::sent_at));
  const auto* own_sent_at = std::get_if<platform::UtcMillis>(&gift.get(GiftField::sent_at));
  if (sent_at != nullptr && own_sent_at != nullptr)
    return platform::are_within_a_second(*sent_at, *own_sent_at);
  return own_address.empty() && own_sent_at == nullptr && address.empty() && sent_at == nullptr;
}

}  // namespace giftsync::daemon::salesforce
