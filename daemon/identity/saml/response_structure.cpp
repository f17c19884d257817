#include "daemon/identity/saml/response_structure.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "daemon/identity/saml/saml_names.h"
#include "daemon/identity/saml/signature_form.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::saml {
namespace {

using platform::in_quotes;
using platform::XmlAttribute;
using platform::XmlElement;

/// Calls `visit` with the element and all elements inside of it, except what is in `skipped`.
void each_element(const XmlElement& element, const XmlElement* skipped,
                  const std::function<void(const XmlElement&)>& visit) {
  if (&element == skipped) return;
  visit(element);
  for (const XmlElement& child : element.children) each_element(child, skipped, visit);
}

std::size_t count_named(const XmlElement& root, const XmlElement* skipped, std::string_view name) {
  std::size_t count = 0;
  each_element(root, skipped, [&](const XmlElement& one) { count += one.name == name ? 1 : 0; });
  return count;
}

/// Assertions in an Advice are someone else's evidence: they are neither counted nor read.
const XmlElement* advice_of(const XmlElement& assertion) {
  const auto found = std::find_if(assertion.children.begin(), assertion.children.end(),
                                  [](const XmlElement& one) { return one.is(kAssertion, "Advice"); });
  return found == assertion.children.end() ? nullptr : &*found;
}

Outcome<void> check_root(const XmlElement& response) {
  if (!response.is(kProtocol, "Response"))
    return refuse(3, "the document's root is {}; a samlp:Response is expected", in_quotes(response.name));
  if (response.attribute("", "Version") != "2.0")
    return refuse(3, "the Response is not of version 2.0; set the provider to SAML 2.0");
  return {};
}

bool is_id_name(std::string_view name) {
  return platform::ascii_lower(name) == "id";
}

/// An ASCII xs:ID: it goes into a reference, where another character could mean something else.
bool is_plain_id(std::string_view id) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !id.empty() && is_letter(id.front()) && std::all_of(id.begin(), id.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

/// SAML-5, in the whole document: an ID in an Advice could be referred to as well.
Outcome<void> check_ids(const XmlElement& response) {
  Outcome<void> verdict;
  std::set<std::string_view> ids;
  each_element(response, nullptr, [&](const XmlElement& element) {
    for (const XmlAttribute& one : element.attributes) {
      if (!verdict || !is_id_name(one.name)) continue;
      if (!one.name_space.empty())
        verdict = refuse(5, "{} has an ID in the namespace {}; IDs have none", in_quotes(element.name),
                         in_quotes(one.name_space));
      else if (!ids.insert(one.value).second)
        verdict = refuse(5, "two elements have the ID {}; each needs its own", in_quotes(one.value));
    }
  });
  return verdict;
}

/// Where the signature of a Response or an Assertion must be: directly behind its Issuer.
std::size_t signature_place(const XmlElement& element) {
  return !element.children.empty() && element.children.front().is(kAssertion, "Issuer") ? 1 : 0;
}

const XmlElement* signature_in_place(const XmlElement& element) {
  const std::size_t place = signature_place(element);
  if (place >= element.children.size() || !element.children[place].is(kSignature, "Signature"))
    return nullptr;
  return &element.children[place];
}

/// Adds the element when it has a signature. Its form is held to SAML-7, its ID to SAML-5.
Outcome<void> add_signed(const XmlElement& element, std::vector<std::size_t> path, bool allows_sha1,
                         std::vector<SignedElement>& found) {
  const XmlElement* signature = signature_in_place(element);
  if (!signature) return {};
  const std::string id(element.attribute("", "ID").value_or(""));
  if (!is_plain_id(id))
    return refuse(5,
                  "the signed {} has the ID {}; letters, digits, '_', '-' and '.' are allowed, not "
                  "beginning with a digit",
                  in_quotes(element.name), in_quotes(id));
  Outcome<void> form = check_signature_form(*signature, id, allows_sha1);
  if (form) found.push_back({std::move(path), id});
  return form;
}

}  // namespace

Outcome<std::size_t> find_assertion(const XmlElement& response) {
  if (const Outcome<void> root = check_root(response); !root) return tl::unexpected(root.error());
  if (count_named(response, nullptr, "EncryptedAssertion") > 0)
    return refuse(4, "the Assertion is encrypted; turn encryption of assertions off at the provider");
  const auto at = std::find_if(response.children.begin(), response.children.end(),
                               [](const XmlElement& one) { return one.is(kAssertion, "Assertion"); });
  const XmlElement* advice = at == response.children.end() ? nullptr : advice_of(*at);
  const std::size_t count = count_named(response, advice, "Assertion");
  if (at == response.children.end() || count != 1)
    return refuse(4,
                  "the Response contains {} elements named Assertion{}; exactly one, directly inside of the "
                  "Response, is expected",
                  count, at == response.children.end() && count > 0 ? ", none of them in its place" : "");
  if (at->attribute("", "Version") != "2.0")
    return refuse(4, "the Assertion is not of version 2.0; set the provider to SAML 2.0");
  return static_cast<std::size_t>(at - response.children.begin());
}

Outcome<std::vector<SignedElement>> signed_elements(const XmlElement& response, bool allows_sha1) {
  const auto index = find_assertion(response);
  if (!index) return tl::unexpected(index.error());
  if (const Outcome<void> ids = check_ids(response); !ids) return tl::unexpected(ids.error());
  const XmlElement& assertion = response.children[*index];
  std::vector<SignedElement> found;
  Outcome<void> verdict = add_signed(response, {}, allows_sha1, found);
  if (verdict) verdict = add_signed(assertion, {*index}, allows_sha1, found);
  if (!verdict) return tl::unexpected(verdict.error());
  const std::size_t count = count_named(response, advice_of(assertion), "Signature");
  if (found.empty() || count != found.size())
    return refuse(
        6,
        "the response contains {} elements named Signature, of which {} directly behind the Issuer of "
        "the Response or the Assertion; one or two, each in its place, are expected. Let the provider "
        "sign the assertion",
        count, found.size());
  return found;
}

}  // namespace giftsync::daemon::identity::saml
