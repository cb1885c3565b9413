#include "import/tokenizer_steps.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace sti {
namespace {

using Json = nlohmann::json;

bool Is(const Json& object, const char* key, const Json& expected) {
  return object.is_object() && object.contains(key) && object[key] == expected;
}

// The type of a step as a word for messages.
std::string TypeOf(const Json* step) {
  if (step == nullptr) return "missing";
  if (!step->is_object() || !step->contains("type") || !(*step)["type"].is_string()) return "none";
  return (*step)["type"].get<std::string>();
}

bool HasType(const Json* step, const char* type) {
  return step != nullptr && Is(*step, "type", type);
}

// A switch of a step: its value, or `otherwise` where it is absent or null; empty if it is neither
// true nor false.
std::optional<bool> Switch(const Json& step, const char* key, bool otherwise) {
  if (!step.contains(key) || step[key].is_null()) return otherwise;
  if (!step[key].is_boolean()) return std::nullopt;
  return step[key].get<bool>();
}

// One piece of a template: the sequence "A" or "B", or a control token by its name.
struct Piece {
  std::string id;
  bool is_sequence = false;
  uint64_t type = 0;
};

std::optional<std::vector<Piece>> ReadPieces(const Json& step, const char* key) {
  if (!step.contains(key) || !step[key].is_array()) return std::nullopt;
  std::vector<Piece> pieces;
  for (const Json& entry : step[key]) {
    if (!entry.is_object() || entry.size() != 1) return std::nullopt;
    const bool is_sequence = entry.contains("Sequence");
    if (!is_sequence && !entry.contains("SpecialToken")) return std::nullopt;
    const Json& said = entry[is_sequence ? "Sequence" : "SpecialToken"];
    if (!said.is_object() || !said.contains("id") || !said["id"].is_string() ||
        !said.contains("type_id") || !said["type_id"].is_number_unsigned()) {
      return std::nullopt;
    }
    pieces.push_back({said["id"].get<std::string>(), is_sequence, said["type_id"].get<uint64_t>()});
  }
  return pieces;
}

std::optional<uint32_t> IdOfToken(const Json& step, const std::string& name) {
  if (!step.contains("special_tokens") || !step["special_tokens"].is_object()) return std::nullopt;
  const auto found = step["special_tokens"].find(name);
  if (found == step["special_tokens"].end() || !found->is_object() || !found->contains("ids")) {
    return std::nullopt;
  }
  const Json& ids = (*found)["ids"];
  if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_unsigned() ||
      ids[0].get<uint64_t>() > UINT32_MAX) {
    return std::nullopt;
  }
  return ids[0].get<uint32_t>();
}

// Reads a template of [CLS] A [SEP], and of [CLS] A [SEP] B [SEP] or [CLS] A [SEP] [SEP] B [SEP].
bool ReadTemplate(const Json& step, ControlLayout* layout) {
  const auto single = ReadPieces(step, "single");
  const auto pair = ReadPieces(step, "pair");
  if (!single || !pair || single->size() != 3 || pair->size() < 5 || pair->size() > 6) return false;
  const std::string& cls = single->front().id;
  const std::string& sep = single->back().id;
  const auto is_text = [](const Piece& piece, const char* id) {
    return piece.is_sequence && piece.id == id;
  };
  const auto is_token = [](const Piece& piece, const std::string& id) {
    return !piece.is_sequence && piece.id == id;
  };
  const bool doubled = pair->size() == 6;
  const std::vector<Piece>& p = *pair;
  bool right = is_token((*single)[0], cls) && is_text((*single)[1], "A") &&
               is_token((*single)[2], sep) && is_token(p[0], cls) && is_text(p[1], "A") &&
               is_token(p[2], sep) && (!doubled || is_token(p[3], sep)) &&
               is_text(p[p.size() - 2], "B") && is_token(p.back(), sep);
  const uint64_t second = p.back().type;
  for (const Piece& piece : *single) right = right && piece.type == 0;
  for (size_t i = 0; i < p.size(); ++i) right = right && p[i].type == (i < 3 ? 0 : second);
  const auto cls_id = IdOfToken(step, cls);
  const auto sep_id = IdOfToken(step, sep);
  if (!right || second > 1 || !cls_id || !sep_id) return false;
  *layout = {*cls_id, *sep_id, doubled, static_cast<uint32_t>(second)};
  return true;
}

