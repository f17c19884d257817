#include "cli/interruption.h"

#include <csignal>

namespace giftsync::cli {
namespace {

static_assert(kInterruptedExit == 128 + SIGINT);

volatile std::sig_atomic_t asked = 0;
struct sigaction before {};

void ask(int) {
  asked = 1;
}

}  // namespace

Interruption::Interruption() {
  asked = 0;
  ::sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;  // begun in the background
  struct sigaction action {};
  action.sa_handler = ask;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

Interruption::~Interruption() {
  ::sigaction(SIGINT, &before, nullptr);
}

bool Interruption::is_asked_for() {
  return asked != 0;
}

}  // namespace giftsync::cli
