// The program of both names: giftsyncctl where it is called so, else giftsyncd. Most of the code serves both,
// and in two programs it would take twice the disk (ARCH-36).
#include <string_view>

int giftsyncd_main(int argc, char** argv);    // daemon/giftsyncd_main.cpp
int giftsyncctl_main(int argc, char** argv);  // cli/giftsyncctl_main.cpp

int main(int argc, char** argv) {
  const std::string_view called(argc > 0 ? argv[0] : "");
  const bool is_command_line = called.substr(called.rfind('/') + 1) == "giftsyncctl";
  return is_command_line ? giftsyncctl_main(argc, argv) : giftsyncd_main(argc, argv);
}
