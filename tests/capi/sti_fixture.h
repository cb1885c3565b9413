// A tiny model, open through sti.h, and what a session answers under the same plan.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/session.h"
#include "capi/sti.h"
#include "format/plan_file.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tokenizer.h"

namespace sti {

/// Returns success if `code` and `error` say what was expected.
inline ::testing::AssertionResult Is(sti_code expected, sti_code code, const sti_error& error) {
  if (code == expected && error.code == code) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "code " << code << ", not " << expected << "; error "
                                       << error.code << ": " << error.text;
}

/// Returns the scores of this thread's last answer, label by label.
inline std::vector<double> ScoresOf(sti_model* model) {
  std::vector<double> scores;
  for (int32_t label = 0; !std::isnan(sti_score(model, label)); ++label)
    scores.push_back(sti_score(model, label));
  return scores;
}

class StiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 3;
    model.extra_tokens = extra_tokens_;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
    bytes_ = FileBytes(path_);
    ASSERT_TRUE(Is(STI_OK, sti_host_new(2, nullptr, nullptr, &host_, &error_), error_));
    ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &model_, &error_), error_));
  }
  void TearDown() override {
    sti_close(model_);
    sti_host_free(host_);
  }

  sti_code Run(std::string_view text) { return RunOn(model_, text); }
  sti_code RunOn(sti_model* model, std::string_view text) {
    return sti_run(model, text.data(), text.size(), nullptr, 0, &error_);
  }
  // A session on the whole model at so many bits; 0: at its most.
  [[nodiscard]] std::unique_ptr<Session> OpenSession(uint32_t bits = 0) const {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    auto plan = MakeWholePlan(file->index(), WholeAt(bits));
    EXPECT_TRUE(Succeeded(plan));
    auto session = Session::Open(std::move(*file), std::move(*plan), {});
    EXPECT_TRUE(Succeeded(session));
    return std::move(*session);
  }
  // The scores that a session gives, which is opened for this alone.
  [[nodiscard]] std::vector<double> Expected(std::string_view text, uint32_t bits = 0) const {
    const auto session = OpenSession(bits);
    const auto encoding = session->Encode(text);
    EXPECT_TRUE(Succeeded(encoding));
    Answer answer;
    EXPECT_TRUE(Succeeded(session->Ask(*encoding, Clock::now(), &answer)));
    return {answer.labels().scores.begin(), answer.labels().scores.end()};
  }
  static WholePlanOptions WholeAt(uint32_t bits) {
    WholePlanOptions whole;
    if (bits != 0) whole.bits = bits;
    return whole;
  }
  // A plan file of the whole model.
  [[nodiscard]] std::string PlanAt(uint32_t bits, bool json = true) const {
    const auto file = ContainerFile::Open(path_);
    const auto plan = MakeWholePlan(file->index(), WholeAt(bits));
    if (json) return PlanToJson(*plan);
    const auto bytes = EncodePlan(*plan);
    return {bytes.begin(), bytes.end()};
  }
  sti_code Give(int32_t kind, const std::string& bytes) {
    return sti_give(model_, kind, bytes.data(), bytes.size(), &error_);
  }

  uint32_t extra_tokens_ = 0;  // which no text has
  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  std::vector<uint8_t> bytes_;
  sti_host* host_ = nullptr;
  sti_model* model_ = nullptr;
  sti_error error_{};
};

}  // namespace sti
