#include "common/nearest.h"

#include <algorithm>
#include <numeric>

namespace sti {

size_t SlipsBetween(std::string_view a, std::string_view b) {
  // Rows of the table of all beginnings of `a` against all of `b`: this one and the two above it.
  std::vector<size_t> above2;
  std::vector<size_t> above;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    above2 = std::move(above);
    above = std::move(row);
    row.assign(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t other = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({other, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], above2[j - 2] + 1);
    }
  }
  return row.back();
}

std::string NearestWord(std::string_view typed, const std::vector<std::string>& words) {
  size_t fewest = typed.size() / 3 + 1;
  std::string nearest;
  for (const std::string& word : words) {
    const size_t slips = SlipsBetween(typed, word);
    if (slips >= fewest) continue;
    fewest = slips;
    nearest = word;
  }
  return nearest;
}

}  // namespace sti
