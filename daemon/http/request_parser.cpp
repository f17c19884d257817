#include "daemon/http/request_parser.h"

#include <algorithm>
#include <cstdint>

#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::http {
namespace {

constexpr std::size_t kNotFound = std::string_view::npos;
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kEmptyLine = "\r\n\r\n";
constexpr std::size_t kMaxSizeDigits = 16;  ///< of 64 bits

constexpr std::string_view kBareLineFeedMessage = "A line ends with LF alone; HTTP lines end with CR LF.";

ScanResult scan_error(std::string_view message) {
  return {0, message};
}

bool has_bare_line_feed(std::string_view text) {
  for (std::size_t lf = text.find('\n'); lf != kNotFound; lf = text.find('\n', lf + 1)) {
    if (lf == 0 || text[lf - 1] != '\r') return true;
  }
  return false;
}

/// The hexadecimal digits at the start of a chunk's line; kNotFound when the received bytes cannot become a
/// size.
std::size_t count_size_digits(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
  const bool has_valid_terminator =
      digits == line.size() || std::string_view("\r; \t").find(line[digits]) != kNotFound;
  if (!line.empty() && (digits == 0 || digits > kMaxSizeDigits || !has_valid_terminator)) return kNotFound;
  return digits;
}

}  // namespace

ScanResult HeadScanner::scan(std::string_view bytes) {
  for (;;) {
    const std::size_t lf = bytes.find('\n', scanned_);
    if (lf >= kMaxHeadBytes && bytes.size() >= kMaxHeadBytes) {
      return scan_error("The header is longer than 16,384 bytes.");
    }
    if (lf == kNotFound) {
      scanned_ = bytes.size();
      return {};
    }
    if (lf == 0 || bytes[lf - 1] != '\r') return scan_error(kBareLineFeedMessage);
    const char first = bytes[line_begin_];
    if (first == '\r') return {lf + 1, {}};
    if (first == ' ' || first == '\t') return scan_error("A header line begins with white space.");
    if (++lines_ > kMaxHeaderFields + 1) return scan_error("The header has more than 64 fields.");
    scanned_ = line_begin_ = lf + 1;
  }
}

ScanResult scan_chunk_line(std::string_view bytes, bool behind_chunk) {
  const std::size_t begin = behind_chunk ? std::min(kLineEnd.size(), bytes.size()) : 0;
  if (!kLineEnd.starts_with(bytes.substr(0, begin)))
    return scan_error("A chunk is longer than its size says.");
  const std::string_view rest = bytes.substr(begin);
  const std::size_t lf = rest.find('\n');
  const std::string_view line = rest.substr(0, lf);
  const std::size_t digits = count_size_digits(line);
  if (digits == kNotFound)
    return scan_error("A chunk size is not a hexadecimal number of at most 16 digits.");

  const bool is_last = line.find_first_not_of('0') >= digits;
  std::size_t end = lf == kNotFound ? kNotFound : lf + 1;
  if (end != kNotFound && is_last) {
    const std::size_t empty_line = line.empty() ? kNotFound : rest.find(kEmptyLine, lf - 1);
    end = empty_line == kNotFound ? kNotFound : empty_line + kEmptyLine.size();
  }
  if (has_bare_line_feed(rest.substr(0, end))) return scan_error(kBareLineFeedMessage);
  if (end != kNotFound && begin + end <= kMaxHeadBytes) return {begin + end, {}};
  if (bytes.size() >= kMaxHeadBytes)
    return scan_error("A chunk's line or the trailer is longer than 16,384 bytes.");
  return {};
}

