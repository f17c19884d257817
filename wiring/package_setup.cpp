#include "wiring/package_setup.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "daemon/config/text_checks.h"
#include "daemon/salesforce/metadata_package.h"
#include "daemon/salesforce/package_deploy.h"
#include "daemon/salesforce/package_sources.h"
#include "platform/http_client.h"

namespace giftsync::wiring {
namespace {

namespace fs = std::filesystem;
using daemon::salesforce::DeployFault;
using daemon::salesforce::Deployment;
using daemon::salesforce::PackageDeploy;

/// A look that gets no answer is repeated: the deployment goes on without it.
constexpr int kLostLooks = 5;

bool write_file(const fs::path& path, const std::string& text) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return !failure && !file.fail();
}

/// The deployment after another look.
tl::expected<Deployment, DeployFault> look_again(PackageDeploy& deploy, const std::string& id,
                                                 const std::function<void()>& pause) {
  tl::expected<Deployment, DeployFault> deployment;
  for (int tries = 0; tries < kLostLooks; ++tries) {
    pause();
    deployment = deploy.look(id);
    if (deployment || !deployment.error().is_transient) break;
  }
  return deployment;
}

SetupResult result_of(const Deployment& deployment) {
  SetupResult result{.kind = deployment.is_success ? SetupResult::Kind::done : SetupResult::Kind::refused,
                     .id = deployment.id,
                     .components = deployment.total,
                     .message = deployment.message,
                     .replaced = deployment.replaced};
  for (const auto& failure : deployment.failures) result.failures.push_back(to_text(failure));
  return result;
}

}  // namespace

tl::expected<std::size_t, std::string> write_package_project(const std::string& folder) {
  std::error_code failure;
  if (fs::exists(folder, failure) && (!fs::is_directory(folder, failure) || !fs::is_empty(folder, failure)))
    return tl::unexpected(folder + " is not an empty folder; name a new one");
  const auto files = daemon::salesforce::package_sources();
  for (const auto& file : files) {
    const fs::path path = fs::path(folder) / file.path;
    if (!write_file(path, file.text))
      return tl::unexpected(fmt::format("{} cannot be written", path.string()));
  }
  return files.size();
}

tl::expected<std::string, std::string> org_address(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  const std::size_t host = text.find("://");
  if (host == std::string::npos || text.find('/', host + 3) != std::string::npos ||
      text.find_first_of("?#@ ", host) != std::string::npos || !platform::is_https_or_loopback(text))
    return tl::unexpected(fmt::format(
        "found \"{}\"; allowed: the org's My Domain URL such as https://acme.my.salesforce.com", text));
  return text;
}

SetupResult deploy_package(const PackageSetup& setup, const std::function<void(const SetupProgress&)>& report,
                           const std::function<void()>& pause) {
  using Kind = SetupResult::Kind;
  platform::HttpClient http(
      {.bypass_proxy = daemon::config::is_loopback_host(daemon::config::host_of_url(setup.address))});
  PackageDeploy deploy(http, {setup.address, setup.access_token, setup.api_version});
  const auto package =
      daemon::salesforce::metadata_package(daemon::salesforce::package_sources(), setup.api_version);
  tl::expected<Deployment, DeployFault> deployment =
      deploy.begin(daemon::salesforce::zip_of(package), setup.is_check_only);
  std::string id;
  while (deployment && !deployment->is_done) {
    id = deployment->id;
    report({deployment->status, deployment->deployed, deployment->total});
    deployment = look_again(deploy, id, pause);
  }
  if (deployment) return result_of(*deployment);
  const DeployFault& fault = deployment.error();
  return {
      .kind = fault.is_transient ? Kind::unreachable : Kind::not_begun, .id = id, .message = fault.message};
}

}  // namespace giftsync::wiring
