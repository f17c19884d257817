// cli: an input file of a command, or stdin for "-".
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  /// The size of a regular file; unknown for pipes and stdin.
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

// Reads a file line by line; memory holds one line.

class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

  explicit LineReader(std::istream& in);

  struct Line {
    std::size_t number = 0;  ///< from 1
    std::string_view text;   ///< without line end, valid until the next call; empty if too_long
    bool too_long = false;   ///< longer than kMaxLineBytes; the rest of it is skipped
  };
  /// Empty at the end.
  std::optional<Line> next();
  /// The size of the lines read so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::istream& in_;
  std::string buffer_;
  std::size_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace giftsync::cli
