// Several models that answer one stream of inputs. Built with ThreadSanitizer it shows that their
// threads share queues, cores and flash without a race (make tsan).
#include "api/served_models.h"

#include <chrono>
#include <future>
#include <thread>

#include "api/shard_memory.h"
#include "base/remedy.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/fault_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

/// One outcome, as it was told.
struct Told {
  size_t model = 0;
  std::string input;
  std::vector<float> values;  ///< empty where there is no answer
  std::string error;
  bool failed = false;
  uint64_t turn = 0;
};

/// Keeps what threads of models tell, and can keep one of them from going on.
class Listener {
 public:
  void Hear(const Served& served) {
    Told told{served.model, served.input, {}, "", served.failed, 0};
    if (served.answer != nullptr) {
      told.values = served.answer->run.values;
      told.turn = served.answer->turn;
    }
    if (served.error != nullptr) told.error = served.error->Message();
    std::unique_lock lock(mutex_);
    told_.push_back(std::move(told));
    changed_.notify_all();
    changed_.wait(lock, [&] { return served.model != held_; });
  }
  /// Lets the model's thread stay in what it tells next, until Release.
  void Hold(size_t model) {
    const std::lock_guard lock(mutex_);
    held_ = model;
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    held_ = SIZE_MAX;
    changed_.notify_all();
  }
  /// Waits until so many inputs of a model were told.
  void Await(size_t model, size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return CountOf(model) >= count; });
  }
  [[nodiscard]] std::vector<Told> Of(size_t model) {
    const std::lock_guard lock(mutex_);
    std::vector<Told> told;
    std::copy_if(told_.begin(), told_.end(), std::back_inserter(told),
                 [&](const Told& one) { return one.model == model; });
    return told;
  }

 private:
  [[nodiscard]] size_t CountOf(size_t model) const {
    return static_cast<size_t>(std::count_if(told_.begin(), told_.end(),
                                             [&](const Told& one) { return one.model == model; }));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t held_ = SIZE_MAX;
  std::vector<Told> told_;
};

class ServedModelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Succeeded(WriteTinyContainer(paths_[0], {.layers = 3, .seed = 1})));
    ASSERT_TRUE(Succeeded(WriteTinyContainer(
        paths_[1], {.layers = 4, .heads = 4, .hidden = 64, .ffn = 128, .labels = 5, .seed = 2})));
  }

  static Plan WholePlanOf(const ContainerFile& file) {
    auto plan = MakeWholePlan(file.index(), {});
    EXPECT_TRUE(Succeeded(plan));
    return std::move(plan).value();
  }
  [[nodiscard]] ModelToServe ModelOf(size_t at) const {
    auto file = ContainerFile::Open(paths_[at]);
    EXPECT_TRUE(Succeeded(file));
    Plan plan = WholePlanOf(*file);
    return {"model" + std::to_string(at), std::move(file).value(), std::move(plan), {}};
  }
  [[nodiscard]] std::vector<ModelToServe> BothModels() const {
    std::vector<ModelToServe> models;
    for (size_t at = 0; at < 2; ++at) models.push_back(ModelOf(at));
    return models;
  }
  ServingOptions Options() {
    ServingOptions options;
    options.threads = 2;
    options.encode = [](const Session& session, const std::string& input) -> Result<SessionInput> {
      if (input == "bad") return DataError("no input");
      STI_ASSIGN_OR_RETURN(Encoding encoding, session.Encode(input));
      return SessionInput(std::move(encoding));
    };
    options.tell = [this](const Served& served) { listener_.Hear(served); };
    return options;
  }
  std::unique_ptr<ServedModels> Serve(std::vector<ModelToServe> models, ServingOptions options) {
    auto served = ServedModels::Open(std::move(models), std::move(options));
    EXPECT_TRUE(Succeeded(served));
    return std::move(served).value();
  }
  /// Returns the logits of a model that is alone in its process.
  [[nodiscard]] std::vector<float> Alone(size_t at, const std::string& text) const {
    ModelToServe model = ModelOf(at);
    const auto session = Session::Open(std::move(model.file), std::move(model.plan), {});
    EXPECT_TRUE(Succeeded(session));
    Answer answer;
    EXPECT_TRUE(
        Succeeded((*session)->Ask((*session)->Encode(text).value(), Clock::now(), &answer)));
    return answer.run.values;
  }

  TempFolder folder_;
  const std::string paths_[2] = {folder_.File("a.sti"), folder_.File("b.sti")};
  Listener listener_;
};

