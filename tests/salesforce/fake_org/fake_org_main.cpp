// fake_org --port 0 --db FILE [--project DIR] [--foreign NAMESPACE] [--set NAME=VALUE]...: a Salesforce org
// with memory, for tests.
// Prints its port, and ends at SIGTERM or SIGINT.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tests/salesforce/fake_org/foreign_package.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/source_folder.h"

int main(int argc, char** argv) {
  unsigned short port = 0;
  std::string database = ":memory:";
  std::string project = std::string(kSourceFolder) + "/conf/salesforce";
  std::string name_space;
  CLI::App app("A Salesforce org with memory, for tests");
  app.add_option("--port", port, "0 takes a free one");
  app.add_option("--db", database, "SQLite file with the org's records");
  app.add_option("--project", project, "sfdx source project that is deployed in the org");
  app.add_option("--foreign", name_space,
                 "the namespace of another owner, whose package is in the org instead of the project");
  std::vector<std::string> settings;
  app.add_option("--set", settings, "NAME=VALUE of a setting or switch, see README.md");
  CLI11_PARSE(app, argc, argv);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    giftsync::tests::fake_org::Server server(port, database, project);
    server.with_org([&](giftsync::tests::fake_org::Org& org) {
      for (const std::string& one : settings) {
        const std::size_t end = std::min(one.find('='), one.size());
        org.set(one.substr(0, end), one.substr(std::min(end + 1, one.size())));
      }
    });
    if (!name_space.empty()) {
      server.with_org([&](giftsync::tests::fake_org::Org& org) {
        org.deploy(giftsync::tests::fake_org::foreign_package(org.files(), name_space));
      });
    }
    std::cout << server.port() << std::endl;
    int received = 0;
    sigwait(&signals, &received);
  } catch (const std::exception& error) {
    std::cerr << "fake_org: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
