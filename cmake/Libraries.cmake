# Every library of the project, lowest first: one for each folder, named after it. USES names the folders whose headers it may
# include; tests/static/layers_test holds the includes to this list. The linker holds the order.
giftsync_library(platform
  PRIVATE nlohmann_json::nlohmann_json PkgConfig::SIMDJSON PkgConfig::YAML PkgConfig::XML2 PkgConfig::XMLSEC CURL::libcurl
          OpenSSL::Crypto spdlog::spdlog fmt::fmt Poco::Net Poco::Foundation PkgConfig::SYSTEMD Threads::Threads)

# The model, SQL and the store.
giftsync_library(schema USES platform
  PRIVATE giftsync::phonenumber PkgConfig::IDN2 Poco::Foundation)
giftsync_library(schema/sql USES platform schema
  PRIVATE giftsync::soci PkgConfig::SQLITE giftsync::libpq Poco::Foundation Threads::Threads
  PRECOMPILE <soci/soci.h>)
giftsync_library(schema/store SUBFOLDERS account crm event gift mail statements
  USES platform schema schema/sql
  PRIVATE giftsync::soci giftsync::libpq
  PRECOMPILE <soci/soci.h> <schema/sql/bulk_rows.h> <schema/sql/record_rows.h> <schema/store/gift/gift_requests.h>)

# The CRM: the port and its adapters.
giftsync_library(crm USES platform schema)
giftsync_library(crm/sql USES platform schema crm schema/sql
  PRIVATE giftsync::soci giftsync::libpq
  PRECOMPILE <schema/sql/database.h> <schema/gift_record.h>)
giftsync_library(crm/sql/managed USES platform schema crm schema/sql crm/sql
  PRIVATE giftsync::soci giftsync::libpq
  PRECOMPILE <schema/sql/database.h> <crm/crm.h>)
giftsync_library(crm/sql/external USES platform schema crm schema/sql crm/sql
  PRIVATE giftsync::soci giftsync::libpq PkgConfig::SQLITE
  PRECOMPILE <schema/sql/database.h> <crm/crm.h> <fmt/format.h>)
giftsync_library(crm/salesforce SMALL SUBFOLDERS calls org records
  USES platform schema crm
  PRIVATE Poco::XML Poco::Zip Poco::Foundation spdlog::spdlog fmt::fmt nlohmann_json::nlohmann_json
  PRECOMPILE <crm/crm.h> <crm/salesforce/calls/org_calls.h> <fmt/format.h>)

# Decisions and use cases.
giftsync_library(matching USES platform schema schema/store crm)
giftsync_library(sync SUBFOLDERS access crm gift mail request status
  USES platform schema crm schema/store matching
  PRIVATE giftsync::absl_time
  PRECOMPILE <fmt/format.h> <schema/store/store.h>)

# What talks to the outside.
giftsync_library(daemon/content USES platform
  PRIVATE PkgConfig::YAML giftsync::mustache)
giftsync_library(daemon/config SMALL USES platform schema crm schema/sql sync daemon/content
  PRIVATE PkgConfig::YAML fmt::fmt nlohmann_json::nlohmann_json
  PRECOMPILE <daemon/config/settings.h> <fmt/format.h>)
giftsync_library(daemon/validation USES platform schema crm schema/store matching sync
  PRIVATE fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SIMDJSON)
giftsync_library(daemon/http USES platform schema schema/store sync daemon/validation
  PRIVATE Poco::Net Poco::Foundation spdlog::spdlog fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SIMDJSON OpenSSL::SSL
          OpenSSL::Crypto Threads::Threads
  PRECOMPILE <chrono> <mutex> <fmt/format.h>)
giftsync_library(daemon/mail USES platform schema schema/store sync daemon/content
  PRIVATE CURL::libcurl PkgConfig::GMIME giftsync::mustache fmt::fmt)
giftsync_library(daemon/pages USES platform schema schema/store sync daemon/content daemon/config daemon/http
  PRIVATE giftsync::mustache fmt::fmt)
giftsync_library(daemon/sources
  USES platform schema schema/store sync daemon/config daemon/http
  PRIVATE spdlog::spdlog fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SIMDJSON OpenSSL::Crypto
  PRECOMPILE <chrono> <mutex> <fmt/format.h> <daemon/config/settings.h> <schema/store/event/sources.h>)
