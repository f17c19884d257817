// daemon/http: whether a request's body is declared as JSON, or as XML, and not compressed (HTTP-19).
#pragma once

#include <optional>
#include <string>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

/// Nullopt when the body may be read as JSON: the Content-Type is application/json (any parameters; a charset
/// must be utf-8), empty or missing. Otherwise a sentence for problem.h's unsupported_media_type(). Types
/// such as application/ld+json describe other documents and are refused.
std::optional<std::string> json_content_type_error(const HttpRequest& request);

/// The same for a source, which cannot change its type on request (READ-5): also application/...+json
/// (RFC 6839), the former names of JSON, and the charset us-ascii, a part of utf-8.
std::optional<std::string> source_json_content_type_error(const HttpRequest& request);

/// The same for XML: text/xml or application/xml.
std::optional<std::string> xml_content_type_error(const HttpRequest& request);

/// Nullopt when the body is not encoded: the Content-Encoding is identity, empty or missing. Otherwise a
/// sentence for problem.h's unsupported_content_encoding().
std::optional<std::string> content_encoding_error(const HttpRequest& request);

}  // namespace giftsync::daemon::http
