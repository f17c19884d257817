#include <algorithm>

#include "daemon/config/key_texts.h"
#include "daemon/config/settings_documents.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::size_t kWidth = 78;

constexpr const char* kHead = R"(.Dd November 23, 2026
.Dt GIFTSYNCD.YAML 5
.Os
.Sh NAME
.Nm giftsyncd.yaml
.Nd settings of giftsyncd
.Sh DESCRIPTION
.Xr giftsyncd 8
and
.Xr giftsyncctl 1
read one YAML file of sections with keys.
Unknown and repeated keys, wrong types and wrong values are faults;
.Ql giftsyncd --check
reports all of them by file and line.
Relative paths begin at the file's folder.
.Pp
This is a complete file:
.Bd -literal -offset indent
server: { listen: "127.0.0.1:8480",
          base_url: "https://gifts.example.com",
          admin_url: "https://gifts.example.com" }
store:  { backend: sqlite, connection: "/var/lib/giftsync/giftsync.db" }
crm:    { type: sql }
email:  { transport: file, directory: "/var/lib/giftsync/outbox",
          from: "gifts@example.com" }
.Ed
.Ss Secrets
A secret is a reference:
.Bl -tag -width Ds
.It Li file:\& Ns Ar path
The text of a file, which the service's user must be able to read.
.It Li env:\& Ns Ar name
An environment variable.
.It Li credential:\& Ns Ar name
A systemd credential
.Pq Ql LoadCredential= .
Each unit needs the line:
.Pa giftsyncd.service
and, for the weekly backfill,
.Pa giftsync-backfill.service .
.Xr giftsyncctl 1
run manually needs the variable
.Ev CREDENTIALS_DIRECTORY
to name a folder with a file
.Ar name :
.Pa /run/credentials/giftsyncd.service
while the service runs.
.El
.Pp
Any other text is the secret itself; it works, with a warning.
)";

constexpr const char* kFoot = R"(.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/giftsync/giftsyncd.yaml
The settings of the installed service.
.It Pa /usr/share/giftsync/giftsyncd.yaml
Every key with its meaning, its values and its default.
.It Pa /usr/share/giftsync/giftsyncd.schema.json
The same as a JSON Schema, for editors.
.El
.Sh SEE ALSO
.Xr giftsyncctl 1 ,
.Xr giftsyncd 8
)";

/// Text lines of mdoc: each sentence begins a line, and none begins with the mark of a macro.
std::string body(std::string text) {
  std::string lines;
  while (!text.empty()) {
    std::size_t end = text.find(". ");
    while (end != std::string::npos && (text[end + 2] < 'A' || text[end + 2] > 'Z'))
      end = text.find(". ", end + 1);
    const std::string sentence = text.substr(0, end == std::string::npos ? end : end + 1);
    for (const std::string& line : wrapped(sentence, kWidth)) {
      lines += line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
      lines += '\n';
    }
    text.erase(0, std::min(sentence.size() + 1, text.size()));
  }
  return lines;
}

std::string section_body(const SettingsSection& section) {
  const bool is_list = find_settings_list(section.path) != nullptr;
  return body(section.description + (is_list ? " A list; each element has these keys." : ""));
}

/// `name`: the path below the top section.
std::string key_item(const SettingsKey& key, const std::string& name) {
  std::string item = ".It Cm " + name;
  if (key.details.is_required) {
    item += " Pq required";
  } else if (!default_of(key).is_null()) {
    item += " Pq Li " + default_text(key);
  }
  const std::string condition = condition_text(key);
  const std::string facts = condition.empty() || condition == "Required." ? "" : " " + condition;
  return item + "\n" + body(key.description + " Allowed: " + allowed_by(key.rule) + "." + facts);
}

/// The keys and sections below one top section.
std::string top_section(const SettingsSection& top) {
  const std::string prefix = top.path + ".";
  std::string text = ".Ss " + top.path + "\n" + section_body(top) + ".Bl -tag -width Ds\n";
  std::string previous = prefix;
  for (const SettingsKey& key : settings_keys()) {
    if (!key.path.starts_with(prefix)) continue;
    for (const SettingsSection& section : settings_sections()) {
      const std::string inner = section.path + ".";
      if (section.path.starts_with(prefix) && key.path.starts_with(inner) && !previous.starts_with(inner))
        text += ".It Cm " + section.path.substr(prefix.size()) + "\n" + section_body(section);
    }
    text += key_item(key, key.path.substr(prefix.size()));
    previous = key.path;
  }
  return text + ".El\n";
}

}  // namespace

std::string settings_manual() {
  std::string text = kHead;
  for (const SettingsSection& section : settings_sections()) {
    if (!section.path.empty() && section_of(section.path).empty()) text += top_section(section);
  }
  return text + kFoot;
}

}  // namespace giftsync::daemon::config
