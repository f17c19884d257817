#include "daemon/wiring/secret_rotation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "crm/salesforce/calls/access_token.h"
#include "daemon/wiring/database_config.h"
#include "platform/keys.h"
#include "schema/store/event/webhook_endpoints.h"
#include "schema/store/gift/erased_address.h"
#include "schema/store/server_secret_facts.h"

namespace giftsync::wiring {
namespace {

constexpr const char* kMetadata = "store_metadata";

/// All that the server secret seals in the store, except the former secret itself.
constexpr std::array kSealedColumns{
    store::SealedColumn{kMetadata, "name", "value", salesforce::kTokenSealLabel, salesforce::kTokenFact},
    store::SealedColumn{kMetadata, "name", "value", store::kErasedAddressLabel, store::kErasedAddressKeyFact},
    store::SealedColumn{"webhook_endpoint", "id", "secret", store::kWebhookSecretLabel},
    store::SealedColumn{"webhook_endpoint", "id", "previous_secret", store::kWebhookSecretLabel},
};

}  // namespace

SealedAgain seal_again(const config::Settings& settings, const ServerSecrets& secrets,
                       const std::function<bool()>& may_continue) {
  SealedAgain done;
  if (!secrets.former) return done;
  store::ServerSecretFacts facts(store_dsn(settings.store));
  for (const store::SealedColumn& column : kSealedColumns) {
    for (const store::SealedText& sealed : facts.sealed_texts(column)) {
      if (giftsync::open_sealed_text(secrets.current, column.label, sealed.text)) continue;
      const auto text = giftsync::open_sealed_text(secrets.former->secret, column.label, sealed.text);
      if (!text) {
        ++done.unreadable;
        continue;
      }
      if (!may_continue()) {
        done.is_complete = false;
        return done;
      }
      // Another process may have sealed a newer text meanwhile, with whichever secret: the next run sees it.
      if (facts.replace(column, sealed, seal_text(secrets.current, column.label, *text)))
        ++done.texts;
      else
        done.is_complete = false;
    }
  }
  return done;
}

bool may_drop_former(const store::SecretRotation& rotation, UtcMillis now) {
  return now >= std::max(rotation.links_until, rotation.rotated_at + kLeastKeptMillis);
}

SealedAgain finish_rotation(const config::Settings& settings, const ServerSecrets& secrets, UtcMillis now,
                            const std::function<bool()>& may_continue) {
  const SealedAgain done = seal_again(settings, secrets, may_continue);
  if (done.is_complete && secrets.former && may_drop_former(secrets.former->rotation, now))
    store::ServerSecretFacts(store_dsn(settings.store)).drop_former(secrets.former->rotation);
  return done;
}

std::string prepare_next_secret(const config::Settings& settings) {
  const std::string path = next_server_secret_path(settings);
  try {
    return read_server_secret(path);
  } catch (const ServerSecretError& fault) {
    if (fault.kind() != ServerSecretError::Kind::missing) throw;
  }
  try {
    return create_server_secret(path);
  } catch (const ServerSecretError& fault) {
    if (fault.kind() != ServerSecretError::Kind::already_exists) throw;
    return read_server_secret(path);  // another command created it at the same time
  }
}

std::optional<ServerSecrets> rotate_server_secret(const config::Settings& settings, store::Store& store,
                                                  const ServerSecrets& secrets, std::int64_t grace_millis,
                                                  UtcMillis now) {
  const std::string next = prepare_next_secret(settings);
  const std::string fingerprint = sync::LinkSigner(next).fingerprint();
  const store::SecretRotation rotation{sync::LinkSigner(secrets.current).fingerprint(), now,
                                       now + grace_millis,
                                       seal_text(next, kFormerSecretLabel, secrets.current)};
  if (fingerprint == rotation.former_fingerprint)
    throw ConfigError(next_server_secret_path(settings) + " is the store's secret already: move it to " +
                      server_secret_path(settings) + ", then rotate again");
  if (!store::ServerSecretFacts(store_dsn(settings.store)).rotate(fingerprint, rotation)) return std::nullopt;
  return load_server_secrets(settings, store);
}

SecretCheck check_secret_of_process(const config::Settings& settings, store::Store& store,
                                    const std::string& secret, UtcMillis now) {
  const std::string own = sync::LinkSigner(secret).fingerprint();
  const auto known = store.metadata(store::kSecretFingerprintFact);
  if (!known || *known == own) return {};
  const auto rotation = secret_rotation_of(store);
  const UtcMillis links_until =
      rotation && rotation->former_fingerprint == own ? rotation->links_until : UtcMillis{INT64_MIN};
  if (readable_server_secrets(settings, store)) return {SecretState::rotated, {}, links_until};
  return {now < links_until ? SecretState::former : SecretState::unusable,
          server_secret_fault(settings, store)
              .value_or(server_secret_path(settings) + " is not the server secret of this store any more"),
          links_until};
}

}  // namespace giftsync::wiring
