// platform: reads an XML document of an unknown sender into a tree of values (libxml2). A document type,
// declared entities and processing instructions are refused, so nothing in a document can grow, refer to a
// file or name an address: the reader opens no file and no connection. Size, depth, elements and tags are
// bounded. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace giftsync {

struct XmlAttribute {
  std::string name_space = {};  ///< its URI; empty: none
  std::string name = {};        ///< without prefix
  std::string value = {};
};

struct XmlElement {
  std::string name_space = {};
  std::string name = {};
  std::vector<XmlAttribute> attributes = {};  ///< without declarations of namespaces
  /// All text directly inside of the element, untrimmed. A comment inside of it does not cut it.
  std::string text = {};
  std::vector<XmlElement> children = {};

  bool is(std::string_view element_name_space, std::string_view element_name) const {
    return name_space == element_name_space && name == element_name;
  }
  std::optional<std::string_view> attribute(std::string_view attribute_name_space,
                                            std::string_view attribute_name) const;
};

struct XmlLimits {
  std::size_t max_bytes = std::size_t{256} * 1024;
  std::size_t max_depth = 32;
  std::size_t max_elements = 20'000;
  std::size_t max_tag_bytes = std::size_t{16} * 1024;  ///< of one start tag
  /// In one start tag, declarations of namespaces included: the parser compares each with all others.
  std::size_t max_attributes = 256;
  /// Declared by an element and those around it: a prefix is searched among all of them.
  std::size_t max_namespaces = 256;
  bool allows_comments = true;
};

enum class XmlFault {
  malformed,  ///< not well-formed, not UTF-8 or empty
  limit,      ///< beyond one of XmlLimits
  forbidden   ///< a document type, a processing instruction, or a comment where none is allowed
};
struct XmlError {
  std::string message;   ///< a sentence part, visible characters only, without a period
  std::size_t line = 0;  ///< from 1 on; 0: the whole text
  XmlFault fault = XmlFault::malformed;
};
/// "line 3: found a document type (DOCTYPE)".
std::string describe(const XmlError& error);

/// The root element of a document in UTF-8, with or without a byte order mark and a declaration.
tl::expected<XmlElement, XmlError> read_xml(std::string_view text, const XmlLimits& limits = {});

/// The text with & < > " and ' as references, for an element or an attribute in quotes.
std::string xml_escaped(std::string_view text);

// Verifies a signature in an XML document (XML Signature, libxmlsec) with certificates that the
// caller names. Only enveloped signatures of one element are supported: exclusive canonicalization without
// comments, RSA or ECDSA, SHA-2. What the document says of keys is not used, and no file or address that it
// names is opened. Pure; any thread.

struct XmlSigners {
  std::vector<std::string> certificates = {};  ///< PEM, one each; their dates are not looked at
  bool allows_sha1 = false;                    ///< rsa-sha1 and SHA-1 digests as well
};

/// Verifies the signature of one element of a document that read_xml() accepts without comments. `path` has
/// the indexes of child elements that lead from the root to that element (empty: the root itself). The
/// element has one child Signature with one Reference to the element's attribute ID.
///
/// Returns the very bytes that the signature covers: canonical XML, to be read with read_xml(). What is not
/// in them was not signed. Otherwise a clause says why no certificate verifies it.
tl::expected<std::string, std::string> verified_xml(std::string_view text, std::span<const std::size_t> path,
                                                    const XmlSigners& signers);

}  // namespace giftsync
