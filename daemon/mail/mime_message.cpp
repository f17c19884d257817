#include "daemon/mail/mime_message.h"

#include <gmime/gmime.h>

#include <memory>
#include <stdexcept>
#include <string_view>

namespace giftsync::mail {
namespace {

/// Releases an object with a function of its library.
template <auto kRelease>
struct Release {
  template <class T>
  void operator()(T* object) const {
    kRelease(object);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Release<g_object_unref>>;
using Text = std::unique_ptr<char, Release<g_free>>;

void start_gmime() {
  static const bool started = (g_mime_init(), true);  // once for all threads
  static_cast<void>(started);
}

/// A boundary with "=_", which cannot occur in a quoted-printable or base64 body.
std::string boundary_of(const std::string& message_id) {
  const Text digest(g_compute_checksum_for_data(
      G_CHECKSUM_SHA256, reinterpret_cast<const guchar*>(message_id.data()), message_id.size()));
  return "=_" + std::string(digest.get(), 40);
}

std::string with_crlf(std::string_view text) {
  std::string lines;
  lines.reserve(text.size() + text.size() / 32);
  for (const char c : text) {
    if (c == '\n') lines += '\r';
    lines += c;
  }
  return lines;
}

/// base64 where it is shorter: when more than about a sixth of the bytes are not ASCII.
bool prefers_base64(std::string_view text) {
  std::size_t non_ascii = 0;
  for (const char c : text) non_ascii += static_cast<unsigned char>(c) >= 0x80;
  return non_ascii * 6 > text.size();
}

Owned<GMimePart> part_of(const char* subtype, const std::string& text) {
  const bool base64 = prefers_base64(text);
  // In base64 the line ends are content (RFC 2045, 6.8); in quoted-printable they are the encoded text's own.
  const std::string content = base64 ? with_crlf(text) : text;
  const Owned<GMimeStream> stream(g_mime_stream_mem_new_with_buffer(content.data(), content.size()));
  const Owned<GMimeDataWrapper> wrapper(
      g_mime_data_wrapper_new_with_stream(stream.get(), GMIME_CONTENT_ENCODING_DEFAULT));
  Owned<GMimePart> part(g_mime_part_new_with_type("text", subtype));
  g_mime_object_set_content_type_parameter(GMIME_OBJECT(part.get()), "charset", "utf-8");
  g_mime_part_set_content(part.get(), wrapper.get());
  g_mime_part_set_content_encoding(
      part.get(), base64 ? GMIME_CONTENT_ENCODING_BASE64 : GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE);
  return part;
}

void add_mailbox(GMimeMessage* message, GMimeAddressType type, const Mailbox& mailbox) {
  const std::string name = without_controls(mailbox.name);
  g_mime_message_add_mailbox(message, type, name.empty() ? nullptr : name.c_str(),
                             without_controls(mailbox.address).c_str());
  InternetAddressList* list = g_mime_message_get_addresses(message, type);
  internet_address_set_charset(internet_address_list_get_address(list, 0), "utf-8");
}

/// On one line as it is: GMime encodes a long word, and then no mail program finds the URL.
void add_line(GMimeMessage* message, const char* name, const std::string& value) {
  GMimeHeaderList* headers = g_mime_object_get_header_list(GMIME_OBJECT(message));
  g_mime_header_list_append(headers, name, "", nullptr);
  g_mime_header_set_raw_value(g_mime_header_list_get_header(headers, name), (" " + value + "\n").c_str());
}

void set_headers(GMimeMessage* message, const MimeMessage& mail) {
  const std::unique_ptr<GDateTime, Release<g_date_time_unref>> date(
      g_date_time_new_from_unix_utc(mail.date.value / kSecondMillis));
  if (!date) throw std::out_of_range("a mail's date is outside of the years 1 to 9999");
  add_mailbox(message, GMIME_ADDRESS_TYPE_FROM, mail.from);
  add_mailbox(message, GMIME_ADDRESS_TYPE_REPLY_TO, mail.reply_to);
  add_mailbox(message, GMIME_ADDRESS_TYPE_TO, mail.to);
  g_mime_message_set_subject(message, without_controls(mail.subject).c_str(), "utf-8");
  g_mime_message_set_date(message, date.get());
  // GMime's own function writes "Message-Id".
  const std::string message_id = "<" + without_controls(mail.message_id) + ">";
  g_mime_object_set_header(GMIME_OBJECT(message), "Message-ID", message_id.c_str(), nullptr);
  // Sent by a program: asks for no automatic replies to the service's mailbox (RFC 3834).
  g_mime_object_set_header(GMIME_OBJECT(message), "Auto-Submitted", "auto-generated", nullptr);
  for (const auto& [name, value] : mail.extra_headers)
    g_mime_object_set_header(GMIME_OBJECT(message), name.c_str(), without_controls(value).c_str(), nullptr);
  if (!mail.unsubscribe_url.empty()) {
    add_line(message, "List-Unsubscribe", "<" + without_controls(mail.unsubscribe_url) + ">");
    add_line(message, "List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
  }
  g_mime_object_set_header(GMIME_OBJECT(message), "MIME-Version", "1.0", nullptr);
}

/// The length of the character at the beginning of `text` if a header field must not contain it, else 0.
std::size_t control_length(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x20 || byte == 0x7f) return 1;
  const auto next = static_cast<unsigned char>(text.size() > 1 ? text[1] : 'x');
  if (byte == 0xc2 && next >= 0x80 && next <= 0x9f) return 2;              // U+0080 to U+009F
  if (text.starts_with("\u2028") || text.starts_with("\u2029")) return 3;  // line and paragraph separator
  return 0;
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = control_length(text);
    clean += length == 0 ? text[0] : ' ';
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string mime_bytes(const MimeMessage& mail) {
  start_gmime();
  const Owned<GMimeMultipart> alternative(g_mime_multipart_new_with_subtype("alternative"));
  g_mime_multipart_set_boundary(alternative.get(), boundary_of(mail.message_id).c_str());
  g_mime_multipart_add(alternative.get(), GMIME_OBJECT(part_of("plain", mail.text).get()));
  g_mime_multipart_add(alternative.get(), GMIME_OBJECT(part_of("html", mail.html).get()));

  const Owned<GMimeMessage> message(g_mime_message_new(FALSE));
  set_headers(message.get(), mail);
  g_mime_message_set_mime_part(message.get(), GMIME_OBJECT(alternative.get()));

  const std::unique_ptr<GMimeFormatOptions, Release<g_mime_format_options_free>> options(
      g_mime_format_options_new());
  g_mime_format_options_set_newline_format(options.get(), GMIME_NEWLINE_FORMAT_DOS);
  const Text bytes(g_mime_object_to_string(GMIME_OBJECT(message.get()), options.get()));
  return bytes.get();
}

}  // namespace giftsync::mail
