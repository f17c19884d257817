// One value by the rule of its key.
#include "daemon/config/parsed_values.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/config/parsed_config.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::config {
namespace {

constexpr std::string_view kCredential = "credential:";

/// Where systemd provides the credential.
tl::expected<std::filesystem::path, SecretFault> credential_path(const std::string& name) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr)
    return tl::unexpected(
        SecretFault{"the credential " + in_quotes(name) + " without $CREDENTIALS_DIRECTORY",
                    "add LoadCredential=" + name +
                        ":PATH to the systemd unit; for a command on the host of the running service set "
                        "CREDENTIALS_DIRECTORY=/run/credentials/giftsyncd.service; or name a file"});
  if (name.empty() || name.find('/') != std::string::npos)
    return tl::unexpected(SecretFault{"the credential " + in_quotes(name),
                                      "write the name that LoadCredential= gives it, without a slash"});
  return std::filesystem::path(folder) / name;
}

/// A value of the file with what is needed to parse it.
struct Value {
  const SettingsKey& key;
  const YamlNode& node;
  const std::filesystem::path& folder;
  ParsedConfig& parsed;
};

/// The kind of a value, without its content.
std::string kind_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::nothing:
      return "nothing";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "keys and values";
    case YamlNode::Kind::text:
      break;
  }
  return node.text.empty() ? "an empty text" : "a text";
}

std::string shown(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::text || node.text.empty()) return kind_of(node);
  return node.is_quoted ? "the text " + in_quotes(node.text) : in_quotes(node.text);
}

bool is_plain_text(const YamlNode& node) {
  return node.kind == YamlNode::Kind::text && !node.is_quoted;
}

std::nullopt_t refuse(const Value& value, int line, std::string found, std::string next_step = {}) {
  const SettingsKey& key = value.key;
  value.parsed.faulty.insert(key.path);
  if (next_step.empty())
    next_step = key.details.is_required ? "correct it" : "correct it, or remove the key for its default";
  value.parsed.faults.push_back(
      {line, key.path, std::move(found), allowed_by(key.rule), std::move(next_step)});
  return std::nullopt;
}

/// A part of the value that must be a text and not empty.
std::optional<std::string> text_of(const Value& value, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::text && !node.text.empty()) return node.text;
  return refuse(value, node.line, kind_of(node));
}

/// The text as its form normalizes it.
std::optional<std::string> normalized(const Value& value, const TextForm& form, std::string text, int line) {
  const std::string as_written = text;
  const TextFault fault = form.check == nullptr ? std::nullopt : form.check(text);
  if (fault) return refuse(value, line, in_quotes(as_written) + ", " + *fault);
  return text;
}

