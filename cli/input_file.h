// cli: an input file of a command, or stdin for "-".
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "cli/cli_context.h"
#include "cli/console.h"

namespace giftsync::cli {

class InputFile {
 public:
  /// Refuses (exit 66) a missing or unreadable file and a folder.
  static tl::expected<InputFile, Refusal> open(const std::string& path, const Console& console);
  /// Opens a file that a later open() of the same path returns, with the rights of now. Nothing if there is
  /// no such file.
  static void open_early(const std::string& path, const Console& console);

  std::istream& stream() { return *stream_; }
  /// For messages: the path as given, or "stdin".
  const std::string& name() const { return name_; }
  /// Of a regular file; unknown for pipes and stdin.
  std::optional<std::uint64_t> bytes() const { return bytes_; }

  /// Makes rewind() possible: copies stdin and pipes into an unnamed temporary file, which ends with the
  /// program. Call it before the first read. False if the copy fails.
  bool make_rewindable();
  void rewind();

 private:
  InputFile(std::string name, std::istream& stream) : name_(std::move(name)), stream_(&stream) {}
  /// By path; main thread.
  static std::map<std::string, tl::expected<InputFile, Refusal>>& early_files();

  std::string name_;
  std::istream* stream_;
  std::unique_ptr<std::fstream> own_;
  std::optional<std::uint64_t> bytes_;
};

/// Lists the faults of a file that is refused whole (exit 65).
int refuse_input(const Console& console, const InputFile& input, const std::vector<std::string>& faults);

}  // namespace giftsync::cli
