// The age of this process, of which a cold start's latency is counted.
#pragma once

namespace sti {

/// Remembers when main began; call it first.
void NoteMain();

/// Microseconds since the process was started: since main, and the CPU time spent before it, by the
/// system, the dynamic linker and static initialisers.
double AgeUs();

}  // namespace sti
