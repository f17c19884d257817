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
  if (!address.empty() && address == address_of(gift)) return true;
  const auto* one = std::get_if<platform::UtcMillis>(&record.get(GiftField::sent_at));
  const auto* other = std::get_if<platform::UtcMillis>(&gift.get(GiftField::sent_at));
  return one != nullptr && other != nullptr && platform::are_within_a_second(*one, *other);
}

}  // namespace giftsync::daemon::salesforce
