#include "format/model_parse.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/utf8.h"
#include "container_generated.h"
#include "format/container_header.h"
#include "format/flatbuffer_values.h"
#include "network/families.h"
#include "network/traits.h"
#include "types/limits.h"

namespace sti {
namespace {

// Parses field by field into a model; the first complaint wins.
class ModelParser {
 public:
  ModelParser(const fb::ContainerIndex& source, uint64_t index_end, const std::string& name)
      : source_(source), index_end_(index_end), name_(name) {}

  Result<ParsedModel> Parse() {
    STI_RETURN_IF_ERROR(CheckTraits());
    STI_RETURN_IF_ERROR(ParseShape());
    STI_RETURN_IF_ERROR(ParseInfo());
    STI_RETURN_IF_ERROR(ParseDepths());
    return std::move(model_);
  }

 private:
  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError(what).At("index").At(name_).Fix(Remedy::kMakeModelAgain);
  }

  // Refuses a network that does what this library does not compute, before anything else is read.
  Status CheckTraits() const {
    if (source_.traits() == nullptr) return {};
    for (const auto* trait : *source_.traits()) {
      const std::string_view name = trait->string_view();
      if (IsKnownTrait(name)) continue;
      if (!IsPlainText(name, kMaxShortTextBytes)) return Bad("a trait without a plain name");
      return Bad("the model's network has the trait \"" + std::string(name) +
                 "\", which this tool does not know");
    }
    return {};
  }

  // The names say what the fields do.
  [[nodiscard]] bool TraitsFit() const {
    std::vector<std::string_view> traits = TraitsOf(model_.info);
    if (source_.stage() != nullptr) traits.push_back(kStageTrait);
    const auto* stored = source_.traits();
    if (stored == nullptr) return traits.empty();
    return std::equal(
        stored->begin(), stored->end(), traits.begin(), traits.end(),
        [](const auto* name, std::string_view trait) { return name->string_view() == trait; });
  }

  Status ParseShape() {
    if (source_.shape() == nullptr || source_.model() == nullptr) return Bad("no shape or digest");
    const fb::Shape& s = *source_.shape();
    model_.info.shape = {s.layers(),     s.width(),         s.hidden(),      s.ffn(),
                         s.vocabulary(), s.max_positions(), s.token_types(), s.labels()};
    auto within = [](uint32_t value, uint32_t limit) { return value >= 1 && value <= limit; };
    if (!within(s.layers(), kMaxLayers) || !within(s.width(), kMaxWidth) ||
        !within(s.hidden(), kMaxHidden) || !within(s.ffn(), kMaxFfn) ||
        !within(s.max_positions(), kMaxPositions) || s.labels() > kMaxLabels ||
        (s.labels() == 0 && source_.head() == 0)) {
      return Bad("shape outside the limits");
    }
    model_.info.shape.norm_before = source_.norm_before();
    model_.info.shape.causal = source_.causal();
    if (source_.image() != nullptr) {
      STI_RETURN_IF_ERROR(ParseImage(*source_.image()));
    } else if (!within(s.vocabulary(), kMaxVocabulary) || s.token_types() > kMaxTokenTypes ||
               (s.token_types() == 0) != source_.norm_before()) {
      // With norms behind, a family without types keeps a row of zeros for them, as in 1.0.
      return Bad("shape outside the limits");
    }
    if (source_.embedding() != 0) {
      if (source_.embedding() > kMaxHidden || source_.embedding() == s.hidden()) {
        return Bad("embedding");
      }
      model_.info.shape.embedding = source_.embedding();
    }
    if (s.hidden() % s.width() != 0 || s.ffn() % s.width() != 0) {
      return Bad("width does not divide the shape");
    }
    return {};
  }