TEST_F(ServedModelsTest, AnswersAsAloneAndInOrder) {
  const std::vector<std::string> texts = {"a", "a b c", "d c b a b c d", "b b"};
  std::map<std::string, std::vector<float>> alone[2];
  for (size_t at = 0; at < 2; ++at) {
    for (const std::string& text : texts) alone[at][text] = Alone(at, text);
  }
  const auto served = Serve(BothModels(), Options());
  constexpr size_t kTimes = 60;
  for (size_t i = 0; i < kTimes; ++i) {
    for (size_t at = 0; at < 2; ++at) EXPECT_TRUE(served->Give(at, texts[(i + at) % texts.size()]));
  }
  served->Finish();
  for (size_t at = 0; at < 2; ++at) {
    const std::vector<Told> told = listener_.Of(at);
    ASSERT_EQ(told.size(), kTimes);
    for (size_t i = 0; i < kTimes; ++i) {
      EXPECT_EQ(told[i].input, texts[(i + at) % texts.size()]);
      EXPECT_EQ(told[i].values, alone[at][told[i].input]);
      EXPECT_EQ(told[i].turn, i + 1);
    }
    EXPECT_TRUE(Succeeded(served->failure(at)));
  }
}

TEST_F(ServedModelsTest, AModelThatTakesLongKeepsNoOtherWaiting) {
  listener_.Hold(0);
  const auto served = Serve(BothModels(), Options());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(served->Give(0, "a"));
  listener_.Await(0, 1);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(served->Give(1, "a b"));
  listener_.Await(1, 50);
  EXPECT_EQ(listener_.Of(0).size(), 1U);
  listener_.Release();
  served->Finish();
  EXPECT_EQ(listener_.Of(0).size(), 10U);
}

TEST_F(ServedModelsTest, NeitherStarvesWhileBothAreFlooded) {
  const auto served = Serve(BothModels(), Options());
  for (size_t at = 0; at < 2; ++at) EXPECT_TRUE(served->Give(at, "a"));
  for (size_t at = 0; at < 2; ++at) listener_.Await(at, 1);
  constexpr size_t kInputs = 200;
  size_t of_other[2] = {};  // answered by the other model when one has answered all
  std::thread givers[2];
  for (size_t at = 0; at < 2; ++at) {
    givers[at] = std::thread([&, at] {
      for (size_t i = 1; i < kInputs; ++i) EXPECT_TRUE(served->Give(at, "a b c d"));
      listener_.Await(at, kInputs);
      of_other[at] = listener_.Of(1 - at).size();
    });
  }
  for (std::thread& giver : givers) giver.join();
  for (size_t at = 0; at < 2; ++at) EXPECT_GE(of_other[at], kInputs / 10);
  served->Finish();
}

TEST_F(ServedModelsTest, AnInputOfItsOwnErrorIsToldInItsTurn) {
  const auto served = Serve(BothModels(), Options());
  EXPECT_TRUE(served->Give(0, "a"));
  EXPECT_TRUE(served->Give(0, "bad"));
  EXPECT_TRUE(served->Give(0, "x", DataError("too long")));
  EXPECT_TRUE(served->Give(0, "b"));
  served->Finish();
  const std::vector<Told> told = listener_.Of(0);
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[1].error, "no input");
  EXPECT_FALSE(told[1].failed);
  EXPECT_EQ(told[2].error, "too long");
  EXPECT_EQ(told[3].turn, 4U);
  EXPECT_TRUE(Succeeded(served->failure(0)));
}

