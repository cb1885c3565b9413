"""The numbers of sti.h, which says what each means. They are only ever added to."""

import enum


class Code(enum.IntEnum):
    """What became of a call: STI_OK and so on."""

    OK = 0
    MACHINE = 1
    NO_MEMORY = 2
    READ_FAILED = 3
    USAGE = 4
    NO_SUCH_FILE = 5
    DAMAGED = 6
    FOREIGN = 7
    INFEASIBLE = 8
    CANCELLED = 9
    BAD_INPUT = 10


class Kind(enum.IntEnum):
    """What a model is given: STI_PLAN and so on."""

    PLAN = 1
    PROFILE = 2
    IMPORTANCE = 3
    EXAMPLES = 4


class Option(enum.IntEnum):
    """What plans and runs are made by: STI_TARGET_US and so on."""

    TARGET_US = 1
    PRELOAD_BYTES = 2
    MEMORY_BYTES = 3
    LENGTH = 4
    LEAD_TIME_US = 5
    TURNS = 6
    MIN_ACCURACY_PPM = 7
    FULL_ACCURACY_PPM = 8
    GUARANTEE = 9
    CONTEXT = 10
    LATE = 16
    COMPUTE = 17
    THRESHOLD_PPM = 18
    CLOCK_KHZ = 19
    LOCK_MEMORY = 20
    AGGREGATION = 21
    WINDOW = 22
    STRIDE = 23


class Late(enum.IntEnum):
    """Values of Option.LATE."""

    WAIT = 0
    DEGRADE = 1


class Compute(enum.IntEnum):
    """Values of Option.COMPUTE."""

    AS_PLANNED = 0
    FP32 = 1
    BF16 = 2
    INT8 = 3


class Aggregation(enum.IntEnum):
    """Values of Option.AGGREGATION."""

    FIRST = 0
    AVERAGE = 1
    MAX = 2
    SIMPLE = 3
    NONE = 4


class Log(enum.IntEnum):
    """How much a line of a log matters."""

    INFO = 0
    WARNING = 1


class Stat(enum.IntEnum):
    """Figures of this thread's last answer and, from LABELS on, of the model."""

    LATENCY_US = 1
    IS_LATE = 2
    TRUNCATED = 3
    TOKENS = 4
    CHOSEN = 5
    TURN = 6
    READ_BYTES = 7
    STALL_US = 8
    DEGRADED_SHARDS = 9
    DEPTH = 10
    WIDTH = 11
    LEVEL = 12
    CONFIDENCE = 13
    FELL_BACK = 14
    ROWS_MISSING = 15
    SPANS = 16
    WINDOWS = 17
    MADE = 18
    FIRST_US = 19
    CONTEXT_LEFT = 20
    LABELS = 32
    OWN_BYTES = 33
    PRELOADED_BYTES = 34
    PREDICTED_US = 35
    PREDICTED_P99_US = 36
    COMPUTE_DRIFT = 37
    READ_DRIFT = 38
    LONGEST = 39
    DIMENSIONS = 40
    TOKEN_LABELS = 41
    IMAGE_SIZE = 42
    IMAGE_CHANNELS = 43
    CONTINUES = 44