// Reads BertProcessing or RobertaProcessing, which have ["[SEP]", 3] and ["[CLS]", 2].
bool ReadProcessing(const Json& step, bool doubled, ControlLayout* layout) {
  const auto id = [&](const char* key) -> std::optional<uint32_t> {
    if (!step.contains(key) || !step[key].is_array() || step[key].size() != 2) return {};
    const Json& value = step[key][1];
    if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) return {};
    return value.get<uint32_t>();
  };
  const auto cls = id("cls");
  const auto sep = id("sep");
  if (!cls || !sep) return false;
  *layout = {*cls, *sep, doubled, doubled ? 0U : 1U};
  return true;
}

}  // namespace

StepProblem ProblemOfWordPiece(const ObjectReader& tokenizer) {
  const Json* model = tokenizer.Find("model");
  if (model == nullptr || !model->is_object() ||
      (model->contains("type") && !Is(*model, "type", "WordPiece"))) {
    return "the tokenizer is " + TypeOf(model) + " and no WordPiece";
  }
  if (model->contains("continuing_subword_prefix") &&
      !Is(*model, "continuing_subword_prefix", "##")) {
    return "pieces continue with another prefix than \"##\"";
  }
  if (model->contains("max_input_chars_per_word") && !Is(*model, "max_input_chars_per_word", 100)) {
    return "words may have another length than 100 characters";
  }
  return {};
}

StepProblem ReadBertNormalizer(const ObjectReader& tokenizer, TokenizerInfo* info) {
  const Json* step = tokenizer.Find("normalizer");
  if (!HasType(step, "BertNormalizer")) {
    return "the normalizer is " + TypeOf(step) + " and no BertNormalizer";
  }
  const auto clean = Switch(*step, "clean_text", true);
  const auto lowercase = Switch(*step, "lowercase", true);
  const auto accents = Switch(*step, "strip_accents", lowercase.value_or(true));
  const auto chinese = Switch(*step, "handle_chinese_chars", true);
  if (!clean || !lowercase || !accents || !chinese) {
    return "the normalizer has a switch that is neither true nor false";
  }
  if (!*clean) return "clean_text of the normalizer is false";
  info->lowercase = *lowercase;
  info->strip_accents = *accents;
  info->split_chinese = *chinese;
  return {};
}

StepProblem ProblemOfBertPreTokenizer(const ObjectReader& tokenizer) {
  const Json* step = tokenizer.Find("pre_tokenizer");
  if (HasType(step, "BertPreTokenizer")) return {};
  return "the pre_tokenizer is " + TypeOf(step) + " and no BertPreTokenizer";
}

StepProblem ProblemOfBpe(const ObjectReader& tokenizer) {
  const Json* model = tokenizer.Find("model");
  if (model == nullptr || !model->is_object() ||
      (model->contains("type") && !Is(*model, "type", "BPE"))) {
    return "the tokenizer is " + TypeOf(model) + " and no BPE";
  }
  const Json unset[] = {nullptr, false, "", 0.0};
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                          "byte_fallback", "ignore_merges"}) {
    if (!model->contains(key) ||
        std::find(std::begin(unset), std::end(unset), (*model)[key]) != std::end(unset)) {
      continue;
    }
    return "model." + std::string(key) + " is set";
  }
  return {};
}

StepProblem ProblemOfNormalizer(const ObjectReader& tokenizer) {
  const Json* step = tokenizer.Find("normalizer");
  return step == nullptr ? StepProblem() : "the normalizer is " + TypeOf(step) + " and not missing";
}

