// crm/salesforce: what follows when the org refuses a gift's row, or has its record already.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/gift_upserts.h"
#include "crm/salesforce/records/lookup_targets.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {
using Kind = crm::RowResult::Kind;
using Next = GiftWrite::Next;

std::vector<GiftField> named_fields(const ApiError& error, const ApiNames& names) {
  std::vector<GiftField> fields;
  for (const std::string& name : error.fields) {
    if (const auto field = names.gift_field(name)) fields.push_back(*field);
  }
  return fields;
}

/// "...: data value too large: ... (max length=80)".
std::optional<std::size_t> longest_of(std::string_view message) {
  constexpr std::string_view kMark = "(max length=";
  const std::size_t start = message.find(kMark);
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view rest = message.substr(start + kMark.size());
  return parse_number<std::size_t>(rest.substr(0, rest.find(')')));
}

/// True when something was cut.
bool cut(GiftWrite& gift, const ApiError& error, const ApiNames& names) {
  const std::optional<std::size_t> longest = longest_of(error.message);
  if (!longest) return false;
  bool is_cut = false;
  for (const GiftField field : named_fields(error, names)) {
    const auto* text = std::get_if<std::string>(&gift.record.get(field));
    const FieldType type = descriptor_of(field).type;
    // An address, a number or a link that is cut is another one.
    if (!text || (type != FieldType::text && type != FieldType::long_text)) continue;
    const std::size_t length = utf16_length(*text);
    if (length < 2) continue;
    // A text that should fit is halved: no org counts a character as more than two, as some do with line
    // breaks.
    gift.record.set(field, std::string(cut_to_utf16(*text, length > *longest ? *longest : length / 2)));
    is_cut = true;
  }
  return is_cut;
}

/// Addresses and the way of delivery inform only: a gift is written without them rather than not at all.
bool is_dispensable(GiftField field, ErrorClass error_class) {
  if (error_class == ErrorClass::restricted_value) return field == GiftField::delivered_by;
  return field == GiftField::recipient_email || field == GiftField::sender_email ||
         field == GiftField::recipient_phone_number || field == GiftField::link;
}

bool skip_field(GiftWrite& gift, const ApiError& error, ErrorClass error_class, const ApiNames& names) {
  bool is_left_out = false;
  for (const GiftField field : named_fields(error, names)) {
    if (!is_dispensable(field, error_class) || std::ranges::count(gift.left_out, field) > 0) continue;
    gift.left_out.push_back(field);
    is_left_out = true;
  }
  return is_left_out;
}

/// What is rejected although its class says something else needs an admin as well.
void reject(GiftWrite& gift, ErrorClass error_class) {
  const std::int64_t rest = std::max(policy_for(error_class).retry_after_millis,
                                     policy_for(ErrorClass::refused).retry_after_millis);
  finish(gift, Kind::rejected, gift.refusal + remedy_of_row(error_class), rest);
}

void treat_others(GiftWrite& gift, ErrorClass error_class) {
  const Treatment treatment = policy_for(error_class);
  if (!treatment.is_transient) return reject(gift, error_class);
  if (treatment.is_later()) return finish(gift, Kind::retry, gift.refusal, gift.retry_after_millis);
  if (treatment.next != Treatment::Next::unchanged) return reject(gift, error_class);
  finish(gift, Kind::unchanged);
  gift.result.is_newer_in_crm = error_class == ErrorClass::older_version;
}

}  // namespace

void finish(GiftWrite& gift, Kind kind, std::string reason, std::int64_t retry_after_millis) {
  gift.next = Next::done;
  const bool is_written = kind == Kind::created || kind == Kind::updated;
  gift.result = {kind, std::move(reason), is_written ? gift.cleared : std::vector<GiftField>()};
  if (kind != Kind::not_found) gift.result.crm_id = gift.id;
  gift.result.retry_after_millis = retry_after_millis;
}

void clear(GiftWrite& gift, GiftField lookup) {
  if (std::ranges::count(gift.left_out, lookup) > 0) return;
  gift.left_out.push_back(lookup);
  gift.cleared.push_back(lookup);
  if (lookup == GiftField::opportunity) gift.left_out.push_back(GiftField::deal_stage);
}

void classify_failure(GiftWrite& gift, const ApiError& error, ErrorClass error_class, const ApiNames& names) {
  const bool is_update = gift.next == Next::update;
  gift.refusal = words_of_row(error);
  gift.retry_after_millis = policy_for(error_class).retry_after_millis;
  switch (error_class) {
    case ErrorClass::already_created:
      if (gift.is_duplicate)
        return finish(gift, Kind::rejected,
                      gift.refusal + "; the integration user must see all gift records (View All)");
      gift.is_duplicate = true;
      gift.next = Next::look_up;
      return;
    case ErrorClass::gone:
      gift.exists = true;
      gift.id.clear();
      gift.next = Next::look_up;
      return;
    case ErrorClass::lost_lookup:
      if (is_update) return reject(gift, error_class);
      gift.refused_lookups = named_fields(error, names);
      for (const GiftField lookup : written_lookups()) {
        const auto* id = std::get_if<std::string>(&gift.record.get(lookup));
        if (id && names_id(error.message, *id)) gift.refused_lookups.push_back(lookup);
      }
      // It names no field, and the lead itself is there.
      if (error.code == "CANNOT_UPDATE_CONVERTED_LEAD") gift.refused_lookups = {GiftField::recipient_lead};
      gift.next = Next::check_lookups;
      return;
    case ErrorClass::inactive_owner:
      if (is_update || std::ranges::count(gift.left_out, GiftField::owner) > 0)
        return reject(gift, error_class);
      return clear(gift, GiftField::owner);
    case ErrorClass::value_too_long:
      if (cut(gift, error, names) || skip_field(gift, error, error_class, names)) return;
      return reject(gift, error_class);
    case ErrorClass::bad_value:
    case ErrorClass::restricted_value:
      return skip_field(gift, error, error_class, names) ? void() : reject(gift, error_class);
    default:
      return treat_others(gift, error_class);
  }
}

void resolve_existing(GiftWrite& gift, const std::optional<FoundGift>& found) {
  // Without a record `unchanged` would count as written.
  if (gift.is_older)
    return found ? finish(gift, Kind::unchanged) : finish(gift, Kind::retry, "the gift has a newer version");
  if (!found) {
    if (gift.exists) return finish(gift, Kind::not_found, "the gift record was deleted in the CRM");
    gift.next = Next::create;  // it was deleted meanwhile, or was not asked for before
    return;
  }
  if (found->count > 1) {
    gift.refusal = fmt::format("{} gift records have the Transaction Id {}", found->count,
                               gift.record.transaction().value);
    return reject(gift, ErrorClass::several_records);
  }
  if (!gift.exists && !found->is_ours && !gift.may_adopt) {
    gift.next = Next::done;
    gift.result = crm::id_conflict_result(gift.record.transaction());
    return;
  }
  gift.id = found->id;
  // Without a version the record of an own lost call may be of an older one: it is written again.
  if (found->version >= gift.record.version && found->version > 0) {
    const bool is_own_creation = gift.may_be_ours && found->version == gift.record.version;
    finish(gift, is_own_creation ? Kind::created : Kind::unchanged);
    gift.result.is_newer_in_crm = found->version > gift.record.version;
    return;
  }
  gift.next = Next::update;
}

}  // namespace giftsync::salesforce
