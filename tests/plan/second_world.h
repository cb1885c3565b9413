// Random requests of all kinds, on random devices and models, for a second opinion of their plans.
#pragma once

#include <string>

#include "world.h"

namespace sti::test {

/// The kinds of requests.
enum class Asked : uint8_t {
  kPlain,
  kLengths,
  kClocks,
  kTurns,
  kCascade,
  kGuarantee,
  kCold,
  kCount,
};

/// A world and a request that belongs to it.
struct SecondWorld {
  World world;
  PlanRequest request;
  ColdBytes cold;
  Asked asked = Asked::kPlain;

  explicit SecondWorld(Random& random);
  /// Draws a device and a request for a model that is stored: its sizes and depths stay.
  SecondWorld(Random& random, World stored);

  /// Everything that MakePlan takes, which refers to this.
  [[nodiscard]] PlanInput Input() const;
  /// Says in a line how request and world were drawn.
  [[nodiscard]] std::string Name() const;

 private:
  void Draw(Random& random);
  void Sizes(Random& random);
  void Reads(Random& random);
  void Layers(Random& random);
  void Fixed(Random& random);
  void Series(Random& random);
  void Words(Random& random);
  void Gains(Random& random);
  void Cascades(Random& random);
  void Cold(Random& random);
  void Ask(Random& random);
};

}  // namespace sti::test
