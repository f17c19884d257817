#include "tests/support/smtp_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/source_folder.h"
#include "tests/support/json.h"

namespace giftsync::tests {
namespace {

std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "giftsync-relay-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a temporary folder");
  return name;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The complete lines of a file that is being written, as JSON.
std::vector<nlohmann::json> json_lines(const std::filesystem::path& path) {
  std::vector<nlohmann::json> objects;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line) && !lines.eof();) objects.push_back(parse_json(line));
  return objects;
}

/// Long for a busy machine; only a failing test waits this long.
constexpr auto kTimeout = std::chrono::seconds(60);

/// The first line that the child prints.
std::string first_line(int descriptor) {
  std::string line;
  for (char c = 0; c != '\n'; line += c) {
    pollfd ready{descriptor, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kTimeout).count())) != 1 ||
        read(descriptor, &c, 1) != 1) {
      throw std::runtime_error("smtp_server.py did not start");
    }
    if (c == '\n') break;
  }
  return line;
}

[[noreturn]] void exec_child(const std::vector<std::string>& arguments, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output, STDOUT_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

SmtpServer::SmtpServer() : SmtpServer(Options{}) {}

SmtpServer::SmtpServer(const Options& options) : folder_(new_folder()) {
  if (options.tls != Tls::none) make_certificate();
  start(options);
}

SmtpServer::~SmtpServer() {
  stop();
  std::filesystem::remove_all(folder_);
}

std::string SmtpServer::url() const {
  return scheme_ + "://127.0.0.1:" + port_;
}

void SmtpServer::make_certificate() {
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
      "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout '" +
      (folder_ / "key.pem").string() + "' -out '" + certificate() + "' 2>/dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl made no certificate");
}

void SmtpServer::start(const Options& options) {
  const auto program = std::filesystem::path(kSourceFolder) / "tests/system/smtp_server.py";
  std::vector<std::string> arguments{"/usr/bin/python3", program.string(), "--directory",
                                     folder_ / "mails",  "--mode",         folder_ / "mode.json"};
  if (options.tls != Tls::none) {
    arguments.insert(arguments.end(), {"--cert", certificate(), "--key", folder_ / "key.pem"});
  }
  if (options.tls == Tls::implicit) {
    arguments.push_back("--implicit-tls");
    scheme_ = "smtps";
  }
  if (!options.user.empty()) {
    write_file(folder_ / "password", options.password);
    arguments.insert(arguments.end(), {"--user", options.user, "--password-file", folder_ / "password"});
  }
  if (options.auth_without_tls) arguments.push_back("--auth-without-tls");

  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("pipe");
  pid_ = fork();
  if (pid_ == 0) exec_child(arguments, pipe_ends[1]);
  close(pipe_ends[1]);
  port_ = first_line(pipe_ends[0]);
  close(pipe_ends[0]);
}

void SmtpServer::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void SmtpServer::set_behaviour(const std::string& json) {
  write_file(folder_ / "mode.new", json);
  std::filesystem::rename(folder_ / "mode.new", folder_ / "mode.json");
}

std::vector<SmtpServer::AcceptedMail> SmtpServer::accepted_mails() const {
  std::vector<AcceptedMail> mails;
  for (const auto& line : json_lines(folder_ / "mails/journal.ndjson")) {
    mails.push_back({line.at("message_id"), line.at("from"), line.at("to"), read_file(line.at("path"))});
  }
  return mails;
}

std::vector<std::string> SmtpServer::events() const {
  std::vector<std::string> events;
  for (const auto& line : json_lines(folder_ / "mails/phases.ndjson")) events.push_back(line.at("phase"));
  return events;
}

bool SmtpServer::wait_for_event(const std::string& event, std::size_t times) const {
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto seen = events();
    if (static_cast<std::size_t>(std::count(seen.begin(), seen.end(), event)) >= times) return true;
    poll(nullptr, 0, 5);
  }
  return false;
}

}  // namespace giftsync::tests