/// One line of text. A second line would be a further header of a request; a key in PEM form has several.
bool is_usable_secret(std::string_view text, bool may_be_pem) {
  if (may_be_pem && text.starts_with("-----BEGIN ")) return true;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// `location`: the secret's position in the key's value, such as "[2]"; empty: the whole value.
std::optional<Secret> secret_of(const Value& value, const YamlNode& node, const std::string& location = {},
                                bool may_be_pem = false) {
  const std::optional<std::string> text = text_of(value, node);
  if (!text) return std::nullopt;
  tl::expected<FetchedSecret, SecretFault> fetched = fetch_secret(*text, value.folder);
  if (fetched && !is_usable_secret(fetched->secret.reveal(), may_be_pem))
    fetched = tl::unexpected(SecretFault{"a secret with a line end or another control character inside",
                                         "leave only the secret there, on one line"});
  if (!fetched) {
    refuse(value, node.line, fetched.error().found, fetched.error().next_step);
    value.parsed.faults.back().key += location;
    return std::nullopt;
  }
  if (!fetched->warning.empty())
    value.parsed.warnings.push_back({node.line, value.key.path + location, fetched->warning});
  std::string& references = value.parsed.references[value.key.path];
  references += (references.empty() ? "" : ", ") + secret_provenance(*text);
  return fetched->secret;
}

/// The entries of a map with names that the admin chooses; each name once, at most `maximum`.
std::vector<const YamlEntry*> entries_of(const Value& value, std::size_t maximum) {
  std::vector<const YamlEntry*> entries;
  if (value.node.kind != YamlNode::Kind::map) {
    const bool may_be_secret = std::holds_alternative<SecretMap>(value.key.rule);
    refuse(value, value.node.line, may_be_secret ? kind_of(value.node) : shown(value.node),
           "write one \"name: value\" a line, indented below it");
    return entries;
  }
  if (value.node.entries.size() > maximum) {
    refuse(value, value.node.line, fmt::format("{} of them", value.node.entries.size()));
    return entries;
  }
  std::map<std::string, int> first_lines;
  for (const YamlEntry& entry : value.node.entries) {
    const auto [first, is_new] = first_lines.emplace(entry.key, entry.line);
    if (is_new) {
      entries.push_back(&entry);
    } else {
      refuse(value, entry.line,
             fmt::format("{} again, first on line {}", in_quotes(entry.key), first->second),
             "remove one of the two");
    }
  }
  return entries;
}

std::optional<std::int64_t> parsed_by(const WholeNumber& rule, const Value& value) {
  const std::string& text = value.node.text;
  const auto number = parse_number<std::int64_t>(text);
  // YAML parsers disagree on "010": 8 or 10.
  const bool is_ambiguous = text.size() > 1 && text.front() == '0';
  if (!is_plain_text(value.node) || is_ambiguous || !number || *number < rule.minimum ||
      *number > rule.maximum)
    return refuse(value, value.node.line, shown(value.node));
  return number;
}

std::optional<bool> parsed_by(const BooleanValue&, const Value& value) {
  const std::string& text = value.node.text;
  if (is_plain_text(value.node) && (text == "true" || text == "false")) return text == "true";
  return refuse(value, value.node.line, shown(value.node));
}

std::optional<std::size_t> parsed_by(const Choice& rule, const Value& value) {
  const auto chosen = std::find(rule.values.begin(), rule.values.end(), value.node.text);
  if (value.node.kind != YamlNode::Kind::text || chosen == rule.values.end())
    return refuse(value, value.node.line, shown(value.node));
  return chosen - rule.values.begin();
}

std::optional<std::string> parsed_by(const Text& rule, const Value& value) {
  if (rule.form.may_be_empty && value.node.kind == YamlNode::Kind::text && value.node.text.empty())
    return std::string();
  std::optional<std::string> text = text_of(value, value.node);
  return text ? normalized(value, rule.form, *text, value.node.line) : text;
}

std::optional<std::vector<std::string>> parsed_by(const TextList& rule, const Value& value) {
  const YamlNode& node = value.node;
  if (node.kind != YamlNode::Kind::list)
    return refuse(value, node.line, shown(node), "write it in brackets, separated by commas");
  if (node.items.size() < rule.minimum || node.items.size() > rule.maximum)
    return refuse(value, node.line, fmt::format("{} of them", node.items.size()));
  std::vector<std::string> texts;
  for (const YamlNode& item : node.items) {
    std::optional<std::string> text = text_of(value, item);
    if (text) text = normalized(value, rule.form, *text, item.line);
    if (!text) continue;
    if (std::find(texts.begin(), texts.end(), *text) != texts.end()) {
      refuse(value, item.line, in_quotes(*text) + " twice", "remove one of the two");
    } else {
      texts.push_back(std::move(*text));
    }
  }
  return texts;
}

std::optional<std::string> parsed_by(const FilePath& rule, const Value& value) {
  const std::optional<std::string> text = text_of(value, value.node);
  if (!text) return std::nullopt;
  const bool is_credential = rule.may_be_credential && text->starts_with(kCredential);
  const auto credential =
      is_credential ? credential_path(text->substr(kCredential.size())) : value.folder / *text;
  if (!credential)
    return refuse(value, value.node.line, credential.error().found, credential.error().next_step);
  const std::filesystem::path path = credential->lexically_normal();
  if (rule.must_be_readable && ::access(path.c_str(), R_OK) != 0) {
    const std::string reason = std::generic_category().message(errno);
    return refuse(value, value.node.line,
                  in_quotes(path.string()) + ", which cannot be read (" + reason + ")");
  }
  return path.string();
}

std::optional<Secret> parsed_by(const SecretReference& rule, const Value& value) {
  return secret_of(value, value.node, {}, rule.may_be_pem);
}

std::optional<std::vector<Secret>> parsed_by(const SecretList& rule, const Value& value) {
  const bool is_list = value.node.kind == YamlNode::Kind::list;
  if (is_list && (value.node.items.empty() || value.node.items.size() > rule.maximum))
    return refuse(value, value.node.line, fmt::format("{} of them", value.node.items.size()));
  std::vector<Secret> secrets;
  std::size_t index = 0;
  for (const YamlNode& item : is_list ? value.node.items : std::vector<YamlNode>{value.node}) {
    const std::string location = is_list ? fmt::format("[{}]", index++) : "";
    if (const auto secret = secret_of(value, item, location, true)) secrets.push_back(*secret);
  }
  return secrets;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parsed_by(const ChoiceMap& rule,
                                                                          const Value& value) {
  std::vector<std::pair<std::string, std::string>> map;
  for (const YamlEntry* entry : entries_of(value, rule.maximum)) {
    const auto chosen = std::find(rule.values.begin(), rule.values.end(), entry->value.text);
    if (entry->value.kind == YamlNode::Kind::text && chosen != rule.values.end()) {
      map.emplace_back(entry->key, *chosen);
    } else {
      refuse(value, entry->line, shown(entry->value) + " for " + in_quotes(entry->key));
    }
  }
  return map;
}

std::optional<std::vector<std::pair<std::string, Secret>>> parsed_by(const SecretMap& rule,
                                                                     const Value& value) {
  std::vector<std::pair<std::string, Secret>> map;
  for (const YamlEntry* entry : entries_of(value, rule.maximum)) {
    const std::optional<std::string> name = normalized(value, rule.name, entry->key, entry->line);
    if (!name) continue;
    if (const auto secret = secret_of(value, entry->value, "." + *name)) map.emplace_back(*name, *secret);
  }
  return map;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parsed_by(const NameMap& rule,
                                                                          const Value& value) {
  std::vector<std::pair<std::string, std::string>> map;
  for (const YamlEntry* entry : entries_of(value, rule.maximum)) {
    const bool is_text = entry->value.kind == YamlNode::Kind::text;
    const std::string fault = is_text ? rule.fault(entry->key, entry->value.text) : "which is not a name";
    if (fault.empty()) {
      map.emplace_back(entry->key, entry->value.text);
    } else {
      refuse(value, entry->line, shown(entry->value) + " for " + in_quotes(entry->key) + ", " + fault);
    }
  }
  return map;
}

}  // namespace

void parse_value(const SettingsKey& key, const YamlNode& node, const std::filesystem::path& folder,
                 ParsedConfig& parsed) {
  const auto store = [&](const auto& rule) {
    auto value = parsed_by(rule, Value{key, node, folder, parsed});
    if (!value) return;
    if constexpr (std::is_same_v<decltype(rule), const Choice&>) {
      rule.choose(parsed.settings, *value);
    } else {
      rule.accessor(parsed.settings) = std::move(*value);
    }
  };
  std::visit(store, key.rule);
}

namespace {

using Outcome = tl::expected<FetchedSecret, SecretFault>;

constexpr std::size_t kMaxSecretBytes = std::size_t{64} << 10;

tl::unexpected<SecretFault> refused(std::string found, std::string next_step) {
  return tl::unexpected(SecretFault{std::move(found), std::move(next_step)});
}

std::string last_error() {
  return std::generic_category().message(errno);
}

Outcome checked(std::string text, const std::string& location, std::string warning) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) return refused(location + ", which is empty", "put the secret into it");
  if (text.size() > kMaxSecretBytes)
    return refused(location + ", which has more than 64 KiB", "name the right file");
  if (!is_storable_text(text)) {
    return refused(location + ", which is not UTF-8 text without NUL", "name a text file");
  }
  return FetchedSecret{Secret(std::move(text)), std::move(warning)};
}

/// Reads up to one byte more than the limit; nullopt with errno set when the file cannot be read.
std::optional<std::string> text_of(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() <= kMaxSecretBytes) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

Outcome from_file(const std::filesystem::path& path) {
  const std::string location = in_quotes(path.string());
  // Non-blocking, so that a named pipe without a writer does not hold up the start.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return refused(location + ", which cannot be read (" + last_error() + ")",
                   "create the file, or let the service's user read it");
  }
  const std::optional<std::string> text = text_of(descriptor);
  const std::string reason = text ? "" : last_error();
  struct stat facts {};
  const bool is_world_readable = ::fstat(descriptor, &facts) == 0 && (facts.st_mode & S_IROTH) != 0;
  ::close(descriptor);
  if (!text)
    return refused(location + ", which cannot be read (" + reason + ")", "name a file with the secret");
  return checked(
      *text, location,
      is_world_readable ? location + " is readable by all users of this host; run chmod o-r on it" : "");
}

Outcome from_environment(const std::string& name) {
  const char* text = std::getenv(name.c_str());
  if (text == nullptr) {
    return refused("the environment variable " + in_quotes(name) + ", which is not set",
                   "set it for the service, or use file:PATH");
  }
  return checked(text, "the environment variable " + in_quotes(name), "");
}

Outcome from_credential(const std::string& name) {
  const auto path = credential_path(name);
  return path ? from_file(*path) : tl::unexpected(path.error());
}

}  // namespace

std::string secret_provenance(const std::string& reference) {
  for (const char* kind : {"file:", "env:", "credential:"})
    if (reference.starts_with(kind)) return reference;
  return "literal";
}

Outcome fetch_secret(const std::string& reference, const std::filesystem::path& folder) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kEnvironment = "env:";
  if (reference.starts_with(kFile)) return from_file(folder / reference.substr(kFile.size()));
  if (reference.starts_with(kEnvironment)) return from_environment(reference.substr(kEnvironment.size()));
  if (reference.starts_with(kCredential)) return from_credential(reference.substr(kCredential.size()));
  return checked(reference, "a text",
                 "the settings file contains the secret itself; put it into a file that only the "
                 "service's user can read and write file:PATH");
}

}  // namespace giftsync::config
