// The families that there are, each defined in a file of its own.
#pragma once

#include "network/families.h"

namespace sti {

extern const Family kBertFamily;
extern const Family kDistilBertFamily;
extern const Family kRobertaFamily;
extern const Family kElectraFamily;
extern const Family kVitFamily;
extern const Family kGpt2Family;

}  // namespace sti
