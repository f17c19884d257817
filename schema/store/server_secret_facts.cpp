#include "schema/store/server_secret_facts.h"

#include "platform/text.h"
#include "schema/sql/no_change.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// False, without a change, when the value is not `before`.
bool exchange_metadata(soci::session& session, const std::string& name, const std::string& before,
                       const std::string& after) {
  return sql::change_rows(session,
                          "UPDATE store_metadata SET value = :after WHERE name = :name AND value = :before",
                          use(after, "after"), use(name, "name"), use(before, "before")) > 0;
}

std::string rows_of(const SealedColumn& column) {
  return " WHERE " + (column.only.empty()
                          ? std::string(column.column) + " <> ''"
                          : std::string(column.key) + " = '" + std::string(column.only) + "'");
}

}  // namespace

std::string to_text(const SecretRotation& rotation) {
  return rotation.former_fingerprint + "\n" + std::to_string(rotation.rotated_at.value) + "\n" +
         std::to_string(rotation.links_until.value) + "\n" + rotation.sealed_former;
}

std::optional<SecretRotation> secret_rotation_from(const std::string& text) {
  std::vector<std::string> lines{""};
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  if (lines.size() != 4) return std::nullopt;
  const auto rotated_at = parse_number<std::int64_t>(lines[1]);
  const auto links_until = parse_number<std::int64_t>(lines[2]);
  if (!rotated_at || !links_until) return std::nullopt;
  return SecretRotation{lines[0], {*rotated_at}, {*links_until}, lines[3]};
}

ServerSecretFacts::ServerSecretFacts(const sql::Dsn& dsn) : database_(sql::Database::shared(dsn)) {}

bool ServerSecretFacts::rotate(const std::string& fingerprint, const SecretRotation& rotation) {
  return database_->write([&](soci::session& session) {
    if (!exchange_metadata(session, kSecretFingerprintFact, rotation.former_fingerprint, fingerprint))
      return false;
    write_metadata(session, kSecretRotationFact, to_text(rotation));
    return true;
  });
}

bool ServerSecretFacts::drop_former(const SecretRotation& rotation) {
  if (rotation.sealed_former.empty()) return false;
  SecretRotation without = rotation;
  without.sealed_former.clear();
  const sql::NoChange no_change;
  return database_->write([&](soci::session& session) {
    return exchange_metadata(session, kSecretRotationFact, to_text(rotation), to_text(without));
  });
}

std::vector<SealedText> ServerSecretFacts::sealed_texts(const SealedColumn& column) {
  const std::string statement = "SELECT CAST(" + std::string(column.key) + " AS text), " +
                                std::string(column.column) + " FROM " + std::string(column.table) +
                                rows_of(column);
  return database_->read([&](soci::session& session) {
    SealedText row;
    return sql::select_rows(row, session, statement, into(row.key), into(row.text));
  });
}

bool ServerSecretFacts::replace(const SealedColumn& column, const SealedText& before,
                                const std::string& text) {
  const std::string name(column.column);
  const std::string statement = "UPDATE " + std::string(column.table) + " SET " + name +
                                " = :after WHERE CAST(" + std::string(column.key) + " AS text) = :key AND " +
                                name + " = :before";
  const sql::NoChange no_change;
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session, statement, use(text, "after"), use(before.key, "key"),
                            use(before.text, "before")) > 0;
  });
}

}  // namespace giftsync::store
