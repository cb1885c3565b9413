#include "heap.h"

#include <malloc.h>

namespace sti {

void GiveHeapBack() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace sti
