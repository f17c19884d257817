#include "tests/salesforce/fake_org/objects.h"

#include <algorithm>

#include "platform/text.h"

namespace giftsync::tests::fake_org {

bool equal_names(std::string_view one, std::string_view other) {
  return ascii_lower(one) == ascii_lower(other);
}

const Field* Object::find(std::string_view field_name) const {
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return equal_names(field.name, field_name); });
  return found == fields.end() ? nullptr : &*found;
}

const Field* Object::find_relationship(std::string_view relationship_name) const {
  const auto found = std::ranges::find_if(fields, [&](const Field& field) {
    return !field.relationship.empty() && equal_names(field.relationship, relationship_name);
  });
  return found == fields.end() ? nullptr : &*found;
}

const Object* OrgSchema::find(std::string_view object_name) const {
  const auto found = std::ranges::find_if(
      objects, [&](const Object& object) { return equal_names(object.name, object_name); });
  return found == objects.end() ? nullptr : &*found;
}

const Object* OrgSchema::find_by_prefix(std::string_view id) const {
  const auto found =
      std::ranges::find_if(objects, [&](const Object& object) { return id.starts_with(object.key_prefix); });
  return found == objects.end() ? nullptr : &*found;
}

}  // namespace giftsync::tests::fake_org
