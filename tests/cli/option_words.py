"""Options and words that the tables of several tools have in common (option_tables.py)."""
from option_rules import Option

MESSAGES = {"-q": Option("-q"), "-v": Option("-v"), "--log-json": Option("--log-json")}
MESSAGES_ALONE = {"-q": "silences messages", "-v": "explains", "--log-json": "spells messages"}
ONLY_WORDS = {**MESSAGES_ALONE, "--threads": "time alone"}

# Of the data set, which has another text and another label.
COLUMNS = {"--text-column": Option("--text-column word"),
           "--pair-column": Option("--pair-column word --text-column sentence"),
           "--label-column": Option("--label-column mark")}
COLUMN_NEEDS = ("--pair-column", "--text-column",
                "the pair's column is given without the text's; give both")

GOES_WITH = "{a} goes with {b}; add it, or drop {a}"
