// A table of values with rows of one length: the slices and bits of a plan, a row a layer.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace sti {

/// One value for each row and column, in one allocation.
template <typename T>
class Grid {
 public:
  Grid() = default;
  Grid(uint32_t rows, uint32_t columns, const T& value = T())
      : rows_(rows), columns_(columns), values_(size_t{rows} * columns, value) {}
  /// Takes nested lists of one length, as tests write plans.
  Grid(std::initializer_list<std::initializer_list<T>> rows)
      : rows_(static_cast<uint32_t>(rows.size())),
        columns_(rows.size() == 0 ? 0 : static_cast<uint32_t>(rows.begin()->size())) {
    for (const auto& row : rows) {
      assert(row.size() == columns_);
      values_.insert(values_.end(), row.begin(), row.end());
    }
  }

  /// Returns the grid of these rows; nothing unless they are of one length.
  static std::optional<Grid> FromRows(std::span<const std::vector<T>> rows) {
    Grid grid(static_cast<uint32_t>(rows.size()),
              rows.empty() ? 0 : static_cast<uint32_t>(rows.front().size()));
    for (uint32_t row = 0; row < grid.rows_; ++row) {
      if (rows[row].size() != grid.columns_) return std::nullopt;
      std::copy(rows[row].begin(), rows[row].end(), grid.Row(row).begin());
    }
    return grid;
  }

  [[nodiscard]] uint32_t rows() const { return rows_; }
  [[nodiscard]] uint32_t columns() const { return columns_; }
  [[nodiscard]] T& At(uint32_t row, uint32_t column) { return values_[Index(row, column)]; }
  [[nodiscard]] const T& At(uint32_t row, uint32_t column) const {
    return values_[Index(row, column)];
  }
  [[nodiscard]] std::span<T> Row(uint32_t row) {
    return std::span(values_).subspan(Index(row, 0), columns_);
  }
  [[nodiscard]] std::span<const T> Row(uint32_t row) const {
    return std::span(values_).subspan(Index(row, 0), columns_);
  }
  /// Returns the values [rows, columns], row-major.
  [[nodiscard]] std::span<T> values() { return values_; }
  [[nodiscard]] std::span<const T> values() const { return values_; }

  friend bool operator==(const Grid&, const Grid&) = default;

 private:
  [[nodiscard]] size_t Index(uint32_t row, uint32_t column) const {
    return size_t{row} * columns_ + column;
  }

  uint32_t rows_ = 0;
  uint32_t columns_ = 0;
  std::vector<T> values_;
};

}  // namespace sti
