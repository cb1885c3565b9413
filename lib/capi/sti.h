/* sti.h: transformers on a small device, inside a latency and a few megabytes of memory.
 *
 * A host holds the cores and the flash that its models share. A model is a container made by
 * sti-shard, open, under a plan: which of its shards are loaded, at how many bits each, and in
 * which order. Without a plan the whole model runs at its most bits.
 *
 *     sti_host *host = NULL;
 *     sti_model *model = NULL;
 *     sti_error error;
 *     if (sti_host_new(0, NULL, NULL, &host, &error) == STI_OK &&
 *         sti_open(host, "model.sti", &model, &error) == STI_OK &&
 *         sti_give(model, STI_PLAN, plan, plan_bytes, &error) == STI_OK &&
 *         sti_run(model, text, strlen(text), NULL, 0, &error) == STI_OK)
 *       puts(sti_name(model, sti_label(model, 0)));
 *     else
 *       puts(error.text);
 *     sti_close(model);
 *     sti_host_free(host);
 *
 * Codes. A call that can fail returns an sti_code and fills `error`, which may be NULL, with the
 * code and one line of text: what is wrong, where, and what would help. After a call that failed
 * everything is as it was before, but where the call says otherwise; a handle that was to be made
 * is NULL.
 *
 * Threads. Every function may be called by any thread at any time, with two exceptions. A handle
 * must not be used once closing it has begun, so join the threads that use it, or know that they
 * are within a call. A callback must not call the library: such calls give STI_USAGE, and closing
 * does nothing. Calls for one model take turns, in the order in which they came. sti_label,
 * sti_score, sti_name, sti_stat and sti_cancel never wait for a call under way.
 *
 * Forks. A handle is of the process that made it. In a forked child its calls give STI_USAGE, there
 * are no labels and figures, and freeing it frees nothing. A host that the child makes, and models
 * that it opens on that, are its own.
 *
 * Answers. Each thread reads the answer of its own last sti_run of a model. A model keeps the
 * answers of the 256 threads that ran it last.
 *
 * Guest. The library prints nothing, ends no process, and reads no environment. It throws nothing,
 * handles no signal and changes no locale. It rounds to nearest, whatever the calling thread does,
 * and leaves that as it was. Where memory runs out the code is STI_NO_MEMORY, and the
 * model can be used on.
 *
 * Numbers. Codes, kinds, options and figures are numbers which keep their meaning. Later versions
 * only add some. Times are microseconds, sizes bytes.
 */
#ifndef STI_H_
#define STI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t sti_code;
#define STI_OK 0
#define STI_MACHINE 1      /* the system refuses: no thread, no such instructions */
#define STI_NO_MEMORY 2    /* memory ran out */
#define STI_READ_FAILED 3  /* the device, its file system or a callback failed a read */
#define STI_USAGE 4        /* the call makes no sense: NULL, an unknown option, a missing profile */
#define STI_NO_SUCH_FILE 5 /* there is no such file, or none that this user may read */
#define STI_DAMAGED 6      /* bytes break the rules of their format */
#define STI_FOREIGN 7      /* bytes are sound, but newer, or of another model */
#define STI_INFEASIBLE 8   /* the target, or the memory, cannot be met */
#define STI_CANCELLED 9    /* sti_cancel ended the call, or sti_close came before its turn */
#define STI_BAD_INPUT 10   /* this text or these ids are no input of the model; others may be */

/* An error, in memory of the caller. Its size never changes. */
typedef struct sti_error {
  sti_code code;
  int32_t about;  /* STI_PLAN and the like: which of what was given is at fault; or 0 */
  char text[504]; /* UTF-8 without control characters, cut to fit, with a 0 behind it */
} sti_error;

typedef struct sti_host sti_host;
typedef struct sti_model sti_model;

/* Returns the version of the library, such as "0.1.0"; valid for ever. */
const char* sti_version(void);

/* ---- Hosts ---- */

#define STI_LOG_INFO 0
#define STI_LOG_WARNING 1

/* Receives one line of a log, which is valid during the call, from any thread. It is called until
 * the last model of the host is closed, and while the model that has something to say is in use: a
 * lock that callers of sti_run hold must not be taken there. */
typedef void (*sti_log)(void* user, int32_t level, const char* line);

/* Makes a host whose models compute on `threads` threads; 0: on as many cores as the system lets
 * this process use. Where the system gives fewer threads, it goes on with those. `log` may be
 * NULL. */
sti_code sti_host_new(uint32_t threads, sti_log log, void* user, sti_host** host, sti_error* error);

/* Frees a host. Its models can be used on; the last one takes its threads along. NULL: nothing. */
void sti_host_free(sti_host* host);

/* ---- Models ---- */

/* Opens the container at `path`: a file, or a block device that begins with one. Reads its index
 * alone. */
