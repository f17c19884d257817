// Values between SQLite and JSON.
#include "platform/text.h"
#include "tests/salesforce/fake_org/formula.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

Value value_of(const Field& field, const Cell& cell) {
  if (!cell) return field.kind == Kind::checkbox ? Value(false) : Value();
  switch (field.kind) {
    case Kind::checkbox:
      return *cell != "0" && *cell != "false";
    case Kind::currency:
    case Kind::number: {
      const auto number = parse_number<double>(*cell);
      return number ? Value(*number) : Value();
    }
    case Kind::date_time: {
      const auto time = from_rfc3339(*cell);
      return time ? Value(to_rfc3339({time->value / 1000 * 1000})) : Value(*cell);
    }
    default:
      return cell->empty() ? Value() : Value(*cell);
  }
}

Json json_of(const Field& field, const Value& value) {
  if (const auto* yes = std::get_if<bool>(&value)) return *yes;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return nullptr;
  const bool is_utc = field.kind == Kind::date_time && text->ends_with("Z");
  return is_utc ? text->substr(0, text->size() - 1) + "+0000" : *text;
}

std::string value_sql(const Object& object, const Field& field, const std::string& alias) {
  if (!field.formula.empty()) return formula_sql(parse_formula(field.formula, object), object, alias);
  const std::string column = alias + "." + field.column;
  if (field.name != "Name" || object.find("LastName") == nullptr) return column;
  return "coalesce(" + column + ", nullif(trim(coalesce(" + alias + ".firstname, '') || ' ' || coalesce(" +
         alias + ".lastname, '')), ''))";
}

}  // namespace giftsync::tests::fake_org
