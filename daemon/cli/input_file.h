// daemon/cli: a file that a command reads, or stdin for "-".
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "daemon/cli/console.h"
#include "daemon/cli/installation.h"

namespace giftsync::daemon {

class InputFile {
 public:
  /// Refuses (exit 66) what is missing, a folder or not readable.
  static std::variant<InputFile, Refusal> open(const std::string& path, const Console& console);

  std::istream& stream() { return *stream_; }
  /// For messages: the path as given, or "stdin".
  const std::string& name() const { return name_; }
  /// Of a regular file; unknown for pipes and stdin.
  std::optional<std::uint64_t> bytes() const { return bytes_; }

  /// Makes reading twice possible: what cannot be rewound (stdin, pipes) is copied into a temporary file that
  /// nobody else sees and that ends with the program. Before the first read. False when there is no room for
  /// it.
  bool make_rewindable();
  void rewind();

 private:
  InputFile(std::string name, std::istream& stream) : name_(std::move(name)), stream_(&stream) {}

  std::string name_;
  std::istream* stream_;
  std::unique_ptr<std::fstream> own_;
  std::optional<std::uint64_t> bytes_;
};

}  // namespace giftsync::daemon
