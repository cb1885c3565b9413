#include "format/json_writer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "format/json_fields.h"

namespace sti {
namespace {

std::string Compact(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Binary files leave out what is 0, and so a zero's sign. Both spellings are to mean the same.
void DropSignsOfZeros(nlohmann::ordered_json* value) {
  if (value->is_number_float() && value->get<double>() == 0) *value = 0.0;
  if (!value->is_structured()) return;
  for (auto& item : *value) DropSignsOfZeros(&item);
}

bool IsFlat(const nlohmann::ordered_json& value) {
  if (!value.is_structured()) return true;
  for (const auto& item : value) {
    if (item.is_structured()) return false;
  }
  return true;
}

void Print(const nlohmann::ordered_json& value, const std::string& indent, bool top,
           std::string* text) {
  if ((IsFlat(value) && !top) || value.empty()) {
    *text += Compact(value);
    return;
  }
  const bool object = value.is_object();
  *text += object ? "{" : "[";
  const char* separator = "\n";
  for (const auto& [key, item] : value.items()) {
    *text += separator + indent + "  ";
    if (object) *text += Compact(key) + ": ";
    Print(item, indent + "  ", false, text);
    separator = ",\n";
  }
  *text += "\n" + indent + (object ? "}" : "]");
}

}  // namespace

std::string PrintJson(nlohmann::ordered_json value) {
  DropSignsOfZeros(&value);
  std::string text;
  Print(value, "", true, &text);
  return text + "\n";
}

void JsonWriter::Open(const char* key) {
  sink_((first_ ? "{\n  " : ",\n  ") + Compact(key) + ": ");
  first_ = false;
}

void JsonWriter::Field(const char* key, nlohmann::ordered_json value) {
  DropSignsOfZeros(&value);
  Open(key);
  std::string text;
  Print(value, "  ", false, &text);
  sink_(text);
}

void JsonWriter::List(const char* key, size_t count,
                      const std::function<nlohmann::ordered_json(size_t)>& item) {
  Open(key);
  if (count == 0) return sink_("[]");
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    nlohmann::ordered_json value = item(i);
    DropSignsOfZeros(&value);
    text = i == 0 ? "[\n    " : ",\n    ";
    Print(value, "    ", false, &text);
    sink_(text);
  }
  sink_("\n  ]");
}

void JsonWriter::End() { sink_("\n}\n"); }

}  // namespace sti
