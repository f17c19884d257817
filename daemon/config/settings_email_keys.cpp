// The keys of `email`.
#include "daemon/config/settings_table.h"

namespace giftsync::daemon::config {

KeyTable email_keys() {
  using E = EmailSettings;
  const OnlyWith smtp{"email.transport", "smtp"};
  return {
      {"email.transport", "How mails are sent: smtp through a mail relay, file as one .eml file each.",
       choice({"smtp", "file"}, setting(&Settings::email, &E::transport))},
      {"email.directory",
       "The folder for the .eml files; it is created when missing.",
       FilePath{setting(&Settings::email, &E::directory), "a folder's path such as outbox", false},
       {.example = "\"/var/lib/giftsync/outbox\"",
        .is_required = true,
        .only_with = {"email.transport", "file"}}},
      {"email.from",
       "The address that gift mails come from.",
       Text{setting(&Settings::email, &E::from),
            {"an e-mail address such as gifts@example.com", check_email_address,
             R"({"maxLength": 254, "pattern": "^\\s*[^@\\s]+@[^@\\s]+\\s*$"})"}},
       {.example = "\"gifts@example.com\"", .is_required = true}},
      {"email.delivered_when",
       "A gift counts as delivered when the relay accepted its mail (accepted) or when a report says so "
       "(reported).",
       choice({"reported", "accepted"}, setting(&Settings::email, &E::delivered_when_accepted))},
      {"email.uncertain",
       "A mail whose acceptance is unknown is sent again after 15 minutes (retry) or held for the admin "
       "(hold).",
       choice({"retry", "hold"}, setting(&Settings::email, &E::hold_uncertain))},
      {"email.undelivered_notice",
       "Whether senders are mailed which of their gifts became undelivered: never, each time (a sender at "
       "most every ten minutes), or daily (at most once in 24 hours).",
       choice({"never", "each", "daily"}, setting(&Settings::email, &E::undelivered_notice))},
      {"email.smtp.url",
       "The mail relay; smtp:// begins unencrypted and upgrades to TLS, smtps:// begins with TLS.",
       Text{setting(&Settings::email, &E::smtp_url),
            {"smtp://HOST:PORT or smtps://HOST:PORT such as smtp://relay.example.com:587", check_smtp_url,
             R"({"pattern": "^[Ss][Mm][Tt][Pp][Ss]?://[^/?#@\\s]+/?$"})"}},
       {.example = "\"smtp://relay.example.com:587\"", .is_required = true, .only_with = smtp}},
      {"email.smtp.username",
       "The user name at the relay; without it there is no login.",
       Text{setting(&Settings::email, &E::smtp_username), plain_text("a user name")},
       {.example = "\"gifts\"", .only_with = smtp, .only_beside = "email.smtp.password"}},
      {"email.smtp.password",
       "The password at the relay, as a reference to a secret.",
       SecretReference{setting(&Settings::email, &E::smtp_password)},
       {.example = "\"credential:smtp-password\"", .only_with = smtp, .only_beside = "email.smtp.username"}},
      {"email.smtp.require_tls",
       "Whether a relay that offers no TLS is refused.",
       BooleanValue{setting(&Settings::email, &E::smtp_require_tls)},
       {.only_with = smtp}},
      {"email.smtp.ca_file",
       "The certificate authorities (PEM) that verify the relay, in place of the system's.",
       FilePath{setting(&Settings::email, &E::smtp_ca_file), kReadableFile, true},
       {.example = "\"/etc/ssl/certs/ca-certificates.crt\"", .only_with = smtp}},
      {"email.smtp.client_name",
       "The name that giftsync gives the relay in EHLO; without it the host's name if it has a "
       "domain, else the domain of email.from.",
       Text{setting(&Settings::email, &E::smtp_client_name),
            {"a full host name such as gifts.example.com", check_domain, R"({"pattern": "^[^\\s@]+$"})"}},
       {.example = "\"gifts.example.com\"", .only_with = smtp}},
      {"email.smtp.connections",
       "Connections to the relay at once; a relay far away needs more for the same speed.",
       WholeNumber{setting(&Settings::email, &E::smtp_connections), 1, 64, "connections"},
       {.only_with = smtp}}};
}

}  // namespace giftsync::daemon::config
