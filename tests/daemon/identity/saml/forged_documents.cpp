#include "tests/daemon/identity/saml/forged_documents.h"

#include <stdexcept>
#include <utility>

namespace giftsync::saml {
namespace {

using Kind = ForgedDocument::Kind;

const std::string kEnd = "</samlp:Response>";
const std::string kEvil = "admin@acme.example";

/// The first element with this opening, to its closing tag.
std::string element_of(const std::string& xml, const std::string& name) {
  const std::size_t from = xml.find("<" + name);
  const std::string closing = "</" + name + ">";
  const std::size_t to = xml.find(closing, from);
  if (from == std::string::npos || to == std::string::npos) throw std::runtime_error("no element " + name);
  return xml.substr(from, to + closing.size() - from);
}

std::string without(const std::string& xml, const std::string& part) {
  return replaced(xml, part, "");
}

/// A text with both ends replaced: "<saml:Assertion ID=...>" begins every assertion.
std::string all_replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string in_object(const std::string& content) {
  return "<ds:Object>" + content + "</ds:Object>";
}

class Generator {
 public:
  ForgedDocuments result;

  void make() {
    add_valid();
    for (const bool signs_response : {false, true}) add_wrapped_assertions(signs_response);
    for (const bool signs_assertion : {false, true}) add_wrapped_responses(signs_assertion);
    add_wrapped_error_replies();
    add_keys();
    add_references();
    add_transforms();
    add_texts();
    add_ids_and_places();
    add_weak();
    add_wrong();
    add_wrong_users();
  }

 private:
  const Signer& signer() const { return result.signer; }
  const TestResponse& base() const { return result.response; }

  void add(Kind kind, std::string name, std::string rule, std::string xml) {
    result.all.push_back({kind, std::move(name), std::move(rule), std::move(xml)});
  }
  void forged(std::string name, int rule, std::string xml) {
    add(Kind::forged, std::move(name), "SAML-" + std::to_string(rule), std::move(xml));
  }
  void wrong(std::string name, int rule, const std::string& from, const std::string& to) {
    add(Kind::wrong, std::move(name), "SAML-" + std::to_string(rule), base().signed_xml(signer(), from, to));
  }
  TestResponse with_signature(SignatureTemplate signature) const {
    TestResponse response = base();
    response.signature = std::move(signature);
    return response;
  }

  std::string genuine(bool signs_response) const {
    TestResponse response = base();
    response.signs_response = signs_response;
    return response.signed_xml(signer());
  }
  /// The forger's assertion, without a signature.
  std::string evil_assertion() const {
    TestResponse evil = base();
    evil.assertion_id = "_evil";
    evil.user_id = "u-1";
    evil.email = kEvil;
    return replaced(evil.assertion(), "[A]", "");
  }
  /// The forger's assertion with `content` behind its Issuer.
  std::string evil_assertion_with(const std::string& content) const {
    return replaced(evil_assertion(), "</saml:Issuer>", "</saml:Issuer>" + content);
  }

  void add_valid() {
    add(Kind::valid, "assertion-signed", "", genuine(false));
    add(Kind::valid, "both-signed", "", genuine(true));
    TestResponse response = base();
    response.signs_response = true;
    response.signs_assertion = false;
    add(Kind::valid, "response-signed", "", response.signed_xml(signer()));
  }

  /// XSW3 to XSW8: the signed assertion is moved to where only the verification finds it.
  void add_wrapped_assertions(bool signs_response) {
    const std::string document = genuine(signs_response);
    const std::string of = signs_response ? "-both" : "-assertion";
    const std::string assertion = element_of(document, "saml:Assertion");
    const std::string signature = element_of(assertion, "ds:Signature");
    const std::string bare = without(assertion, signature);
    const auto with = [&](const std::string& content) { return replaced(document, assertion, content); };
    const auto signature_with = [&](const std::string& content) {
      return replaced(signature, "</ds:Signature>", in_object(content) + "</ds:Signature>");
    };
    forged("xsw3" + of, 4, with(evil_assertion() + assertion));
    forged("xsw4" + of, 4,
           with(replaced(evil_assertion(), "</saml:Assertion>", assertion + "</saml:Assertion>")));
    forged("xsw5" + of, 4, with(evil_assertion_with(signature) + bare));
    forged("xsw6" + of, 4, with(evil_assertion_with(signature_with(bare))));
    forged("xsw7" + of, 4, with("<samlp:Extensions>" + evil_assertion() + "</samlp:Extensions>" + assertion));
    forged("xsw8" + of, 4, with(evil_assertion_with(signature_with(assertion))));
  }