// Nobody waits for the next input of a model to hear that its plan was taken.
TEST_F(ServedModelsTest, APlanIsTakenByAModelThatWaits) {
  ServingOptions options = Options();
  options.turn_gap_us = 3600e6;  // a pause wakes it too
  options.idle_us = 3600e6;
  const auto served = Serve(BothModels(), std::move(options));
  EXPECT_TRUE(served->Give(1, "a"));
  listener_.Await(1, 1);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // until it waits for more, most likely
  std::promise<bool> taken;
  served->GivePlan(1, WholePlanOf(ModelOf(1).file),
                   [&](const Status& status) { taken.set_value(status.ok()); });
  auto heard = taken.get_future();
  ASSERT_EQ(heard.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_TRUE(heard.get());
  served->Finish();
}

TEST_F(ServedModelsTest, AModelWhoseRunFailsLeavesTheOtherAnswering) {
  std::vector<ModelToServe> models = BothModels();
  auto source = ContainerFile::Open(paths_[0]);
  ASSERT_TRUE(Succeeded(source));
  auto reader = source->reader().Clone();
  ASSERT_TRUE(Succeeded(reader));
  auto faulty = std::make_unique<FaultReader>(std::move(*reader));
  FaultReader& faults = *faulty;
  (void)models[0].file.ReplaceReader(std::move(faulty));
  const auto served = Serve(std::move(models), Options());
  EXPECT_TRUE(served->Give(0, "a"));
  listener_.Await(0, 1);
  faults.Inject({});
  EXPECT_TRUE(served->Give(0, "a"));
  listener_.Await(0, 2);
  faults.Heal();
  for (size_t at = 0; at < 2; ++at) EXPECT_TRUE(served->Give(at, "a"));
  served->Finish();
  const std::vector<Told> told = listener_.Of(0);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_TRUE(told[1].failed);
  EXPECT_NE(told[1].error, "");
  EXPECT_EQ(told[2].values, told[0].values) << "the next run starts afresh";
  EXPECT_TRUE(FailedWith(served->failure(0), ErrorKind::kReadFailed, ""));
  EXPECT_TRUE(Succeeded(served->failure(1)));
  EXPECT_EQ(listener_.Of(1).size(), 1U);
}

TEST_F(ServedModelsTest, WithoutMemoryAModelIsBrokenAndTheOtherIsNot) {
  ServingOptions options = Options();
  const auto encode = options.encode;
  options.encode = [encode](const Session& session, const std::string& input) {
    if (input == "huge") throw std::bad_alloc();
    return encode(session, input);
  };
  const auto served = Serve(BothModels(), std::move(options));
  for (const char* input : {"a", "huge", "a"}) EXPECT_TRUE(served->Give(0, input));
  EXPECT_TRUE(served->Give(1, "a"));
  served->Finish();
  const std::vector<Told> told = listener_.Of(0);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].error, "");
  EXPECT_EQ(told[2].error, "out of memory");
  EXPECT_TRUE(FailedWith(served->failure(0), ErrorKind::kNoMemory, ""));
  EXPECT_EQ(listener_.Of(1)[0].error, "");
}

TEST_F(ServedModelsTest, ClosingAnswersWhatIsAtHandAndDropsWhatWaits) {
  listener_.Hold(0);
  auto served = Serve(BothModels(), Options());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(served->Give(0, "a"));
  listener_.Await(0, 1);
  std::thread closer([&] { served.reset(); });
  listener_.Release();
  closer.join();
  EXPECT_GE(listener_.Of(0).size(), 1U);
}

TEST_F(ServedModelsTest, CancelledItDropsWhatWaitsAndWhatIsGiven) {
  std::atomic<bool> cancelled{false};
  ServingOptions options = Options();
  options.cancelled = [&] { return cancelled.load(); };
  listener_.Hold(0);
  const auto served = Serve(BothModels(), std::move(options));
  EXPECT_TRUE(served->Give(0, "a"));
  listener_.Await(0, 1);
  for (size_t i = 0; i < ServedModels::kMostWaiting; ++i) EXPECT_TRUE(served->Give(0, "a"));
  bool taken = true;
  std::thread giver([&] { taken = served->Give(0, "b"); });  // the queue is full
  cancelled = true;
  listener_.Release();
  giver.join();
  EXPECT_FALSE(taken);
  served->Finish();
  EXPECT_EQ(listener_.Of(0).size(), 1U);
}

TEST_F(ServedModelsTest, AQueueHoldsFewLongInputs) {
  listener_.Hold(0);
  const auto served = Serve(BothModels(), Options());
  EXPECT_TRUE(served->Give(0, "a"));
  listener_.Await(0, 1);
  const std::string longer(ServedModels::kMostWaitingBytes + 1, 'a');
  EXPECT_TRUE(served->Give(0, longer)) << "waits alone";
  std::thread giver([&] { EXPECT_TRUE(served->Give(0, "b")); });
  listener_.Release();
  giver.join();
  served->Finish();
  EXPECT_EQ(listener_.Of(0).size(), 3U);
}

TEST_F(ServedModelsTest, LongInputsOfAllModelsAreHeldOneAtATime) {
  listener_.Hold(0);
  std::atomic<int> rested{0};
  ServingOptions options = Options();
  options.rested = [&] { ++rested; };
  const auto served = Serve(BothModels(), std::move(options));
  const std::string longest(ServedModels::kMostHeldBytes, 'a');
  EXPECT_TRUE(served->Give(0, longest));
  listener_.Await(0, 1);
  EXPECT_TRUE(served->Give(1, "")) << "takes no room";
  std::atomic<bool> released{false};
  std::thread giver([&] {
    EXPECT_TRUE(served->Give(1, longest));
    EXPECT_TRUE(released) << "while the other was at hand";
  });
  // Time for a giver that does not wait to show it; one that waits is right at any time.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  released = true;
  listener_.Release();
  giver.join();
  served->Finish();
  EXPECT_EQ(listener_.Of(1).size(), 2U);
  EXPECT_EQ(rested, 2);
}

