#include "cli/input_file.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>

#include "platform/text.h"

namespace giftsync::cli {
namespace {

tl::unexpected<Refusal> unreadable(const std::string& path, const std::string& reason) {
  return tl::unexpected(Refusal{
      EX_NOINPUT, {fmt::format("{}: {}; name a file that you may read, or - for stdin", path, reason)}});
}

/// An unnamed file, which ends with its descriptor.
std::unique_ptr<std::fstream> nameless_file() {
  std::string path = (std::filesystem::temp_directory_path() / "giftsyncctl.XXXXXX").string();
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) return nullptr;
  auto file = std::make_unique<std::fstream>(path, std::ios::in | std::ios::out | std::ios::binary);
  close(descriptor);
  unlink(path.c_str());
  return file;
}

}  // namespace

tl::expected<InputFile, Refusal> InputFile::open(const std::string& path, const Console& console) {
  if (path == "-") return InputFile("stdin", console.in);
  if (auto early = early_files().extract(path)) return std::move(early.mapped());
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return unreadable(path, "there is no such file");
  if (std::filesystem::is_directory(status)) return unreadable(path, "this is a folder");
  errno = 0;
  auto file = std::make_unique<std::fstream>(path, std::ios::in | std::ios::binary);
  if (!file->is_open()) return unreadable(path, std::generic_category().message(errno));
  InputFile input(path, *file);
  input.own_ = std::move(file);
  if (std::filesystem::is_regular_file(status)) input.bytes_ = std::filesystem::file_size(path, error);
  return input;
}

void InputFile::open_early(const std::string& path, const Console& console) {
  std::error_code error;
  if (path == "-" || !std::filesystem::exists(path, error)) return;
  early_files().emplace(path, open(path, console));
}

std::map<std::string, tl::expected<InputFile, Refusal>>& InputFile::early_files() {
  static std::map<std::string, tl::expected<InputFile, Refusal>> files;
  return files;
}

bool InputFile::make_rewindable() {
  if (bytes_) return true;
  auto copy = nameless_file();
  if (!copy || !copy->is_open()) return false;
  // Copying an empty stream sets failbit, but an empty input is valid.
  if (stream_->peek() != std::istream::traits_type::eof()) *copy << stream_->rdbuf();
  if (!copy->flush() || stream_->bad()) return false;
  bytes_ = static_cast<std::uint64_t>(copy->tellp());
  own_ = std::move(copy);
  stream_ = own_.get();
  rewind();
  return true;
}

void InputFile::rewind() {
  stream_->clear();
  stream_->seekg(0);
}

int refuse_input(const Console& console, const InputFile& input, const std::vector<std::string>& faults) {
  for (const std::string& fault : faults) console.info(fault);
  return console.fail(EX_DATAERR, fmt::format("{} in {}; nothing was imported",
                                              pluralize(faults.size(), "fault"), input.name()));
}

LineReader::LineReader(std::istream& in) : in_(in), buffer_(kMaxLineBytes + 2, '\0') {}

std::optional<LineReader::Line> LineReader::next() {
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  const auto taken = static_cast<std::size_t>(in_.gcount());
  if (taken == 0) return std::nullopt;
  ++number_;
  bytes_ += taken;
  if (in_.fail() && !in_.eof()) {  // the buffer is full without a line end
    in_.clear();
    in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    bytes_ += static_cast<std::uint64_t>(in_.gcount());
    return Line{number_, {}, true};
  }
  // gcount() includes the line end, but not the end of the file.
  std::string_view text(buffer_.data(), in_.eof() ? taken : taken - 1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return Line{number_, text, false};
}

}  // namespace giftsync::cli