  /// XSW1 and XSW2: the signed response is put into another one.
  void add_wrapped_responses(bool signs_assertion) {
    TestResponse response = base();
    response.signs_response = true;
    response.signs_assertion = signs_assertion;
    const std::string of = signs_assertion ? "-both" : "";
    const std::string document = response.signed_xml(signer());
    const std::string signature = element_of(document, "ds:Signature");
    const std::string bare = without(document, signature);
    const std::string assertion = element_of(document, "saml:Assertion");
    const std::string evil =
        all_replaced(replaced(bare, assertion, evil_assertion()), "\"_r1\"", "\"_evil-r\"");
    const std::string with_inner =
        replaced(signature, "</ds:Signature>", in_object(without(bare, "\n")) + "</ds:Signature>");
    forged("xsw1" + of, 4, replaced(evil, "</saml:Issuer>", "</saml:Issuer>" + with_inner));
    forged("xsw2" + of, 4,
           replaced(evil, "</saml:Issuer>", "</saml:Issuer>" + without(bare, "\n") + signature));
    if (signs_assertion) return;
    forged("signature-of-another-response", 7,
           replaced(evil, "</saml:Issuer>", "</saml:Issuer>" + replaced(signature, "\"#_r1\"", "\"#_r2\"")));
  }

  /// A genuinely signed reply without an assertion, with a forged one added around it.
  void add_wrapped_error_replies() {
    TestResponse response = base();
    response.signs_response = true;
    response.signs_assertion = false;
    std::string reply = without(response.unsigned_xml(), response.assertion());
    reply = replaced(reply, "status:Success", "status:Responder");
    const SignatureTemplate signature{.uri = "#_r1"};
    reply = sign(replaced(reply, "[R]", text_of(signature)), signer());
    forged("error-reply-with-assertion", 8, replaced(reply, kEnd, evil_assertion() + kEnd));
    const std::string inner = without(reply, "\n");
    const std::string of_inner = element_of(inner, "ds:Signature");
    std::string outer = replaced(base().unsigned_xml(), "[R]", of_inner);
    outer = replaced(outer, base().assertion(), evil_assertion());
    outer = replaced(outer, "ID=\"_r1\"", "ID=\"_r0\"");
    forged("error-reply-wrapped", 7,
           replaced(outer, "<samlp:Status>",
                    "<samlp:Extensions>" + without(inner, of_inner) + "</samlp:Extensions><samlp:Status>"));
  }

