// Formulas of validation rules and formula fields: AND OR NOT ISNEW ISCHANGED PRIORVALUE ISBLANK BLANKVALUE
// ISPICKVAL, comparisons, fields, texts, numbers. Pure.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

/// A formula that Salesforce would refuse at its deployment.
class FormulaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Formula {
  enum class Kind { text, number, field, call, comparison };
  Kind kind = Kind::text;
  std::string name;  ///< a text, a field's name, a function in upper case, or an operator
  double number = 0;
  std::vector<Formula> arguments;
};

/// Checks the fields and the number of each function's arguments. Throws FormulaError.
Formula parse_formula(std::string_view text, const Object& object);

/// The record as the save has it now, and as it was before; `before` is null for a new record.
struct RecordChange {
  const Values& now;
  const Values* before = nullptr;
};
bool is_true(const Formula& formula, const RecordChange& change);

/// The formula as an SQL condition over the columns of `alias`. For formulas without ISNEW, ISCHANGED and
/// PRIORVALUE.
std::string formula_sql(const Formula& formula, const Object& object, std::string_view alias);

}  // namespace giftsync::tests::fake_org
