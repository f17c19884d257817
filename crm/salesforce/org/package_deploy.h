// crm/salesforce: deploys a metadata package with an admin's own session through the REST API, and follows
// the deployment. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "platform/http_client.h"

namespace giftsync::salesforce {

/// Where to deploy, and with which session.
struct DeployTarget {
  std::string instance_url;  ///< "https://acme.my.salesforce.com"
  std::string access_token;  ///< a secret
  std::string api_version = "62.0";
};

struct ComponentFailure {
  std::string file;  ///< of the package: "objects/Gift_Record__c.object"
  int line = 0;      ///< 0: unknown
  std::string type;
  std::string name;
  std::string problem;  ///< Salesforce's words
};

/// "FILE:LINE: PROBLEM (TYPE NAME)".
std::string to_text(const ComponentFailure& failure);

struct Deployment {
  std::string id;
  std::string status;  ///< "Pending", "InProgress", "Succeeded", "Failed"
  bool is_done = false;
  bool is_success = false;
  std::size_t total = 0;  ///< components
  std::size_t deployed = 0;
  std::size_t errors = 0;
  std::string message = {};  ///< of a deployment that failed as a whole
  std::vector<ComponentFailure> failures = {};
  /// "PermissionSet Admin": components that the org has with other contents, which the deployment replaces.
  std::vector<std::string> replaced = {};
};

struct DeployFault {
  std::string message;  ///< a sentence with the next step
  bool is_transient = false;
};

class PackageDeploy {
 public:
  /// `http` outlives this object.
  PackageDeploy(HttpClient& http, DeployTarget target);

  /// Begins a deployment of the zip; with `is_check_only` nothing is changed.
  tl::expected<Deployment, DeployFault> begin(const std::string& zip, bool is_check_only);
  /// How it stands now.
  tl::expected<Deployment, DeployFault> look(const std::string& id);

 private:
  tl::expected<Deployment, DeployFault> send(HttpRequest request);

  HttpClient& http_;
  const DeployTarget target_;
};

}  // namespace giftsync::salesforce