  void add_keys() {
    const std::string of_forger = base().signed_xml(result.forger);
    const auto with_key = [](const std::string& document, const std::string& key) {
      return replaced(document, "</ds:SignatureValue>", "</ds:SignatureValue>" + key);
    };
    forged("forgers-key", 8, of_forger);
    forged("forgers-certificate-in-key-info", 8, with_key(of_forger, key_info_certificate(result.forger)));
    forged("forgers-key-value", 8, with_key(of_forger, key_info_value(result.forger)));
    forged("forgers-key-with-the-providers-certificate", 8,
           with_key(of_forger, key_info_certificate(signer())));
    TestResponse hmac = with_signature({.method = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"});
    const std::string unsigned_xml =
        replaced(replaced(hmac.unsigned_xml(), "[R]", ""), "[A]",
                 text_of({.uri = "#_a1", .method = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"}));
    forged("hmac-with-the-certificate", 7, sign(unsigned_xml, signer(), 0, signer().certificate));
    TestResponse none = base();
    none.signs_assertion = false;
    forged("no-signature", 6, none.signed_xml(signer()));
    const std::string value = element_of(genuine(false), "ds:SignatureValue");
    forged("empty-signature-value", 8,
           replaced(genuine(false), value, "<ds:SignatureValue></ds:SignatureValue>"));
    forged("changed-user", 8, replaced(genuine(false), "ana@acme.example", kEvil));
    forged("changed-status", 8,
           replaced(genuine(true), "InResponseTo=\"_request\"", "InResponseTo=\"_requesu\""));
  }

  void add_references() {
    forged("empty-reference", 7, replaced(genuine(false), "URI=\"#_a1\"", "URI=\"\""));
    forged("reference-to-sibling", 7, replaced(genuine(false), "URI=\"#_a1\"", "URI=\"#_r1\""));
    forged("reference-to-file", 7, replaced(genuine(false), "URI=\"#_a1\"", "URI=\"file:///etc/passwd\""));
    forged("reference-by-xpointer", 7,
           replaced(genuine(false), "URI=\"#_a1\"", "URI=\"#xpointer(id('_a1'))\""));
    forged("no-reference-uri", 7, replaced(genuine(false), " URI=\"#_a1\"", ""));
    const std::string second =
        R"(<ds:Reference URI="#_r1"><ds:Transforms>)"
        R"(<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>)"
        R"(<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>)"
        R"(<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>)"
        R"(<ds:DigestValue></ds:DigestValue></ds:Reference>)";
    forged("two-references", 7, with_signature({.more_references = second}).signed_xml(signer()));
    const std::string object = R"(<ds:Object Id="o1"><saml:Nothing/></ds:Object>)";
    const std::string document = replaced(replaced(base().unsigned_xml(), "[R]", ""), "[A]",
                                          text_of({.uri = "#_a1", .objects = object}));
    forged("object", 7, sign(document, signer()));
    // Genuinely signed, but for something else than the assertion in which the signature is.
    const std::string signed_object = replaced(
        replaced(base().unsigned_xml(), "[R]", ""), "[A]",
        text_of({.uri = "#_o1",
                 .transforms = R"(<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>)",
                 .objects = R"(<ds:Object ID="_o1"><saml:Nothing/></ds:Object>)"}));
    forged("reference-to-object", 7, sign(signed_object, signer()));
    forged("manifest", 7, replaced(sign(document, signer()), "<saml:Nothing/>", "<ds:Manifest/>"));
  }

  void add_transforms() {
    const std::string enveloped =
        R"(<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>)";
    const std::string xpath = enveloped +
                              R"(<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116">)"
                              R"(<ds:XPath>not(ancestor-or-self::*[local-name()='AttributeStatement']))"
                              R"(</ds:XPath></ds:Transform>)";
    const std::string xslt =
        enveloped + R"(<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116">)"
                    R"(<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0">)"
                    R"(<xsl:template match="/"><a/></xsl:template></xsl:stylesheet></ds:Transform>)";
    const auto changed = [&](const std::string& transforms) {
      return replaced(with_signature({.transforms = transforms}).signed_xml(signer()), "ana@acme.example",
                      kEvil);
    };
    forged("xpath-transform", 7, changed(xpath));
    forged("xslt-transform", 7, changed(xslt));
    forged(
        "no-enveloped-transform", 7,
        replaced(genuine(false), enveloped.substr(0, enveloped.size() - 2), "<ds:Transform Algorithm=\"x\""));
    forged("inclusive-canonicalization", 7,
           with_signature({.canonicalization = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"})
               .signed_xml(signer()));
    forged("canonicalization-with-comments", 7,
           with_signature({.canonicalization = "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"})
               .signed_xml(signer()));
    // Canonicalization runs before the signature is verified, and searches each of these at each element.
    std::string prefixes = "p0";
    for (int i = 1; i < 16; ++i) prefixes += " p" + std::to_string(i);
    const auto keeping = [&](const std::string& list) {
      return with_signature(
                 {.transforms = enveloped +
                                R"(<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#">)"
                                R"(<ec:InclusiveNamespaces PrefixList=")" +
                                list +
                                R"(" xmlns:ec="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transform>)"})
          .signed_xml(signer());
    };
    add(Kind::valid, "kept-prefixes", "", keeping(prefixes));
    forged("many-kept-prefixes", 7, keeping(prefixes + " p16"));
    // A relative namespace makes libxml2's canonicalization fail; a reader that takes that for an empty text
    // would compare the digest of nothing.
    forged("void-canonicalization", 8,
           replaced(replaced(genuine(false), "ana@acme.example", kEvil), "<saml:AttributeStatement>",
                    "<saml:AttributeStatement xmlns:x=\"relative/name\" x:y=\"1\">"));
  }

  void add_texts() {
    const std::string document = genuine(false);
    forged("comment-in-name-id", 2, all_replaced(document, "u-4711<", "u-4711<!---->.evil.example<"));
    forged("instruction-in-name-id", 2, all_replaced(document, "u-4711<", "u-47<?x?>11<"));
    forged("document-type", 2, "<!DOCTYPE samlp:Response>" + document);
    forged(
        "external-entity", 2,
        "<!DOCTYPE r [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>" + replaced(document, "Ana Lima", "&e;"));
    forged("entity-bomb", 2,
           "<!DOCTYPE r [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>" +
               replaced(document, "Ana Lima", "&b;"));
    forged("undeclared-entity", 1, replaced(document, "Ana Lima", "&e;"));
    std::string nested;
    for (int i = 0; i < 70; ++i) nested = "<a>" + nested + "</a>";
    forged("too-deep", 1,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions>" + nested + "</samlp:Extensions><samlp:Status>"));
    std::string many;
    for (int i = 0; i < 5'000; ++i) many += "<a/>";
    forged("too-many-elements", 1,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions>" + many + "</samlp:Extensions><samlp:Status>"));
    std::string spaces;
    for (int i = 0; i < 101; ++i) spaces += " xmlns:n" + std::to_string(i) + "=\"urn:n\"";
    forged("too-many-namespaces", 1,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions><a" + spaces + "/></samlp:Extensions><samlp:Status>"));
    forged("too-large", 1,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions>" + std::string(200'000, 'a') + "</samlp:Extensions><samlp:Status>"));
    forged("not-utf-8", 1, replaced(document, "Ana Lima", "Ana \xFF"));
    forged("two-roots", 1, document + document);
  }

  void add_ids_and_places() {
    const std::string document = genuine(false);
    forged("duplicate-id", 5,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions><a ID=\"_a1\"/></samlp:Extensions><samlp:Status>"));
    forged("duplicate-id-in-other-case", 5,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions><a Id=\"_a1\"/></samlp:Extensions><samlp:Status>"));
    forged(
        "id-in-a-namespace", 5,
        replaced(document, "<samlp:Status>",
                 "<samlp:Extensions><a xmlns:e=\"urn:e\" e:ID=\"_a1\"/></samlp:Extensions><samlp:Status>"));
    TestResponse odd = base();
    odd.assertion_id = "_a')|id('_r1";
    forged("id-that-is-an-expression", 5,
           replaced(document, "ID=\"_a1\"", "ID=\"" + odd.assertion_id + "\""));
    const std::string signature = element_of(document, "ds:Signature");
    forged("signature-behind-subject", 6,
           replaced(without(document, signature), "</saml:Subject>", "</saml:Subject>" + signature));
    forged("signature-in-extensions", 6,
           replaced(document, "<samlp:Status>",
                    "<samlp:Extensions>" + signature + "</samlp:Extensions><samlp:Status>"));
    forged("two-signatures-in-one-element", 6, replaced(document, signature, signature + signature));
    forged("encrypted-assertion", 4,
           replaced(document, element_of(document, "saml:Assertion"),
                    "<saml:EncryptedAssertion><a/></saml:EncryptedAssertion>"));
    forged("no-assertion", 4, replaced(document, element_of(document, "saml:Assertion"), ""));
    forged("assertion-only-in-extensions", 4,
           replaced(replaced(document, "<saml:Assertion ", "<samlp:Extensions><saml:Assertion "),
                    "</saml:Assertion>", "</saml:Assertion></samlp:Extensions>"));
    forged("root-is-the-assertion", 3, element_of(document, "saml:Assertion"));
    forged("saml-1.1", 3, replaced(document, "Version=\"2.0\"", "Version=\"1.1\""));
  }

  void add_weak() {
    const std::string xmldsig = "http://www.w3.org/2000/09/xmldsig#";
    add(Kind::weak, "sha1", "SAML-7",
        with_signature({.method = xmldsig + "rsa-sha1", .digest = xmldsig + "sha1"}).signed_xml(signer()));
    add(Kind::weak, "md5", "SAML-7",
        with_signature({.method = "http://www.w3.org/2001/04/xmldsig-more#rsa-md5"}).signed_xml(signer()));
    add(Kind::weak, "sha1-digest", "SAML-7",
        with_signature({.digest = xmldsig + "sha1"}).signed_xml(signer()));
  }

  /// Genuinely signed, and refused for what they say.
  void add_wrong() {
    wrong("status", 12, "status:Success", "status:Responder");
    wrong("issuer-of-assertion", 13,
          "IssueInstant=\"" + base().time(0) + "\"><saml:Issuer>" + kProvider + "</saml:Issuer>[A]",
          "IssueInstant=\"" + base().time(0) + "\"><saml:Issuer>https://other.example.com</saml:Issuer>[A]");
    wrong("issuer-of-response", 13, std::string(kProvider) + "</saml:Issuer>[R]",
          "https://other.example.com</saml:Issuer>[R]");
    wrong("destination", 14, std::string("Destination=\"") + kPostBack,
          "Destination=\"https://other.example.com/callback");
    const std::string destination = std::string(" Destination=\"") + kPostBack + "\"";
    wrong("empty-destination", 14, destination, " Destination=\"\"");
    TestResponse both = base();
    both.signs_response = true;
    add(Kind::wrong, "no-destination", "SAML-14", both.signed_xml(signer(), destination, ""));
    const std::string assertion = base().assertion();
    const std::string data = "<saml:SubjectConfirmationData ";
    const std::size_t at = assertion.find(data);
    wrong("no-confirmation-data", 15, assertion.substr(at, assertion.find("/>", at) + 2 - at), "");
    wrong("no-confirmation", 15, element_of(assertion, "saml:SubjectConfirmation"), "");
    wrong("no-conditions", 17, element_of(assertion, "saml:Conditions"), "");
    wrong("no-authn-statement", 18, element_of(assertion, "saml:AuthnStatement"), "");
    wrong("holder-of-key", 15, "cm:bearer", "cm:holder-of-key");
    wrong("recipient", 15, std::string("Recipient=\"") + kPostBack,
          "Recipient=\"https://other.example.com/callback");
    wrong("confirmation-ended", 15, "NotOnOrAfter=\"" + base().time(30) + "\" Recipient",
          "NotOnOrAfter=\"" + base().time(-30) + "\" Recipient");
    wrong("confirmation-without-end", 15, " NotOnOrAfter=\"" + base().time(30) + "\" Recipient",
          " Recipient");
    wrong("confirmation-not-before", 15, data,
          "<saml:SubjectConfirmationData NotBefore=\"" + base().time(-1) + "\" ");
    wrong("confirmation-of-another-request", 15, "<saml:SubjectConfirmationData InResponseTo=\"_request\"",
          "<saml:SubjectConfirmationData InResponseTo=\"_other\"");
    wrong("sender-vouches", 15, "cm:bearer", "cm:sender-vouches");
    wrong("response-to-another-request", 16, "InResponseTo=\"_request\"><saml:Issuer>",
          "InResponseTo=\"_other\"><saml:Issuer>");
    wrong("unsolicited", 16, " InResponseTo=\"_request\"><saml:Issuer>", "><saml:Issuer>");
    wrong("audience", 17, std::string("<saml:Audience>") + kEntityId,
          "<saml:Audience>urn:giftsync:other.example.com:acme");
    wrong("no-audience", 17,
          std::string("<saml:AudienceRestriction><saml:Audience>") + kEntityId +
              "</saml:Audience></saml:AudienceRestriction>",
          "");
    wrong("conditions-ended", 17, "NotOnOrAfter=\"" + base().time(30) + "\"><saml:AudienceRestriction>",
          "NotOnOrAfter=\"" + base().time(-30) + "\"><saml:AudienceRestriction>");
    wrong("conditions-not-begun", 17, "NotBefore=\"" + base().time(-1), "NotBefore=\"" + base().time(30));
    wrong("unknown-condition", 17, "<saml:AudienceRestriction>",
          "<saml:Condition xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
          "xsi:type=\"other\"/><saml:AudienceRestriction>");
    wrong("session-ended", 18, base().time(480), base().time(-30));
    wrong("authenticated-later-than-now", 18, "AuthnInstant=\"" + base().time(0),
          "AuthnInstant=\"" + base().time(30));
  }

  void add_wrong_users() {
    const std::string id = std::string("<saml:Attribute Name=\"") + kClaims + "nameidentifier\">";
    wrong("empty-name-id", 20, "unspecified\">u-4711", "unspecified\"> ");
    wrong("foreign-name-qualifier", 20, "<saml:NameID ", "<saml:NameID SPNameQualifier=\"urn:other\" ");
    wrong("two-user-ids", 20, id, id + "<saml:AttributeValue>u-1</saml:AttributeValue>");
    wrong("attribute-twice", 20, id,
          id + "<saml:AttributeValue>u-1</saml:AttributeValue></saml:Attribute>" + id);
    wrong("user-id-with-elements", 20, id + "<saml:AttributeValue>",
          id + "<saml:AttributeValue><saml:b>u-1</saml:b>");
    wrong("foreign-domain", 21, "ana@acme.example", "ana@other.example");
    wrong("no-address", 21, "claims/emailaddress", "claims/upn");
  }
};

}  // namespace

ForgedDocuments make_forged_documents() {
  Generator generator;
  generator.make();
  return std::move(generator.result);
}

}  // namespace giftsync::saml
