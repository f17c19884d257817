// daemon/config: checks of single text values. Each check returns what is wrong as a clause that follows the
// text ("whose port is missing"), or nullopt when it is valid; some normalize a valid text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync::config {

using TextFault = std::optional<std::string>;
using TextCheck = TextFault (*)(std::string&);

/// "https://gifts.example.com/g": http or https, a host, no query, fragment or user; slashes at its end are
/// cut.
TextFault check_web_url(std::string& text);

/// The same with https only.
TextFault check_https_url(std::string& text);
/// The same, unchanged: a slash at the end of an issuer is part of its name.
TextFault check_issuer_url(std::string& text);
/// https, with or without a query.
TextFault check_sign_in_url(std::string& text);

/// "https://acme.my.salesforce.com": https, or http on this host; a host and no path; slashes at its end are
/// cut.
TextFault check_org_url(std::string& text);
/// The same, or "production" or "sandbox".
TextFault check_org_login(std::string& text);
/// A version of the Salesforce API: "62.0", at least 60.0.
TextFault check_api_version(std::string& text);

/// A connection's name, which is a part of a URL and a URN: lower-case letters, digits and "-", at most 64,
/// with a letter or digit at either end.
TextFault check_connection_name(std::string& text);

/// "RS256" or "ES256".
TextFault check_signature_algorithm(std::string& text);
/// A scope of OAuth (RFC 6749): up to 100 visible ASCII characters without quotes and backslashes.
TextFault check_scope(std::string& text);
/// The id of a directory: 32 hex digits in groups of 8, 4, 4, 4 and 12; brought into lower case.
TextFault check_tenant_id(std::string& text);

/// An account's plan.
TextFault check_plan(std::string& text);

/// A domain of e-mail addresses; normalized to lower case and ASCII.
TextFault check_domain(std::string& text);
/// The same, or "*." and a domain.
TextFault check_domain_pattern(std::string& text);

/// A web URL whose last segment is "{gift_id}", which appears once.
TextFault check_item_url(std::string& text);

/// The URL of a record: https, with "{id}" and perhaps "{object}" behind its host, each once, and no other
/// brace.
TextFault check_record_url(std::string& text);

/// A currency by its code in ISO 4217: three capital letters. Whether it exists is not known here.
TextFault check_currency(std::string& text);

/// "smtp://relay.example.com:587" or smtps://, nothing after the port; a slash at its end is cut.
TextFault check_smtp_url(std::string& text);

/// "127.0.0.1:8480" or "[::1]:8480": a numeric address and a port from 0 (any free one) to 65535.
TextFault check_listen_address(std::string& text);

/// "10.1.2.3", "10.0.0.0/8", "fd00::/8": a numeric address or a CIDR block.
TextFault check_address_block(std::string& text);

/// A mailbox, by the rules for recipients (HTTP-22); white space around it is removed.
TextFault check_email_address(std::string& text);

/// A two-letter region that the phone number library knows, in capital letters.
TextFault check_region(std::string& text);

/// A package namespace: a letter, then up to 14 letters, digits and underscores; no two underscores in a row
/// and none at the end, because "__" separates the namespace from the name.
TextFault check_namespace(std::string& text);

/// A column of a CRM object by its API name: a letter, then up to 79 letters, digits and underscores.
TextFault check_field_name(std::string& text);

/// A table of the CRM's database, or SCHEMA.TABLE: each as a field's name, at most 63.
TextFault check_table_name(std::string& text);

/// A source's name, which is a part of a path: lower-case letters, digits, "-" and "_", at most 64, not one
/// that giftsync itself reports under.
TextFault check_source_name(std::string& text);

/// A status that a source may report (STATUS-1, SRC-5).
TextFault check_status_word(std::string& text);

/// A JSON pointer (RFC 6901) to a part of a document: begins with "/".
TextFault check_json_pointer(std::string& text);
/// The same, or "link".
TextFault check_next_page(std::string& text);

/// A header's name (RFC 9110 token) that giftsync does not set itself.
TextFault check_header_name(std::string& text);

/// http:// or https://, a host, no user and no fragment; a query is fine.
TextFault check_feed_url(std::string& text);

/// "arn:aws:sns:eu-west-1:123456789012:gift-mails".
TextFault check_topic_arn(std::string& text);
inline constexpr const char* kTopicArnPattern =
    "^arn:aws(-cn|-us-gov)?:sns:[a-z]{2}(-[a-z]+)+-[0-9]{1,2}:[0-9]{12}:[A-Za-z0-9_-]{1,256}$";

/// "#0a6650": red, green and blue in hex; brought into lower case.
TextFault check_colour(std::string& text);

/// A language with a file in web/messages.
TextFault check_language(std::string& text);

/// Printable text of at most 255 code points.
TextFault check_plain_text(std::string& text);

/// True when each character is a letter from a to z, a digit or one of `others`.
bool has_only_lower_case(std::string_view text, std::string_view others);

/// True when a PostgreSQL connection text carries a password itself ("password=..." or "//user:...@"), or
/// may, because it is written wrong.
bool has_password(std::string_view connection);

/// The host of a URL in lower case, an IPv6 address without brackets; empty for what is not a URL.
std::string host_of_url(const std::string& url);
/// Its scheme, host and port, as browsers write them in `Origin`: without the scheme's own port; empty for
/// what is not a URL.
std::string origin_of_url(const std::string& url);
/// A loopback address, localhost or a name below it; never a name that only begins like one.
bool is_loopback_host(std::string_view host);
/// Not on this host, and neither a private address nor a name that only a network of one's own resolves.
bool is_public_host(std::string_view host);

/// A URL under which a browser sends a session's cookie safely: https, or a loopback host.
bool is_secure_admin_url(const std::string& url);

/// True when a PostgreSQL connection text is a URI ("postgresql://...").
bool is_connection_uri(std::string_view connection);

}  // namespace giftsync::config