sti_code sti_open(sti_host* host, const char* path, sti_model** model, sti_error* error);

/* Opens the container in `length` bytes at `offset` of what `fd` has open for reading; 0 bytes: up
 * to where the container ends. The descriptor is duplicated. At an offset that is a multiple of
 * 4096 reads go past the page cache as those of a path do, at any other through it. */
sti_code sti_open_fd(sti_host* host, int fd, uint64_t offset, uint64_t length, sti_model** model,
                     sti_error* error);

/* Reads up to `bytes` bytes at `offset` into `buffer`. Returns their number, which may be smaller;
 * 0 at the end; or a negative number where the read failed. Called by threads of the library,
 * several at a time, until the model is closed. */
typedef int64_t (*sti_read_at)(void* user, uint64_t offset, void* buffer, uint64_t bytes);

/* Opens the container of `length` bytes that a callback reads, such as encrypted storage. */
sti_code sti_open_read(sti_host* host, sti_read_at read_at, void* user, uint64_t length,
                       sti_model** model, sti_error* error);

/* Closes a model, after the call for it that is under way; those that wait for their turn give
 * STI_CANCELLED. A read that hangs is waited for. NULL: nothing. */
void sti_close(sti_model* model);

/* ---- Plans ---- */

#define STI_PLAN 1
#define STI_PROFILE 2
#define STI_IMPORTANCE 3
#define STI_EXAMPLES 4

/* Gives the model a file's content in either of its spellings, which is copied. STI_PLAN: the model
 * goes on under it at once; one that does not fit, cannot be loaded or is cancelled leaves the old
 * one in force, with its guarantee.
 * STI_PROFILE and STI_IMPORTANCE: sti_plan makes plans from them.
 * STI_EXAMPLES, for a model that embeds: it gives the label whose examples are nearest to a text
 * from now on, instead of its embedding. The content is what sti-run --keep wrote, or a data set
 * with a label for each text, which is embedded now, a run an example. They are of the plan in
 * force: STI_FOREIGN for a plan of other layers, slices or bits, until the examples are taken back
 * by a `size` of 0. */
sti_code sti_give(sti_model* model, int32_t kind, const void* bytes, size_t size, sti_error* error);

/* Measures this device with this model, which is best done once, and plans by that from now on.
 * Samples take about `budget_us`, and finding how the device likes to be read some seconds more,
 * less than half of that if `budget_us` is below a second.
 * Measures images, or texts of 16 to 128 and of STI_LENGTH tokens, in the arithmetic of
 * STI_COMPUTE. What the model had loaded is given back first; measuring takes memory for all its
 * shards, whatever STI_MEMORY_BYTES says. Writes the profile, of `*size` bytes, to `buffer` of
 * `room` bytes, for the app to keep and to give next time. Where there is not enough room the code
 * is STI_USAGE, `*size` says how much it takes, and the model keeps what was measured. `budget_us`
 * 0: measures nothing, and writes the profile that the model has. */
sti_code sti_profile(sti_model* model, uint64_t budget_us, void* buffer, size_t room, size_t* size,
                     sti_error* error);

/* Options that plans are made by: they count from the next sti_plan. */
#define STI_TARGET_US 1         /* latency that a plan must meet */
#define STI_PRELOAD_BYTES 2     /* shards that stay in memory between inputs [0] */
#define STI_MEMORY_BYTES 3      /* the model's own memory, index not counted; counts at once too */
#define STI_LENGTH 4            /* longest input in tokens [0: a plan each profiled length] */
#define STI_LEAD_TIME_US 5      /* time between sti_wake and the text [0] */
#define STI_TURNS 6             /* inputs that come back to back, up to sti_end_turns [0: one] */
#define STI_MIN_ACCURACY_PPM 7  /* the fastest of this accuracy, F1 or cosine, millionths [0] */
#define STI_FULL_ACCURACY_PPM 8 /* of the full model, where the importance has no labels */
#define STI_GUARANTEE 9         /* 1: labels in time under STI_LATE_DEGRADE, by a fallback [0] */
#define STI_CONTEXT 10          /* most tokens of prompt and continuation [0: as STI_LENGTH] */
/* Options of runs: they count from the next call, which loads the model again, but for the
 * threshold and the aggregation. So it does after STI_MEMORY_BYTES; what is over a lower bound is
 * given back at once.
 */
#define STI_LATE 16          /* fate of an input whose reads are late [STI_LATE_WAIT] */
#define STI_COMPUTE 17       /* arithmetic of layers [STI_COMPUTE_AS_PLANNED] */
#define STI_THRESHOLD_PPM 18 /* least score of a label of a multi-label model [500000] */
#define STI_CLOCK_KHZ 19     /* clock of the cores, for plans with one for each [0: not known] */
#define STI_LOCK_MEMORY 20   /* 1: shards and working memory stay in RAM, where allowed [0] */
#define STI_AGGREGATION 21   /* how tokens become spans [STI_AGGREGATION_FIRST] */
#define STI_WINDOW 22 /* longer texts are read in windows of so many tokens [0: they are cut] */
#define STI_STRIDE 23 /* most tokens from one window to the next [0: half a window] */

