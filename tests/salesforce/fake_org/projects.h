// Other packages than that of conf/salesforce: the same one behind a namespace, as a managed package has it,
// and the old status log of package version 1.1.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/metadata.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

/// Message__c becomes thx__Message__c everywhere; Send_Type__c stays.
SourceFiles with_namespace(const SourceFiles& files, const std::string& name_space);

/// Deploys the object Status_Log__c, whose table is crm_status_log, and lets this user read it. Not part of
/// the project, since only orgs with an old package have it.
void add_status_log(Org& org, const std::string& user);

}  // namespace giftsync::tests::fake_org
