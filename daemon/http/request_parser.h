// daemon/http: Boost.Beast's HTTP parser, which fills an HttpRequest directly. Included by
// request_framing.cpp only.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <string>
#include <string_view>

#include "daemon/http/request_framing.h"

namespace giftsync::daemon::http {

/// One request's parser. Its error_message() takes precedence over Beast's error code.
class RequestFraming::Parser final : public boost::beast::http::basic_parser<true> {
 public:
  Parser(HttpRequest& request, std::size_t max_body_bytes);

  std::string_view error_message() const { return error_message_; }
  /// Rules on the complete header; call it when the header is complete.
  std::string_view head_error() const;
  bool expects_continue() const { return expects_continue_; }
  bool is_http_1_1() const { return version_ == 11; }
  /// Announces a chunk's line.
  bool is_at_chunk_line() const { return has_coding_ && !is_in_chunk_; }
  /// Announces the CR LF after a chunk's data, followed by a chunk's line.
  bool is_behind_chunk() const { return has_chunk_ && !is_in_chunk_; }

 private:
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb, string_view method, string_view target, int version,
                       error_code&) override;
  void on_response_impl(int, string_view, int, error_code&) override;
  void on_field_impl(boost::beast::http::field, string_view name, string_view value, error_code&) override;
  void on_header_impl(error_code&) override { in_header_ = false; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override;
  std::size_t on_body_impl(string_view bytes, error_code&) override;
  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code&) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view bytes, error_code&) override;
  void on_finish_impl(error_code&) override {}

  void check_content_length(std::string_view value, error_code& error);
  void check_transfer_encoding(std::string_view value, error_code& error);
  void fail(std::string_view message, error_code& error);

  HttpRequest& request_;
  std::string authority_;  ///< of an absolute-form target: replaces Host
  std::string_view error_message_;
  int version_ = 0;  ///< 10 or 11
  int host_count_ = 0;
  bool in_header_ = true;  ///< fields after the header are trailers and are dropped
  bool has_length_ = false;
  bool has_coding_ = false;
  bool expects_continue_ = false;
  bool has_chunk_ = false;
  bool is_in_chunk_ = false;
  std::size_t extension_bytes_ = 0;
};

}  // namespace giftsync::daemon::http
