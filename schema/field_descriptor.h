// schema: the description of a CRM field: label, API name, type and owner. Records are tables of these;
// DDL, upserts, listings and mappings all follow one list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "platform/time.h"
#include "schema/money.h"

namespace giftsync {

enum class FieldType {
  text,
  long_text,
  email,
  phone,
  url,
  picklist,
  lookup,
  currency,
  number,
  date_time,
  checkbox
};

/// Who writes a field after the record was created (SYNC-4, SYNC-5).
enum class FieldOwner {
  giftsync,  ///< updated by every sync: status, its times, money
  once,      ///< written when the record is created and never again: the admin may correct it
  crm,       ///< computed by the CRM: formulas, last modified by
};

struct FieldDescriptor {
  std::string_view label;
  std::string_view
      name;  ///< the middle part of the API name; the full name is <namespace>__<name>__c unless `standard`
  FieldType type;
  int length;  ///< code points for text, digits for numbers; 0 where the type determines it
  FieldOwner owner;
  std::string_view column;  ///< its column in the managed SQL CRM
  bool standard = false;    ///< API name without prefix and suffix
};

/// A field's value: absent, text (also lookups), integer, money, time or checkbox.
using FieldValue = std::variant<std::monostate, std::string, std::int64_t, Money, UtcMillis, bool>;

/// "giftsync__Item_Cost__c"; standard fields are returned unchanged.
std::string api_name(const FieldDescriptor& field, std::string_view name_space);

}  // namespace giftsync
