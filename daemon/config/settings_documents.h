// daemon/config: the three documents of the settings, made from the table of keys (SET-2). The build writes
// them with settings_documents_main.cpp and installs them; conf/giftsyncd.yaml is a copy of the first for
// readers.
#pragma once

#include <string>

namespace giftsync::config {

/// giftsyncd.yaml: a valid settings file that shows every key with its description, allowed values and
/// default. Required keys are set; every other key is commented out and shows its default or an example.
std::string settings_example();

/// giftsyncd.schema.json: a JSON Schema (draft 2020-12), for editors. It accepts every settings file that
/// giftsyncd accepts, but not only those.
std::string settings_schema();

/// giftsyncd.yaml(5): the manual page, in mdoc.
std::string settings_manual();

}  // namespace giftsync::config
