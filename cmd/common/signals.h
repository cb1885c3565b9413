// Signals in a tool: one that asks to end lets it finish the line at hand and exit with 128 and the
// signal's number; a second one, or any other that ends a process, does so at once. Neither leaves
// a temporary behind. A signal that was ignored at the start (nohup) stays ignored.
#pragma once

namespace sti {

/// Begins to handle signals so. Writes that a signal interrupts go on; only waits for input end.
void HandleSignals();

/// Returns the signal that asked this process to stop, or 0.
int StopSignal();
inline bool StopRequested() { return StopSignal() != 0; }

/// Lets SIGHUP ask for something else from now on, in place of ending the process; `also_ignored`:
/// where it was ignored at the start too, since the user has asked for this very signal.
void ListenForHangup(bool also_ignored);
/// Returns whether SIGHUP has come since the last call.
bool TakeHangup();

}  // namespace sti
