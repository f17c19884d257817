// The package of another owner as an org has it: the gift record's object and fields under the owner's
// namespace, without what giftsync's own package adds: no version, no validation rules, no unique field on
// Activity, no request records. Its Transaction Id is an external id that is not unique. Pure.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/metadata.h"

namespace giftsync::tests::fake_org {

/// `own`: the files of giftsync's package. "Gift_Record__c" becomes "thx__Gift_Record__c" with `name_space`
/// "thx". The permission sets keep their names and allow only what is left.
SourceFiles foreign_package(const SourceFiles& own, const std::string& name_space);

}  // namespace giftsync::tests::fake_org
