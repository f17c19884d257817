// daemon/identity/saml: reads parts of SAML elements. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/identity/saml/saml_rules.h"
#include "platform/text.h"
#include "platform/time.h"
#include "platform/xml.h"

namespace giftsync::saml {

/// The direct children with this name in the assertion's namespace.
inline std::vector<const XmlElement*> children_of(const XmlElement& element, std::string_view name,
                                                  std::string_view name_space = kAssertion) {
  std::vector<const XmlElement*> found;
  for (const XmlElement& child : element.children) {
    if (child.is(name_space, name)) found.push_back(&child);
  }
  return found;
}

/// Null unless there is exactly one.
inline const XmlElement* only_child(const XmlElement& element, std::string_view name,
                                    std::string_view name_space = kAssertion) {
  const auto found = children_of(element, name, name_space);
  return found.size() == 1 ? found.front() : nullptr;
}

inline std::string trimmed_text(const XmlElement& element) {
  return std::string(trimmed(element.text));
}

inline std::string attribute_text(const XmlElement& element, std::string_view name) {
  return std::string(element.attribute("", name).value_or(""));
}

/// A time in an attribute: absent, a time, or a text that is none.
struct TimeAttribute {
  bool is_present = false;
  std::optional<UtcMillis> time = {};
  bool is_faulty() const { return is_present && !time; }
};
inline TimeAttribute time_attribute(const XmlElement& element, std::string_view name) {
  const auto text = element.attribute("", name);
  return {text.has_value(), text ? from_rfc3339(*text) : std::nullopt};
}

}  // namespace giftsync::saml
