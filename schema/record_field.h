// schema: what a CRM record's field is: its label, API name, type and who may write it. Records are tables of
// these, so that DDL, upserts, listings and mappings all follow one list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "schema/money.h"
#include "schema/time.h"

namespace giftsync::schema {

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

/// Who writes a field after the record exists (design 3.2, "what the record owns").
enum class FieldOwner {
  giftsync,  ///< kept true by every sync: status, its times, money
  once,      ///< written when the record is created and never named again: the admin may correct it
  crm,       ///< the CRM computes it: formulas, who changed it last
};

struct RecordField {
  std::string_view label;
  std::string_view
      name;  ///< the API name's middle part; the whole one is <namespace>__<name>__c unless `standard`
  FieldType type;
  int length;  ///< code points for text, digits for numbers; 0 where the type says all
  FieldOwner owner;
  std::string_view column;  ///< its column in the managed SQL CRM
  bool standard = false;    ///< API name without prefix and suffix
};

/// A field's value: absent, text (also lookups), whole number, money, time or checkbox.
using FieldValue = std::variant<std::monostate, std::string, std::int64_t, Money, UtcMillis, bool>;

/// "giftsync__Item_Cost__c"; standard fields as they are.
std::string api_name(const RecordField& field, std::string_view name_space);

}  // namespace giftsync::schema
