// A SOQL query as one SQL statement over the org's tables.
#pragma once

#include <string>
#include <vector>

#include "tests/salesforce/fake_org/org.h"
#include "tests/salesforce/fake_org/soql.h"

namespace giftsync::tests::fake_org {

/// A parent object that the query refers to. Its Id is selected.
struct PlannedParent {
  std::vector<std::string> path;  ///< the relationships' names
  const Object* object = nullptr;
  std::string alias;
};

struct PlannedField {
  std::size_t parent = 0;  ///< 0: the object itself
  const Field* field = nullptr;
};

struct QueryPlan {
  std::string sql;  ///< selects the Ids of all parents, then the fields
  std::vector<Value> parameters;
  std::vector<PlannedParent> parents;  ///< the first is the object itself
  std::vector<PlannedField> fields;
};

/// Throws ApiError for objects and fields that the user does not see. `with_deleted` is queryAll.
QueryPlan plan_query(Org& org, const std::string& user, const SoqlQuery& query, bool with_deleted);

}  // namespace giftsync::tests::fake_org
