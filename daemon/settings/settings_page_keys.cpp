// The part of the table of keys that belongs to `pages`: each place in a charity leads to the last element.
#include "daemon/pages/logo.h"
#include "daemon/settings/settings_keys.h"

namespace giftsync::daemon {
namespace {

template <class T>
Place<T> of(T PageSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.pages.*member; };
}

Place<std::string> of_charity(std::string CharitySettings::*member) {
  return [member](Settings& settings) -> std::string& { return settings.pages.charities.back().*member; };
}

}  // namespace

void add_page_keys(std::vector<SettingsKey>& keys) {
  using P = PageSettings;
  keys.push_back({"pages.name", "The company's name, shown to recipients on pages and in mails.",
                  Text{of(&P::name), "a name of at most 255 characters", check_plain_text}});
  keys.push_back(
      {"pages.colour",
       "The company's colour; where texts would be hard to read in it, pages and mails use a "
       "darker or lighter shade.",
       Text{of(&P::colour), "red, green and blue in hex such as \"#0a6650\", in quotes", check_colour}});
  keys.push_back({"pages.logo", "The company's logo, shown on pages.",
                  FilePath{of(&P::logo), std::string(kLogoAllowed), true}});
  keys.push_back(
      {"pages.language",
       "The language of mails, and of pages for recipients whose browser asks for none that there "
       "is.",
       Text{of(&P::language), "a language that there are words of, such as en, de or es", check_language}});
  keys.push_back(
      {"pages.charities.name", "The charity's name.",
       Text{of_charity(&CharitySettings::name), "a name of at most 255 characters", check_plain_text}, true});
  keys.push_back({"pages.charities.link", "The charity's own page.",
                  Text{of_charity(&CharitySettings::link),
                       "an https:// URL such as https://charity.example.org", check_sign_in_url}});
}

}  // namespace giftsync::daemon
