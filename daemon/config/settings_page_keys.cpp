// The keys of `pages`; accessors of a charity's keys refer to the last element.
#include "daemon/config/settings_keys.h"
#include "daemon/content/logo.h"

namespace giftsync::daemon::config {
namespace {

template <class T>
Accessor<T> setting(T PageSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.pages.*member; };
}

Accessor<std::string> charity_setting(std::string CharitySettings::*member) {
  return [member](Settings& settings) -> std::string& { return settings.pages.charities.back().*member; };
}

}  // namespace

void add_page_keys(std::vector<SettingsKey>& keys) {
  using P = PageSettings;
  keys.push_back({"pages.company_name", "The company's name, shown to recipients on pages and in mails.",
                  Text{setting(&P::company_name), "a name of at most 255 characters", check_plain_text}});
  keys.push_back(
      {"pages.colour",
       "The company's colour; where text in it would be hard to read, pages and mails use a darker or "
       "lighter shade.",
       Text{setting(&P::colour), "red, green and blue in hex such as \"#0a6650\", in quotes", check_colour}});
  keys.push_back({"pages.logo", "The company's logo, shown on pages.",
                  FilePath{setting(&P::logo), std::string(content::kLogoAllowed), true}});
  keys.push_back(
      {"pages.language",
       "The language of mails, and of pages for recipients whose browser accepts no available language.",
       Text{setting(&P::language), "an available language such as en, de or es", check_language}});
  keys.push_back(
      {"pages.charities.name", "The charity's name.",
       Text{charity_setting(&CharitySettings::name), "a name of at most 255 characters", check_plain_text},
       true});
  keys.push_back({"pages.charities.link", "The charity's own page.",
                  Text{charity_setting(&CharitySettings::link),
                       "an https:// URL such as https://charity.example.org", check_sign_in_url}});
}

}  // namespace giftsync::daemon::config
