#include "process_age.h"

#include <ctime>

#include "base/clock.h"

namespace sti {
namespace {

Clock::time_point g_main;
double g_before_main_us = 0;

}  // namespace

void NoteMain() {
  g_main = Clock::now();
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  g_before_main_us =
      static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

double AgeUs() { return g_before_main_us + MicrosecondsBetween(g_main, Clock::now()); }

}  // namespace sti