#define STI_LATE_WAIT 0    /* it keeps its bits and misses the target */
#define STI_LATE_DEGRADE 1 /* it is computed with what has arrived; the plan needs a target */

#define STI_COMPUTE_AS_PLANNED 0
#define STI_COMPUTE_FP32 1
#define STI_COMPUTE_BF16 2
#define STI_COMPUTE_INT8 3

/* Words have the label of their first token; of the greatest mean probability; of the token with
 * the greatest. Or tokens are joined without regard to words, or each stays alone. */
#define STI_AGGREGATION_FIRST 0
#define STI_AGGREGATION_AVERAGE 1
#define STI_AGGREGATION_MAX 2
#define STI_AGGREGATION_SIMPLE 3
#define STI_AGGREGATION_NONE 4

/* Sets an option; 0 sets back one that is not set. */
sti_code sti_set(sti_model* model, int32_t option, int64_t value, sti_error* error);

/* Makes a plan for the options from the profile and, where given, the importance, and goes on under
 * it as under one that is given. Called again, it counts on the times of the runs under the last
 * plan: a device that has become slower gets a plan that meets the target there. A profile that is
 * given or measured meanwhile begins anew. */
sti_code sti_plan(sti_model* model, sti_error* error);

/* ---- Inputs ---- */

/* Begins to read what the next input needs, before its text is known. */
sti_code sti_wake(sti_model* model, sti_error* error);

/* Answers a text of `size` bytes of UTF-8, or a pair of texts; `pair` NULL: there is none. Bytes
 * that are not UTF-8 count as U+FFFD. What is too long is cut (STI_TRUNCATED), or under STI_WINDOW
 * read in windows, of a pair the second text: each is a run within the target, and the answer is
 * made of all (STI_WINDOWS). An engagement, in which inputs are turns, begins anew where the model
 * is loaded again. */
sti_code sti_run(sti_model* model, const char* text, size_t size, const char* pair,
                 size_t pair_size, sti_error* error);

/* Answers `count` token ids, control tokens included, all of the first token type. */
sti_code sti_run_ids(sti_model* model, const uint32_t* ids, size_t count, sti_error* error);

/* Receives a token of a continuation: its id, and the `size` bytes of UTF-8 that are whole with it,
 * which have no 0 behind them and are valid during the call: none where the token ends within a
 * character. Returns 0 to go on; any other number ends the continuation there. */
typedef int32_t (*sti_token)(void* user, uint32_t id, const char* text, size_t size);

/* Continues a text of `size` bytes of UTF-8, for a model that continues texts, by up to `most`
 * tokens, at least 1, each the likeliest behind those before it. It ends sooner at the token that
 * ends texts, and where the context of the plan is full; without a plan that is as long as the
 * model's longest input. `token`, which may be NULL, is called for each token, before the next one
 * is computed, by the thread that called. The answer is the text of all of them, for sti_text. An
 * empty text, and one that leaves no room in the context, give STI_BAD_INPUT. Of such a model
 * sti_run and sti_run_ids give STI_USAGE, as this does of others. */
sti_code sti_generate(sti_model* model, const char* text, size_t size, uint32_t most,
                      sti_token token, void* user, sti_error* error);

/* Answers an image, for a model that takes images: the `size` bytes of a binary PPM file of its
 * size and channels, scaled as the model has it, or of as many floats as STI_IMAGE_CHANNELS x
 * STI_IMAGE_SIZE x STI_IMAGE_SIZE, channel after channel and row after row, scaled already. What is
 * neither gives STI_BAD_INPUT. A PNG is none: an app has pixels. Of such a model texts and ids give
 * STI_USAGE, as images do of others. */
sti_code sti_run_image(sti_model* model, const void* bytes, size_t size, sti_error* error);

/* Ends an engagement: the next input is turn 1. */
sti_code sti_end_turns(sti_model* model, sti_error* error);

/* Gives memory back until the model has at most `bytes`, or nothing but its index: preloaded shards
 * from the top, then all the rest. The next call that needs it loads it again. */
sti_code sti_trim(sti_model* model, uint64_t bytes, sti_error* error);

/* Lets the call for this model that is under way end with STI_CANCELLED: within a layer where it
 * computes one, else at once. So it is while a read hangs, which cannot be called back: the next
 * call waits for it, and can be cancelled like any. Does nothing if there is no call, or if it
 * still waits for its turn. Opening a model is no call for it: a read that hangs there is waited
 * for. */
sti_code sti_cancel(sti_model* model);

