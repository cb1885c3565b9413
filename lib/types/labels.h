// The rule of labels: what a model may call its classes. Answers are lines and JSON objects with
// labels in them, so a label that breaks a line, obeys no encoding or stands twice would make one
// answer look like another. Whoever writes a container and whoever reads one asks here.
#pragma once

#include <string>
#include <vector>

namespace sti {

/// Returns what is wrong with the labels of a model, by id; empty if each is printable
/// (base/utf8.h), none is empty and no two are equal.
std::string ProblemOfLabels(const std::vector<std::string>& labels);

}  // namespace sti
