// The REST API of the fake org, without sockets: requests in, answers out. One thread at a time.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/http_values.h"
#include "tests/salesforce/fake_org/org.h"
#include "tests/salesforce/fake_org/queries.h"

namespace giftsync::tests::fake_org {

class Api {
 public:
  explicit Api(Org& org) : org_(org), queries_(org) {}

  /// Any request: token, versions, REST calls, and the scripts of tests below /__org.
  ApiAnswer answer(const ApiRequest& request);
  /// One resource below /services/data/vNN.0, as a call or as a part of a composite; not counted.
  ApiAnswer resource(const ApiRequest& request, const std::string& user);

 private:
  ApiAnswer counted(const ApiRequest& request);
  ApiAnswer with_faults(const ApiRequest& request, const std::string& user);
  ApiAnswer route(const ApiRequest& request, const std::string& user);
  ApiAnswer sobjects(const ApiRequest& request, const std::string& user, std::vector<std::string> parts);
  ApiAnswer record(const ApiRequest& request, const std::string& user, const Object& object,
                   const std::vector<std::string>& parts);
  ApiAnswer collections(const ApiRequest& request, const std::string& user,
                        const std::vector<std::string>& parts);
  ApiAnswer query(const ApiRequest& request, const std::string& user, const std::vector<std::string>& parts);
  ApiAnswer limits(const ApiRequest& request, const std::string& user, const std::vector<std::string>& parts);
  ApiAnswer tooling(const ApiRequest& request, const std::string& user,
                    const std::vector<std::string>& parts);

  Org& org_;
  Queries queries_;
};

/// /__org/faults, /__org/settings, /__org/changes, /__org/clock, /__org/users, /__org/sql, /__org/sessions,
/// /__org/counters.
ApiAnswer script_answer(Org& org, const ApiRequest& request);

}  // namespace giftsync::tests::fake_org