  // Since 1.8. A model of images has no words, and a position for each patch and the class token.
  Status ParseImage(const fb::Image& stored) {
    const ImageShape image = {stored.size(), stored.patch(), stored.channels()};
    if (!IsImageShape(image)) return Bad("an image outside the limits");
    ModelInfo& info = model_.info;
    info.shape.image = image;
    if (info.shape.vocabulary != 0 || info.shape.token_types != 0 || source_.embedding() != 0 ||
        info.shape.max_positions != uint64_t{image.patches()} + 1) {
      return Bad("a model of images with words, or with other positions than its patches have");
    }
    const auto* mean = source_.pixel_mean();
    const auto* deviation = source_.pixel_deviation();
    if (mean == nullptr || deviation == nullptr) return Bad("no scale of pixels");
    info.pixels = {{mean->begin(), mean->end()}, {deviation->begin(), deviation->end()}};
    return IsPixelScale(info.pixels, image.channels) ? Status() : Bad("a scale of pixels");
  }

  Status ParseInfo() {
    ModelInfo& info = model_.info;
    const auto* labels = source_.labels();
    const auto* tokenizer = source_.tokenizer();
    if (source_.data_type() > 2 || source_.activation() > 2 || source_.codebook() > 2 ||
        source_.layout() > 1) {
      return Bad("a type, activation, codebook or layout this tool does not know");
    }
    if (labels == nullptr || labels->size() != info.shape.labels) return Bad("labels missing");
    if (tokenizer == nullptr) return Bad("no tokenizer");
    STI_RETURN_IF_ERROR(ParseTokenizer(*tokenizer));
    STI_RETURN_IF_ERROR(ParseHead());
    STI_RETURN_IF_ERROR(ParseArchitecture());
    if (!(source_.layer_norm_eps() >= 0 && source_.layer_norm_eps() <= 1)) return Bad("norm eps");
    info.data_type = static_cast<DataType>(source_.data_type());
    info.activation = static_cast<Activation>(source_.activation());
    info.layer_norm_eps = source_.layer_norm_eps();
    info.elastic = source_.elastic();
    // A file of 1.0 or 1.1 lacks the least depth, and absent it is 0.
    info.min_depth = std::max(source_.min_depth(), 1U);
    if (info.min_depth > info.shape.layers) return Bad("min_depth");
    info.min_width = source_.min_width();
    if (info.min_width < 1 || info.min_width > info.shape.width) return Bad("min_width");
    return ParseLabels(*labels);
  }

  Status ParseTokenizer(const fb::TokenizerOptions& options) {
    TokenizerInfo& info = model_.info.tokenizer;
    if (options.kind() > 1) return Bad("a tokenizer this tool does not know");
    if (!model_.info.has_text()) return {};  // it reads nothing
    info = {options.lowercase(),  options.strip_accents(), options.split_chinese(),
            options.unknown_id(), options.cls_id(),        options.sep_id(),
            options.pad_id()};
    info.kind = static_cast<TokenizerKind>(options.kind());
    info.add_prefix_space = options.add_prefix_space();
    for (uint32_t id : {info.unknown_id, info.cls_id, info.sep_id, info.pad_id}) {
      if (id >= model_.info.shape.vocabulary) return Bad("a special token outside the vocabulary");
    }
    if (options.unicode() == nullptr) return {};
    if (!IsPlainText(options.unicode()->string_view(), kMaxShortTextBytes)) {
      return Bad("unicode is not at most 64 bytes of printable ASCII");
    }
    model_.unicode = options.unicode()->str();
    return {};
  }

  // The pooler and the problem came with 1.1, heads that embed with 1.5, those that label tokens
  // with 1.6, and the one that gives the next token with 1.9.
  Status ParseHead() {
    ModelInfo& info = model_.info;
    if (source_.pooler() > 3 || source_.problem() > 1 || source_.head() > 3 ||
        source_.pooling() > 4) {
      return Bad("a pooler, problem, head or pooling this tool does not know");
    }
    info.pooler = static_cast<PoolerActivation>(source_.pooler());
    info.problem = static_cast<Problem>(source_.problem());
    info.head = {static_cast<HeadOutput>(source_.head()), static_cast<Pooling>(source_.pooling()),
                 source_.unit_length()};
    info.shape.has_pooler = info.pooler != PoolerActivation::kNone;
    return HeadFits(info) ? Status() : Bad("a head of other parts than it says");
  }