namespace {

namespace beast_http = boost::beast::http;

std::string_view message_for(const boost::beast::error_code& error) {
  using Code = beast_http::error;
  constexpr std::pair<Code, std::string_view> kMessages[]{
      {Code::bad_version, "The request line does not end with HTTP/1.0 or HTTP/1.1."},
      {Code::bad_method, "The request line does not begin with a method."},
      {Code::bad_target, "The request line has a malformed target."},
      {Code::bad_field, "A header line does not begin with a name and a colon."},
      {Code::bad_value, "A header value has a control character or is malformed."},
      {Code::bad_line_ending, "A line does not end with CR LF."},
      {Code::bad_content_length, "Content-Length is not one plain number, or appears beside another length."},
      {Code::bad_transfer_encoding,
       "Transfer-Encoding is not exactly \"chunked\", or appears beside a length."},
      {Code::bad_chunk, "A chunk has no size in hexadecimal, or is not followed by CR LF."},
      {Code::bad_chunk_extension, "A chunk size is followed by something that is no extension."}};
  for (const auto& [code, message] : kMessages) {
    if (error == code) return message;
  }
  return "The request is not well-formed HTTP/1.1.";
}

}  // namespace

RequestFraming::RequestFraming(std::size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {
  reset();
}
RequestFraming::~RequestFraming() = default;

void RequestFraming::reset() {
  request_ = HttpRequest{};
  parser_ = std::make_unique<Parser>(request_, max_body_bytes_);
  stage_ = Stage::head;
  error_message_ = {};
  head_scanner_ = HeadScanner{};
  skipped_empty_line_ = false;
}

bool RequestFraming::keep_alive() const {
  return stage_ == Stage::complete && parser_->keep_alive();
}
bool RequestFraming::is_http_1_1() const {
  return parser_->is_http_1_1();
}
bool RequestFraming::expects_continue() const {
  return stage_ == Stage::body && parser_->expects_continue();
}

void RequestFraming::fail(std::string_view message) {
  error_message_ = message;
  stage_ = Stage::invalid;
}

std::size_t RequestFraming::feed(std::string_view bytes) {
  if (stage_ == Stage::body) return feed_body(bytes);
  if (stage_ != Stage::head) return 0;
  const std::size_t head = feed_head(bytes);
  return stage_ == Stage::body ? head + feed_body(bytes.substr(head)) : head;
}

std::size_t RequestFraming::feed_head(std::string_view bytes) {
  std::size_t skipped = 0;
  if (!skipped_empty_line_ && bytes.starts_with("\r\n")) {
    // Some old clients send one empty line after a body (RFC 9112 2.2).
    skipped_empty_line_ = true;
    skipped = 2;
    head_scanner_ = HeadScanner{};
  }
  const ScanResult head = head_scanner_.scan(bytes.substr(skipped));
  if (!head.error_message.empty()) fail(head.error_message);
  if (head.length != 0) parse_head(bytes.substr(skipped, head.length));
  return skipped + head.length;
}

void RequestFraming::parse_head(std::string_view head) {
  boost::beast::error_code error;
  parser_->put(boost::asio::buffer(head.data(), head.size()), error);
  const bool too_large = error == beast_http::error::body_limit;
  if (!parser_->error_message().empty()) return fail(parser_->error_message());
  if (error && !too_large) return fail(message_for(error));
  if (const auto message = parser_->head_error(); !message.empty()) return fail(message);
  if (!apply_body_limit() || too_large) {
    stage_ = Stage::too_large;
  } else {
    stage_ = parser_->is_done() ? Stage::complete : Stage::body;
  }
}

/// False: the header announces a longer body than allowed.
bool RequestFraming::apply_body_limit() {
  const std::size_t limit = body_limit_ ? std::min(max_body_bytes_, body_limit_(request_)) : max_body_bytes_;
  const auto announced = parser_->content_length();
  largest_body_ = announced ? std::min<std::uint64_t>(*announced, limit) : limit;
  if (announced && *announced > limit) return false;
  parser_->body_limit(limit);
  return true;
}

// Beast 1.74 asserts when the last chunk arrives in pieces ("0 CR LF", then "CR"), so it gets complete lines
// only, the last one with its trailer.
std::size_t RequestFraming::feed_body(std::string_view bytes) {
  std::size_t consumed = 0;
  while (stage_ == Stage::body && consumed < bytes.size()) {
    std::string_view piece = bytes.substr(consumed);
    if (parser_->is_at_chunk_line()) {
      const ScanResult line = scan_chunk_line(piece, parser_->is_behind_chunk());
      if (!line.error_message.empty()) fail(line.error_message);
      if (line.length == 0) break;
      piece = piece.substr(0, line.length);
    }
    consumed += parse_body(piece);
  }
  return consumed;
}

std::size_t RequestFraming::parse_body(std::string_view bytes) {
  boost::beast::error_code error;
  const std::size_t consumed = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (!parser_->error_message().empty()) {
    fail(parser_->error_message());
  } else if (error == beast_http::error::body_limit) {
    stage_ = Stage::too_large;
    request_.body.clear();
  } else if (error) {
    fail(message_for(error));
  } else if (parser_->is_done()) {
    stage_ = Stage::complete;
  }
  return consumed;
}

namespace {

/// Above this size memory grows with the received bytes: announcing a large body must not cost memory.
constexpr std::uint64_t kMaxInitialReserve = 16 * 1024;

std::string_view to_std_view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

RequestFraming::Parser::Parser(HttpRequest& request, std::size_t max_body_bytes) : request_(request) {
  header_limit(kMaxHeadBytes);
  body_limit(max_body_bytes);
}

void RequestFraming::Parser::fail(std::string_view message, error_code& error) {
  error_message_ = message;
  error = beast_http::error::bad_field;  // any error stops Beast; the message is what counts
}

void RequestFraming::Parser::on_request_impl(beast_http::verb, string_view method, string_view target,
                                             int version, error_code& error) {
  RequestTarget request_target;
  if (const auto message = parse_request_target(to_std_view(target), request_target); !message.empty())
    return fail(message, error);
  version_ = version;
  request_.method = to_std_view(method);
  request_.path = std::move(request_target.path);
  request_.query = std::move(request_target.query);
  authority_ = std::move(request_target.authority);
}

void RequestFraming::Parser::on_response_impl(int, string_view, int, error_code&) {}

void RequestFraming::Parser::on_field_impl(beast_http::field field, string_view name, string_view value,
                                           error_code& error) {
  if (!in_header_) return;
  const std::string_view text = to_std_view(value);
  if (field == beast_http::field::host) {
    ++host_count_;
    if (host_count_ > 1) return fail("The header names Host twice.", error);
    if (!is_host_header_value(text)) return fail("Host is empty or not a host name.", error);
  }
  if (field == beast_http::field::content_length) check_content_length(text, error);
  if (field == beast_http::field::transfer_encoding) check_transfer_encoding(text, error);
  if (field == beast_http::field::expect) {
    expects_continue_ = version_ == 11 && boost::beast::iequals(value, "100-continue");
  }
  if (error) return;
  const bool replaced = field == beast_http::field::host && !authority_.empty();
  request_.headers.emplace(to_std_view(name), replaced ? authority_ : std::string(text));
}

void RequestFraming::Parser::check_content_length(std::string_view value, error_code& error) {
  if (has_length_) return fail("The header names Content-Length twice.", error);
  if (has_coding_) return fail("The header has both Transfer-Encoding and Content-Length.", error);
  // 19 digits cannot overflow 64 bits.
  if (value.empty() || value.size() > 19 || !std::all_of(value.begin(), value.end(), is_decimal)) {
    return fail("Content-Length is not one plain number of at most 19 digits.", error);
  }
  has_length_ = true;
}

void RequestFraming::Parser::check_transfer_encoding(std::string_view value, error_code& error) {
  if (has_coding_) return fail("The header names Transfer-Encoding twice.", error);
  if (has_length_) return fail("The header has both Content-Length and Transfer-Encoding.", error);
  if (version_ != 11) return fail("HTTP/1.0 has no Transfer-Encoding.", error);
  if (!boost::beast::iequals(string_view(value.data(), value.size()), "chunked")) {
    return fail("Transfer-Encoding is not exactly \"chunked\".", error);
  }
  has_coding_ = true;
}

std::string_view RequestFraming::Parser::head_error() const {
  if (version_ == 11 && host_count_ == 0) return "The header lacks Host, which HTTP/1.1 requires.";
  return {};
}

void RequestFraming::Parser::on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) {
  if (length) request_.body.reserve(std::min(*length, kMaxInitialReserve));
}

std::size_t RequestFraming::Parser::on_body_impl(string_view bytes, error_code&) {
  request_.body.append(bytes.data(), bytes.size());
  return bytes.size();
}

void RequestFraming::Parser::on_chunk_header_impl(std::uint64_t size, string_view extensions,
                                                  error_code& error) {
  has_chunk_ = is_in_chunk_ = size > 0;
  extension_bytes_ += extensions.size();
  if (extension_bytes_ > kMaxHeadBytes)
    fail("The chunk extensions are longer than 16,384 bytes in all.", error);
}

std::size_t RequestFraming::Parser::on_chunk_body_impl(std::uint64_t remain, string_view bytes, error_code&) {
  request_.body.append(bytes.data(), bytes.size());
  is_in_chunk_ = bytes.size() < remain;
  return bytes.size();
}

namespace {

bool is_visible_ascii(char c) {
  return c > 0x20 && c < 0x7F;
}
bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// False for a "%" without two hexadecimal digits after it.
bool percent_decode(std::string_view encoded, std::string& decoded) {
  decoded.clear();
  decoded.reserve(encoded.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      decoded += encoded[i];
      continue;
    }
    const auto byte = from_hex(encoded.substr(i + 1, 2));
    if (!byte || byte->empty()) return false;
    decoded += *byte;
    i += 2;
  }
  return true;
}

/// Splits "http://host/path" into authority and rest; false for another scheme or an empty authority.
bool split_absolute_form(std::string_view& raw, std::string& authority) {
  const std::size_t colon = raw.find("://");
  if (colon == std::string_view::npos) return false;
  const std::string scheme = ascii_lower(raw.substr(0, colon));
  if (scheme != "http" && scheme != "https") return false;
  raw.remove_prefix(colon + 3);
  const std::size_t end = std::min(raw.find_first_of("/?"), raw.size());
  authority = raw.substr(0, end);
  raw.remove_prefix(end);
  return is_host_header_value(authority);
}

}  // namespace

