// The fake org behind HTTP. Its own threads; requests are served one after another.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tests/salesforce/fake_org/api.h"

namespace giftsync::tests::fake_org {

class Server {
 public:
  /// Listens on the loopback address; port 0 takes a free one. Throws Poco::Exception.
  Server(unsigned short port, const std::string& database, const std::filesystem::path& project);
  ~Server();

  unsigned short port() const;
  std::string url() const;
  /// Runs while no request is served.
  void with_org(const std::function<void(Org&)>& action);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace giftsync::tests::fake_org
