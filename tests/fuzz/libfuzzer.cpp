// The entry point of libFuzzer for the target STI_FUZZ_TARGET.
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sti::fuzz::STI_FUZZ_TARGET({data, size});
  return 0;
}
