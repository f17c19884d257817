#include "schema/console_role.h"

#include "schema/enum_words.h"

namespace giftsync::schema {
namespace {

constexpr auto kRoles = enum_words<Role>({{Role::sender, "sender"},
                                          {Role::approver, "approver"},
                                          {Role::admin, "admin"},
                                          {Role::operations, "operator"},
                                          {Role::auditor, "auditor"}});
constexpr auto kOrigins =
    enum_words<RoleOrigin>({{RoleOrigin::granted, "granted"}, {RoleOrigin::crm, "crm"}});

}  // namespace

std::string_view to_word(Role role) {
  return kRoles.word_of(role);
}
std::optional<Role> role_from_word(std::string_view word) {
  return kRoles.parse(word);
}

std::string_view to_word(RoleOrigin origin) {
  return kOrigins.word_of(origin);
}
std::optional<RoleOrigin> role_origin_from_word(std::string_view word) {
  return kOrigins.parse(word);
}

}  // namespace giftsync::schema
