// wiring: giftsync's package for Salesforce: written as a project of source files, or deployed into an org
// with an admin's own session.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::wiring {

/// Writes the sfdx project into a new or empty folder. Returns the number of files, or why it cannot.
tl::expected<std::size_t, std::string> write_package_project(const std::string& folder);

/// "https://acme.my.salesforce.com", or why this is no address of an org.
tl::expected<std::string, std::string> org_address(std::string text);

struct PackageSetup {
  std::string address;       ///< of org_address()
  std::string access_token;  ///< of an admin; a secret
  std::string api_version = "62.0";
  bool is_check_only = false;  ///< the org says what it would refuse, and changes nothing
};

struct SetupProgress {
  std::string status;  ///< Salesforce's word: "InProgress"
  std::size_t deployed = 0;
  std::size_t total = 0;  ///< 0: not known yet
};

struct SetupResult {
  enum class Kind {
    done,
    refused,     ///< the org refuses components: `failures`
    not_begun,   ///< the org refuses the deployment: `message`
    unreachable  ///< `message`; the deployment may go on where `id` is not empty
  };
  Kind kind = Kind::done;
  std::string id;  ///< of the deployment, which Setup, Deployment Status shows
  std::size_t components = 0;
  std::string message = {};
  std::vector<std::string> failures = {};  ///< "FILE:LINE: Salesforce's words (TYPE NAME)"
  std::vector<std::string> replaced = {};  ///< "PermissionSet Admin": there before, with other contents
};

/// Follows the deployment to its end; `report` is called at each look, `pause` between two looks.
SetupResult deploy_package(const PackageSetup& setup, const std::function<void(const SetupProgress&)>& report,
                           const std::function<void()>& pause);

}  // namespace giftsync::wiring
