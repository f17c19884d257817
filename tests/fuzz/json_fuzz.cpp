// The strict JSON reader against nlohmann's, and the lenient reader against the strict one.
#include <utf8.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platform/lenient_json.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

bool is_same(const JsonValue& ours, const nlohmann::json& theirs) {
  if (const auto number = ours.integer()) return theirs.is_number_integer() && theirs == *number;
  if (const auto number = ours.real())
    return theirs.is_number() && theirs.get<double>() == *number &&
           (theirs.is_number_float() || theirs.is_number_unsigned());
  if (const auto text = ours.text()) return theirs.is_string() && theirs == *text;
  if (const auto truth = ours.boolean()) return theirs.is_boolean() && theirs == *truth;
  if (ours.is_null()) return theirs.is_null();
  if (ours.is_array())
    return theirs.is_array() &&
           std::equal(ours.elements().begin(), ours.elements().end(), theirs.begin(), theirs.end(), is_same);
  return theirs.is_object() && theirs.size() == ours.members().size() &&
         std::all_of(ours.members().begin(), ours.members().end(), [&](const JsonMember& member) {
           const auto found = theirs.find(std::string(member.name));
           return found != theirs.end() && is_same(member.value, *found);
         });
}

/// Equal but for numbers that became the text of their digits.
bool is_same_read_leniently(const JsonValue& strict, const JsonValue& lenient) {
  const auto is_same_member = [](const JsonMember& a, const JsonMember& b) {
    return a.name == b.name && is_same_read_leniently(a.value, b.value);
  };
  if (strict.is_array())
    return std::equal(strict.elements().begin(), strict.elements().end(), lenient.elements().begin(),
                      lenient.elements().end(), is_same_read_leniently);
  if (strict.is_object())
    return std::equal(strict.members().begin(), strict.members().end(), lenient.members().begin(),
                      lenient.members().end(), is_same_member);
  if (strict.real() && lenient.text())
    return std::strtod(std::string(*lenient.text()).c_str(), nullptr) == *strict.real();
  return strict.integer() == lenient.integer() && strict.real() == lenient.real() &&
         strict.text() == lenient.text() && strict.boolean() == lenient.boolean() &&
         strict.is_null() == lenient.is_null();
}

bool is_readable(const JsonValue& value, std::size_t depth) {
  const auto is_text = [](std::string_view text) { return utf8::is_valid(text.begin(), text.end()); };
  if (value.is_array() || value.is_object()) ++depth;
  return depth <= kMaxJsonDepth && is_text(value.text().value_or("")) &&
         std::all_of(value.elements().begin(), value.elements().end(),
                     [&](const JsonValue& element) { return is_readable(element, depth); }) &&
         std::all_of(value.members().begin(), value.members().end(), [&](const JsonMember& member) {
           return is_text(member.name) && is_readable(member.value, depth);
         });
}

void check_accepted(const std::string& text, const JsonDocument& document) {
  const nlohmann::json theirs = nlohmann::json::parse(text, nullptr, false);
  require(!theirs.is_discarded(), "what is accepted is JSON for nlohmann's reader");
  require(is_same(document.root(), theirs), "both readers read the same value", theirs.dump());
  const auto again = parse_json(theirs.dump());
  require(again && is_same(again->root(), theirs), "what was read is printed and read again", theirs.dump());
  const auto lenient = parse_lenient_json(text);
  require(lenient && is_same_read_leniently(document.root(), lenient->root()),
          "the lenient reader reads what the strict one accepts");
}

void check_refused(const std::string& text, const JsonError& error) {
  require(!error.code.empty() && is_storable_text(error.message), "an error is text", error.message);
  // nlohmann's reader ends at a NUL, and takes anything behind it.
  if (text.find('\0') != std::string::npos || !nlohmann::json::accept(text)) return;
  for (const char* code : {"syntax", "invalid_utf8", "lone_surrogate", "empty_text"})
    require(error.code != code, "what nlohmann's reader accepts is no fault of syntax", error.message);
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace giftsync;
  const std::string text = fuzz::text_of(bytes, size);
  const auto document = parse_json(text);
  document ? fuzz::check_accepted(text, *document) : fuzz::check_refused(text, document.error());
  const auto lenient = parse_lenient_json(text);
  if (lenient)
    fuzz::require(fuzz::is_readable(lenient->root(), 0),
                  "the lenient reader returns UTF-8 of a bounded depth");
  else
    fuzz::check_refused(std::string(without_byte_order_mark(text)), lenient.error());
  return 0;
}