TEST_F(ServedModelsTest, APauseEndsTheEngagementAndGivesMemoryBack) {
  ServingOptions options = Options();
  std::atomic<int> rests{0};
  options.turn_gap_us = 1e3;
  options.idle_us = 2e3;
  options.rested = [&] { ++rests; };
  const auto await_rests = [&](int count) {
    for (int wait = 0; wait < 2000 && rests < count; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return rests.load();
  };
  const auto served = Serve(BothModels(), std::move(options));
  ASSERT_EQ(await_rests(2), 2) << "both models, before any input";
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(served->Give(0, "a b"));
    listener_.Await(0, static_cast<size_t>(i));
    EXPECT_EQ(await_rests(2 + i), 2 + i) << "the one that answered, once more";
  }
  served->Finish();
  for (const Told& told : listener_.Of(0)) {
    EXPECT_EQ(told.turn, 1U);
    EXPECT_EQ(told.values, listener_.Of(0)[0].values);
  }
}

TEST_F(ServedModelsTest, MemoryIsDividedOrTooLittle) {
  ServingOptions options = Options();
  const auto refused = [&](std::vector<ModelToServe> models) {
    options.own_bytes = 1000;
    auto served = ServedModels::Open(std::move(models), options);
    EXPECT_TRUE(FailedWith(served, ErrorKind::kInfeasible, "these models take together",
                           Remedy::kMoreMemory));
    return served.error().needed_bytes;
  };
  options.own_bytes = refused(BothModels());
  const auto served = Serve(BothModels(), options);
  for (size_t at = 0; at < 2; ++at) EXPECT_TRUE(served->Give(at, "a b c"));
  served->Finish();
  for (size_t at = 0; at < 2; ++at) EXPECT_EQ(listener_.Of(at)[0].values, Alone(at, "a b c"));
  // So it is where a plan, or its user, chooses another arithmetic, which takes other memory.
  const auto with_int8 = [&](bool planned) {
    std::vector<ModelToServe> models = BothModels();
    if (planned)
      models[1].plan.kernel = ParseKernel("other-int8");
    else
      models[1].options.compute = ComputeType::kInt8;
    return models;
  };
  for (const bool planned : {false, true}) {
    options.own_bytes = refused(with_int8(planned));
    const auto other = Serve(with_int8(planned), options);
    EXPECT_TRUE(other->Give(1, "a b c"));
    other->Finish();
    EXPECT_NE(listener_.Of(1).back().values, Alone(1, "a b c"));
  }
}

TEST_F(ServedModelsTest, AModelThatCannotBeOpenedIsNamed) {
  std::vector<ModelToServe> models = BothModels();
  models[1].plan.width = 1000;
  ServingOptions options = Options();
  EXPECT_TRUE(
      FailedWith(ServedModels::Open(std::move(models), options), ErrorKind::kForeign, "model1: "));
}

TEST_F(ServedModelsTest, ReadsInFlightAreThoseOfThePlanThatWantsMost) {
  std::vector<ModelToServe> models = BothModels();
  models[0].plan.read_bytes = models[1].plan.read_bytes = 65536;
  models[0].plan.read_depth = 2;
  models[1].plan.read_depth = 8;
  EXPECT_EQ(BytesInFlightOf(models), uint64_t{8} * 65536);
  models[0].plan.read_depth.reset();
  EXPECT_EQ(BytesInFlightOf(models), Host::kBytesInFlight);
}

TEST(DivideMemory, GivesWhatIsNeededThenLayersUpToAllThatIsStreamed) {
  const MemoryNeed needs[] = {{1000, 100, 400}, {2000, 300, 3000}};
  const auto refused = DivideMemory(needs, 3399);
  EXPECT_TRUE(FailedWith(refused, ErrorKind::kInfeasible, "3399 bytes", Remedy::kMoreMemory));
  EXPECT_EQ(refused.error().needed_bytes, 3400U);
  EXPECT_EQ(DivideMemory(needs, 3400).value(), (std::vector<uint64_t>{1100, 2300}));
  EXPECT_EQ(DivideMemory(needs, 3800).value(), (std::vector<uint64_t>{1200, 2600}));
  // The first holds all that it streams; the rest is the other's.
  EXPECT_EQ(DivideMemory(needs, 5400).value(), (std::vector<uint64_t>{1400, 4000}));
  EXPECT_EQ(DivideMemory(needs, 100000).value(), (std::vector<uint64_t>{1400, 5000}));
  EXPECT_EQ(DivideMemory({}, 0).value(), std::vector<uint64_t>());
}

}  // namespace
}  // namespace sti
