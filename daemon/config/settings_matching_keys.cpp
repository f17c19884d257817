// The keys of `matching`.
#include "daemon/config/settings_table.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::size_t kMaxFields = 10;

const TextForm kField{"a field's API name such as Email or Work_Email__c", check_field_name, kNamePattern};

template <class... Members>
void add_order_by(KeyTable& keys, const std::string& object, const std::string& several, Members... members) {
  keys.push_back({"matching." + object + ".order_by.field",
                  "The field that decides between several " + several + "; then the id does.",
                  Text{setting(&Settings::matching, members..., &OrderBySettings::field), kField}});
  keys.push_back(
      {"matching." + object + ".order_by.direction",
       "DESC takes the " + object + " with the highest value, ASC the lowest.",
       choice({"ASC", "DESC"}, setting(&Settings::matching, members..., &OrderBySettings::descending))});
}

void add_person(KeyTable& keys, const std::string& person, PersonMatchingSettings MatchingSettings::*member) {
  using P = PersonMatchingSettings;
  keys.push_back({"matching." + person + ".email_fields",
                  "The fields of a " + person + " that hold e-mail addresses.",
                  TextList{setting(&Settings::matching, member, &P::email_fields), 1, kMaxFields, kField}});
  keys.push_back(
      {"matching." + person + ".phone_fields",
       "The fields of a " + person + " that hold phone numbers, used when no e-mail address matches.",
       TextList{setting(&Settings::matching, member, &P::phone_fields), 0, kMaxFields, kField}});
  add_order_by(keys, person, "matching " + person + "s", member, &P::order_by);
}

}  // namespace

KeyTable matching_keys() {
  using M = MatchingSettings;
  using O = OpportunityMatchingSettings;
  KeyTable keys;
  add_person(keys, "contact", &M::contact);
  add_person(keys, "lead", &M::lead);
  keys.push_back({"matching.opportunity.enabled",
                  "Whether a gift to a contact is linked to an open opportunity of the contact's roles.",
                  BooleanValue{setting(&Settings::matching, &M::opportunity, &O::enabled)}});
  add_order_by(keys, "opportunity", "open opportunities", &M::opportunity, &O::order_by);
  keys.push_back({"matching.on_no_match",
                  "How to treat a gift without a matching contact or lead: create makes its record without a "
                  "person, skip makes none.",
                  choice({"create", "skip"}, setting(&Settings::matching, &M::skip_unmatched))});
  keys.push_back({"matching.default_region", "The region of phone numbers without a country code.",
                  Text{setting(&Settings::matching, &M::default_region),
                       {"a two-letter region (ISO 3166) in capital letters such as US or DE", check_region,
                        R"({"pattern": "^[A-Z]{2}$"})"}}});
  return keys;
}

}  // namespace giftsync::daemon::config