giftsync_library(daemon/webhooks SMALL USES platform schema schema/store sync
  PRIVATE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
giftsync_library(daemon/signin SMALL USES platform schema daemon/config
  PRIVATE Poco::XML Poco::Foundation OpenSSL::Crypto fmt::fmt PkgConfig::SIMDJSON)
giftsync_library(daemon/identity/jose SMALL USES platform
  PRIVATE fmt::fmt)
giftsync_library(daemon/identity/oidc SMALL USES platform daemon/config daemon/signin daemon/identity/jose
  PRIVATE Poco::Foundation fmt::fmt)
giftsync_library(daemon/identity/saml SMALL USES platform daemon/config daemon/signin
  PRIVATE Poco::Foundation fmt::fmt)
giftsync_library(daemon/identity SMALL
  USES platform schema schema/store daemon/config daemon/http daemon/signin daemon/identity/oidc
       daemon/identity/saml
  PRIVATE Poco::Foundation nlohmann_json::nlohmann_json spdlog::spdlog fmt::fmt)
giftsync_library(daemon/exports SMALL USES platform schema crm schema/store matching sync
  PRIVATE nlohmann_json::nlohmann_json)
giftsync_library(daemon/console SMALL USES platform schema crm schema/store matching sync daemon/content daemon/config
       daemon/http daemon/webhooks daemon/identity daemon/exports
  PRIVATE giftsync::mustache Poco::Foundation spdlog::spdlog fmt::fmt
  PRECOMPILE <daemon/console/access.h> <fmt/format.h>)

# What both programs are built from, and the programs.
giftsync_library(daemon/wiring SMALL
  USES platform crm schema/sql schema/store crm/sql/managed crm/sql/external sync daemon/config crm/salesforce
       daemon/mail daemon/sources daemon/validation
  PRIVATE spdlog::spdlog fmt::fmt
  PRECOMPILE <daemon/config/settings.h> <fmt/format.h> <schema/store/store.h> <sync/crm/sync_step.h>)
giftsync_library(daemon/metrics USES platform schema schema/store sync daemon/config daemon/http daemon/wiring
  PRIVATE PkgConfig::PROMETHEUS spdlog::spdlog)
giftsync_library(daemon/handlers
  USES platform schema crm schema/store matching sync daemon/config crm/salesforce daemon/http daemon/sources daemon/signin
       daemon/validation daemon/exports daemon/webhooks
  PRIVATE fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SIMDJSON
  PRECOMPILE <chrono> <mutex> <daemon/http/problem.h> <fmt/format.h> <sync/access/send_authorization.h>)
giftsync_library(daemon
  USES platform schema/sql schema/store sync daemon/content daemon/config daemon/http daemon/pages daemon/sources
       daemon/webhooks daemon/identity daemon/identity/oidc daemon/console daemon/handlers daemon/metrics
       daemon/wiring
  PRIVATE PkgConfig::SYSTEMD Poco::Util spdlog::spdlog fmt::fmt Threads::Threads
  PRECOMPILE <chrono> <mutex> <fmt/format.h>)
giftsync_library(cli SMALL SUBFOLDERS account crm gift request status
  USES platform schema crm schema/store matching sync daemon/config daemon/signin daemon/identity/oidc
       daemon/identity/saml daemon/exports daemon/validation daemon/webhooks daemon/wiring
  PRIVATE Poco::Foundation fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 giftsync::csv PkgConfig::SIMDJSON
  PRECOMPILE <cli/cli_context.h> <cli/listing.h> <fmt/format.h> <platform/json.h>)

file(GLOB store_scripts RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/schema/sql/store_*.sql)
giftsync_embed(giftsync_schema_store ${store_scripts})
giftsync_embed(giftsync_crm_sql_managed crm/sql/managed/crm_001.sql crm/sql/managed/crm_002.sql)
file(GLOB_RECURSE package RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/conf/salesforce/*.xml ${CMAKE_SOURCE_DIR}/conf/salesforce/*.json)
giftsync_embed(giftsync_crm_salesforce ${package})
file(GLOB templates RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/*.* ${CMAKE_SOURCE_DIR}/web/*/*.yaml)
giftsync_embed(giftsync_daemon_content ${templates})
file(GLOB console_files RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/console/*.* ${CMAKE_SOURCE_DIR}/web/console/parts/*.mustache
     ${CMAKE_SOURCE_DIR}/web/console/messages/*.yaml)
giftsync_embed(giftsync_daemon_console ${console_files})

# One program with two names. The daemon's libraries come first: of a function that both have its copy counts.
add_executable(giftsyncd cli/giftsync_main.cpp daemon/giftsyncd_main.cpp cli/giftsyncctl_main.cpp)
target_link_libraries(giftsyncd PRIVATE giftsync_daemon giftsync_cli)
add_custom_command(TARGET giftsyncd POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink giftsyncd ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/giftsyncctl)
add_custom_target(giftsyncctl DEPENDS giftsyncd)