/* ---- Answers and figures ---- */

/* Returns the label at `rank` of this thread's last answer, 0 for the most probable; -1 if there is
 * no answer, since none was asked for or the run failed, or no such rank. */
int32_t sti_label(sti_model* model, uint32_t rank);

/* Returns the probability of a label in this thread's last answer; NaN if there is no answer, or no
 * such label. */
double sti_score(sti_model* model, int32_t label);

/* Copies the embedding of this thread's last answer to `values`, which has room for `room` numbers,
 * if they are enough. Returns how many numbers it has: STI_DIMENSIONS; 0 if there is no answer, or
 * it has labels. `values` may be NULL where `room` is 0. */
uint32_t sti_vector(sti_model* model, float* values, uint32_t room);

/* Copies the text by which this thread's last sti_generate continued, UTF-8 without a 0 behind it,
 * to `text`, which has room for `room` bytes, if they are enough. Returns how many bytes it has; 0
 * if there is no such answer. `text` may be NULL where `room` is 0. */
size_t sti_text(sti_model* model, char* text, size_t room);

/* A stretch of the text that a model which labels tokens names. */
typedef struct sti_span {
  uint64_t begin; /* its first byte in the text */
  uint64_t end;   /* the byte behind its last one */
  int32_t name;   /* what it is, for sti_name */
  float score;    /* mean probability of its labels */
} sti_span;

/* Copies the spans of this thread's last answer, in the order of the text, to `spans`, which has
 * room for `room` of them, if they are enough. Returns how many there are: STI_SPANS; 0 if there is
 * no answer, or the model does not label tokens. `spans` may be NULL where `room` is 0. */
uint32_t sti_spans(sti_model* model, sti_span* spans, uint32_t room);

/* Returns the name of a label, or of a span, UTF-8 without control characters, valid until the
 * model is closed; NULL if there is none with this number. With examples the labels are those given
 * last. */
const char* sti_name(sti_model* model, int32_t label);

/* Figures of this thread's last answer: NaN if there is none. */
#define STI_LATENCY_US 1 /* from the call to the answer, waiting for its turn included */
#define STI_IS_LATE 2    /* 1: after the target */
#define STI_TRUNCATED 3  /* 1: some of the text did not fit */
#define STI_TOKENS 4
#define STI_CHOSEN 5 /* labels the answer gives: 1; multi-label: as reach the threshold; else 0 */
#define STI_TURN 6   /* number of the input in its engagement, from 1 */
#define STI_READ_BYTES 7
#define STI_STALL_US 8        /* time that layers waited for reads */
#define STI_DEGRADED_SHARDS 9 /* shards below their planned bits */
#define STI_DEPTH 10          /* layers of the submodel that ran */
#define STI_WIDTH 11          /* slices of each of its layers */
#define STI_LEVEL 12        /* level of the plan's cascade that answered, from 1; NaN without one */
#define STI_CONFIDENCE 13   /* how sure that level was of its label, 0 to 1; NaN without one */
#define STI_FELL_BACK 14    /* 1: reads did not come, and the plan's fallback answered */
#define STI_ROWS_MISSING 15 /* tokens that counted as unknown, since their rows did not come */
#define STI_SPANS 16        /* spans that the answer names, of a model that labels tokens */
#define STI_WINDOWS 17      /* windows that the text was read in */
#define STI_MADE 18     /* tokens of the continuation; NaN of another answer, like the next two */
#define STI_FIRST_US 19 /* from the call to its first token */
#define STI_CONTEXT_LEFT 20 /* tokens by which the text could go on */
/* Figures of the model, after the last call that has ended. */
#define STI_LABELS 32
#define STI_OWN_BYTES 33 /* memory of the model, index not counted */
#define STI_PRELOADED_BYTES 34
#define STI_PREDICTED_US 35 /* latency that the plan predicts, by medians; 0: it does not say */
#define STI_PREDICTED_P99_US 36
#define STI_COMPUTE_DRIFT 37  /* time of layers over the plan's, once runs have told; else 1 */
#define STI_READ_DRIFT 38     /* time of reads over the plan's, once runs have told; else 1 */
#define STI_LONGEST 39        /* longest input of the model in tokens */
#define STI_DIMENSIONS 40     /* numbers of an embedding; 0: the model gives labels */
#define STI_TOKEN_LABELS 41   /* 1: the labels are of tokens, and answers have spans */
#define STI_IMAGE_SIZE 42     /* pixels of an image's side; 0: the model takes texts */
#define STI_IMAGE_CHANNELS 43 /* values of a pixel; 0: the model takes texts */
#define STI_CONTINUES 44      /* 1: the model continues texts */

/* Returns a figure; NaN where there is no such one. */
double sti_stat(sti_model* model, int32_t figure);

#ifdef __cplusplus
}
#endif

#endif