StepProblem ReadByteLevel(const ObjectReader& tokenizer, TokenizerInfo* info) {
  const Json* step = tokenizer.Find("pre_tokenizer");
  if (!HasType(step, "ByteLevel")) {
    return "the pre_tokenizer is " + TypeOf(step) + " and no ByteLevel";
  }
  const auto pattern = Switch(*step, "use_regex", true);
  const auto space = Switch(*step, "add_prefix_space", false);
  if (!pattern || !space) {
    return "use_regex or add_prefix_space of the pre_tokenizer is neither true nor false";
  }
  if (!*pattern) return "use_regex of the pre_tokenizer is false";
  info->add_prefix_space = *space;
  return {};
}

StepProblem ReadLayout(const ObjectReader& tokenizer, ControlLayout* layout) {
  const Json* step = tokenizer.Find("post_processor");
  if (HasType(step, "Sequence") && step->contains("processors") &&
      (*step)["processors"].is_array()) {
    const Json* only = nullptr;
    for (const Json& part : (*step)["processors"]) {
      if (Is(part, "type", "ByteLevel")) continue;
      if (only != nullptr) return "the post_processor is more than one";
      only = &part;
    }
    step = only;
  }
  bool right = false;
  if (HasType(step, "BertProcessing")) right = ReadProcessing(*step, false, layout);
  if (HasType(step, "RobertaProcessing")) right = ReadProcessing(*step, true, layout);
  if (HasType(step, "TemplateProcessing")) right = ReadTemplate(*step, layout);
  if (right) return {};
  return "the post_processor is " + TypeOf(step) +
         " and not one begin, one end, and one or two separators between texts";
}

StepProblem ProblemOfFrame(const ObjectReader& tokenizer) {
  const Json* step = tokenizer.Find("post_processor");
  if (step == nullptr || HasType(step, "ByteLevel")) return {};
  return "the post_processor is " + TypeOf(step) + ", which may add control tokens";
}

StepProblem ProblemOfLayout(const ObjectReader& tokenizer, const ControlLayout& ours,
                            const char* compared) {
  ControlLayout layout;
  StepProblem problem = ReadLayout(tokenizer, &layout);
  if (!problem.empty() || layout == ours) return problem;
  return "the post_processor has other " + std::string(compared) + " than the settings";
}

Result<const Json*> FindVocabulary(const ObjectReader& tokenizer) {
  const Json* model = tokenizer.Find("model");
  if (model == nullptr || !model->is_object() || !model->contains("vocab")) {
    return tokenizer.Bad("no model.vocab; get a sound copy");
  }
  return &(*model)["vocab"];
}

Status RefuseStep(const ObjectReader& tokenizer, const StepProblem& problem, const char* whose) {
  if (problem.empty()) return {};
  return tokenizer.Unsupported(problem + "; only " + whose + " steps are supported");
}

Status TakeControlTokens(const ObjectReader& tokenizer, const ControlLayout& layout,
                         std::string_view vocabulary, SpecialNames* names, TokenizerInfo* info) {
  const Json* model = tokenizer.Find("model");
  if (model != nullptr && model->contains("unk_token") && (*model)["unk_token"].is_string()) {
    names->unknown = (*model)["unk_token"].get<std::string>();
  }
  const auto unknown = FindToken(vocabulary, names->unknown);
  if (!unknown) {
    return tokenizer.Bad("no token " + names->unknown + "; use the vocabulary of this model");
  }
  info->unknown_id = *unknown;
  info->cls_id = layout.cls_id;
  info->sep_id = layout.sep_id;
  info->pad_id = FindToken(vocabulary, names->pad).value_or(info->pad_id);
  for (const auto& [id, name] :
       {std::pair{layout.cls_id, &names->cls}, std::pair{layout.sep_id, &names->sep}}) {
    *name = LineOf(vocabulary, id);
    if (!name->empty()) continue;
    return tokenizer.Bad("the post_processor has token " + std::to_string(id) +
                         ", which the vocabulary does not have; get a sound copy");
  }
  return {};
}

std::optional<bool> CutsBegin(const ObjectReader& tokenizer) {
  const Json* cut = tokenizer.Find("truncation");
  if (cut == nullptr || !cut->is_object()) return std::nullopt;
  return Is(*cut, "direction", "Left");
}

}  // namespace sti