bool is_host_header_value(std::string_view host) {
  constexpr std::string_view kOtherHostCharacters = "-._~%:[]";
  return !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
    return is_ascii_letter_or_digit(c) || kOtherHostCharacters.find(c) != std::string_view::npos;
  });
}

std::string_view parse_request_target(std::string_view raw, RequestTarget& target) {
  if (raw.size() > kMaxTargetBytes) return "The request target is longer than 8,192 bytes.";
  if (!std::all_of(raw.begin(), raw.end(), is_visible_ascii) || raw.find('#') != std::string_view::npos) {
    return "The request target has a character that must be percent-encoded.";
  }
  target.authority.clear();
  if (raw.empty() || (raw.front() != '/' && !split_absolute_form(raw, target.authority))) {
    return "The request target is neither a path that begins with \"/\" nor an absolute http(s) URL.";
  }
  const std::size_t question = std::min(raw.find('?'), raw.size());
  target.query = raw.substr(std::min(question + 1, raw.size()));
  const std::string_view path = raw.substr(0, question);
  if (!percent_decode(path.empty() ? "/" : path, target.path)) {
    return "The path has a \"%\" that two hexadecimal digits do not follow.";
  }
  if (std::any_of(target.path.begin(), target.path.end(), is_control)) {
    return "The path has a percent-encoded control character.";
  }
  if (!is_storable_text(target.path)) return "The path is not UTF-8 once percent-decoded.";
  return {};
}

}  // namespace giftsync::http
