// The plug-in itself: a table of functions over the MPI that it was built for. It alone includes
// mpi.h, of which it wants the functions of C.
#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "link/mpi/plugin.h"

namespace sti {
namespace {

// Numbers that no MPI gives: its own begin at 0.
constexpr int kNoThreads = -1;
constexpr int kNoMemory = -2;

int Join(int* rank, int* ranks) {
  int threads = MPI_THREAD_SINGLE;
  int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads);
  if (error != MPI_SUCCESS) return error;
  if (threads < MPI_THREAD_SERIALIZED) return kNoThreads;
  error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS) error = MPI_Comm_size(MPI_COMM_WORLD, ranks);
  return error;
}

int Leave() { return MPI_Finalize(); }

// Keeps a request that has begun until it is done.
template <typename Begin>
int Start(void** request, const Begin& begin) {
  std::unique_ptr<MPI_Request> kept(new (std::nothrow) MPI_Request(MPI_REQUEST_NULL));
  if (!kept) return kNoMemory;
  const int error = begin(kept.get());
  if (error == MPI_SUCCESS) *request = kept.release();
  return error;
}

int Send(const void* bytes, size_t size, int to, int tag, void** request) {
  return Start(request, [&](MPI_Request* kept) {
    return MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD, kept);
  });
}

int Receive(void* bytes, size_t most, int from, int tag, void** request) {
  return Start(request, [&](MPI_Request* kept) {
    return MPI_Irecv(bytes, static_cast<int>(most), MPI_BYTE, from, tag, MPI_COMM_WORLD, kept);
  });
}

int Test(void** request, bool* done, size_t* size) {
  auto* const kept = static_cast<MPI_Request*>(*request);
  int is_done = 0;
  MPI_Status status{};
  const int error = MPI_Test(kept, &is_done, &status);
  *done = is_done != 0 || error != MPI_SUCCESS;
  if (!*done) return error;
  int count = 0;
  if (error == MPI_SUCCESS) (void)MPI_Get_count(&status, MPI_BYTE, &count);
  *size = static_cast<size_t>(std::max(count, 0));
  delete kept;
  *request = nullptr;
  return error;
}

void Describe(int error, char* text, size_t most) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (error == kNoThreads) {
    std::strcpy(words, "it was built without threads");
  } else if (error == kNoMemory) {
    std::strcpy(words, "out of memory");
  } else if (MPI_Error_string(error, words, &length) != MPI_SUCCESS) {
    std::strcpy(words, "unknown error");
  }
  if (most == 0) return;
  std::strncpy(text, words, most - 1);
  text[most - 1] = '\0';
}

constexpr MpiPlugin kPlugin{.version = kMpiPluginVersion,
                            .join = Join,
                            .leave = Leave,
                            .send = Send,
                            .receive = Receive,
                            .test = Test,
                            .describe = Describe};

}  // namespace
}  // namespace sti

extern "C" __attribute__((visibility("default"))) const sti::MpiPlugin* sti_mpi_plugin() {
  return &sti::kPlugin;
}
