// platform: verifies a signature in an XML document (XML Signature, libxmlsec) with certificates that the
// caller names. Only enveloped signatures of one element are supported: exclusive canonicalization without
// comments, RSA or ECDSA, SHA-2. What the document says of keys is not used, and no file or address that it
// names is opened. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace giftsync::platform {

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

}  // namespace giftsync::platform