  // A model that embeds has neither pooler nor labels, and one that labels tokens no pooler. One
  // that labels inputs has a pooler, or since 1.8 the last norm of norms in front, which alone have
  // such a head.
  static bool HeadFits(const ModelInfo& info) {
    const ModelShape& shape = info.shape;
    if (info.continues_texts() != shape.causal) return false;
    if (info.continues_texts()) {
      return shape.norm_before && shape.labels == 0 && info.head == HeadTraits::OfNextToken() &&
             !shape.has_pooler && info.problem == Problem::kSingleLabel;
    }
    if (info.has_labels()) {
      return shape.labels > 0 && info.head == HeadTraits() && shape.has_pooler != shape.norm_before;
    }
    if (shape.norm_before) return false;
    if (shape.has_pooler || info.problem != Problem::kSingleLabel) return false;
    if (info.labels_tokens()) return shape.labels > 0 && info.head == HeadTraits::OfTokenLabels();
    return shape.labels == 0 && info.head.pooling < Pooling::kNone;
  }

  // Fields of version 1.1. A file of 1.0 lacks them, and absent they are 0: what 1.0 meant.
  Status ParseArchitecture() {
    ModelInfo& info = model_.info;
    const Family* family = FindFamily(source_.architecture());
    if (family == nullptr) return Bad("an architecture this tool does not know");
    info.architecture = family->architecture;
    if ((family->input == FamilyInput::kTexts) != info.has_text() ||
        family->norm_before != info.shape.norm_before || family->causal != info.shape.causal) {
      return Bad("a network other than its architecture's");
    }
    info.tokenizer.has_frame = family->has_frame;
    if (!TraitsFit()) return Bad("traits other than those of the network");
    if (!info.has_text()) {
      return source_.position_offset() == 0 ? Status() : Bad("position_offset");
    }
    info.position_offset = source_.position_offset();
    const bool bpe = info.tokenizer.kind == TokenizerKind::kByteBpe;
    if (info.position_offset != 0 && (!bpe || info.shape.norm_before))
      return Bad("position_offset");
    return ParseInputs(*source_.tokenizer());
  }

  // Fields of version 1.3, whose vocabulary says by its kind that they are there.
  Status ParseInputs(const fb::TokenizerOptions& options) {
    ModelInfo& info = model_.info;
    info.tokenizer.max_length = options.max_length();
    info.tokenizer.cuts_begin = options.cuts_begin();
    const bool two_types = FamilyOf(info).has_two_types && !options.one_type();
    info.tokenizer.second_type = two_types ? 1 : 0;
    const bool fits = info.position_offset < info.shape.max_positions;
    if (!fits || info.max_length() < info.min_length())
      return Bad("no room for the shortest input");
    if (info.tokenizer.max_length > info.shape.max_positions - info.position_offset) {
      return Bad("max_length above the positions");
    }
    return {};
  }

  // Offsets may name one long text many times, so that copies outgrow the file.
  Status ParseLabels(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>& labels) {
    uint64_t bytes = 0;
    for (const auto* label : labels) bytes += label->size();
    if (bytes > index_end_ - kContainerHeaderBytes) return Bad("labels longer than the index");
    for (const auto* label : labels) model_.info.labels.push_back(label->str());
    const std::string problem = ProblemOfLabels(model_.info.labels);
    return problem.empty() ? Status() : Bad(problem);
  }

  Status ParseDepths() {
    const auto* rows = source_.depth_layers();
    uint32_t layers = model_.info.shape.layers;
    if (rows == nullptr || rows->size() != layers) return Bad("depth map missing");
    for (uint32_t n = 1; n <= layers; ++n) {
      const auto* row = rows->Get(n - 1)->layers();
      if (row == nullptr || row->size() != n) return Bad("depth map has a row of another length");
      std::vector<uint32_t> depth(row->begin(), row->end());
      if (!IsDepthRow(depth, n, layers)) return Bad("depth map is not ascending");
      model_.info.depth_layers.push_back(std::move(depth));
    }
    return {};
  }

  const fb::ContainerIndex& source_;
  uint64_t index_end_;
  const std::string& name_;
  ParsedModel model_;
};

}  // namespace

Result<ParsedModel> ParseModel(const fb::ContainerIndex& source, uint64_t index_end,
                               const std::string& name) {
  return ModelParser(source, index_end, name).Parse();
}

}  // namespace sti
