// Where there are no instructions for packed operands.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if !HWY_ARCH_X86 && !STI_PACKED_NEON

// Never called: HasPackedInstructions says no.
namespace sti {
void PackRowsFast(ComputeType, const RowsRef&, const float*, const PackedRows&) {}
void MultiplyPackedFast(ComputeType, const PackedProduct&) {}
void LookUpPackedFast(ComputeType, const PackedLookUp&, const LeadingProduct&) {}
uint32_t PutOutliersFast(ComputeType, const OutlierPatch&, int64_t, const uint8_t*, const float*,
                         uint32_t, uint8_t*) {
  return 0;
}
bool PackWeightsFast(ComputeType, const float*, uint32_t, const float*, uint32_t*) { return false; }
void MeasureOutputsFast(const float*, uint32_t, float*, float*) {}
}  // namespace sti

#endif
