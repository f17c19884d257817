// daemon/exports: all that store and managed CRM have of a person (GUARD-16), as `person export --json`
// prints it and the console's page gives it as a file (CON-69). Reads alone. Throws DependencyError.
#pragma once

#include <string>
#include <vector>

#include "crm/crm.h"
#include "schema/store/store.h"
#include "sync/crm/person.h"

namespace giftsync::exports {

/// The gifts to the person that are not erased, by id.
std::vector<TransactionId> gifts_of(const sync::PersonData& person);

/// "account", "console user": what the address is also that of; an erasure leaves it.
std::vector<std::string> other_roles(store::Store& store, const sync::PersonData& person);

/// Each text that names the address, and those about the person's gifts and request records that need not
/// name it: kept events of sources, notices to the sender, history of request records. Ids that sources gave,
/// which an erasure leaves, are the last ones.
std::vector<store::PersonText> texts_of(store::Store& store, const sync::PersonData& person);

/// JSON of the person's rows in a CRM that giftsync keeps, as text; "null" for another CRM.
std::string person_crm_json(crm::Crm& crm, const sync::PersonData& person);

/// All of it as JSON text. `currency`: of the amounts, may be empty. `crm_left_out`: why the CRM is not asked
/// for the gifts' records; empty: it is.
std::string person_json(store::Store& store, crm::Crm& crm, const sync::PersonData& person,
                        const std::string& currency, const std::string& crm_left_out = {});

}  // namespace giftsync::exports
