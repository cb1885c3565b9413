"""Command lines as lists of options, and the rules of option_tables.py that refuse some."""
import fnmatch
import re
import shlex
import subprocess

# A line of --help: "  -o, --output FILE       file to write".
OPTION = re.compile(r"^  (?:(-\w), )?(--[\w-]+|-\w)(?: (\S+))?(?:\s{2,}.*)?$")
OF_ALL_TOOLS = {"-h", "--help", "--version"}  # they print, and do nothing else


class Option:
    """An option of a table: its choices of values, each with what it needs beside it, and what
    shows that it is at work wherever it is allowed."""

    def __init__(self, *choices, **shows):
        self.choices = choices
        self.shows = shows

    def holds(self, given):
        """Returns whether what a run gave shows it, as far as it gave that kind of thing: plan,
        json, lines, files, out or err."""
        return all(getattr(given, kind) is None or bool(shows(getattr(given, kind)))
                   for kind, shows in self.shows.items())


class Line:
    """A command line: a subcommand, and options with their values."""

    def __init__(self, items):
        self.items = items  # pairs of a name, such as "-o" or "MODEL", and its words

    @staticmethod
    def joined(parts):
        """Returns all in one, each option once; None if two give an option different values."""
        items = []
        for name, words in (item for part in parts for item in part.items):
            if (name, words) in items:
                continue
            several = name == "--model" or name[0] != "-"
            if not several and any(name == other for other, _ in items):
                return None
            items.append((name, words))
        return Line(items)

    def arguments(self):
        return [word for _, words in self.items for word in words]

    def flags(self):
        return list(dict.fromkeys(name for name, _ in self.items if name[0] == "-"))

    def names(self):
        """Returns the options as tables call them: "--length" and "--length 32,64"."""
        return {text for name, words in self.items for text in (name, " ".join((name, *words[1:])))}

    def has(self, name):
        return name in self.names()

    def only(self, name):
        flag = name.split()[0]
        return Line([item for item in self.items if item[0] == flag])

    def without(self, name):
        flag = name.split()[0]
        return Line([item for item in self.items if item[0] != flag])


class Refusal:
    """One pair of a rule: `a` beside `b`, or `a` without any of `needed`."""

    def __init__(self, a, b, needed, words):
        self.a, self.b, self.needed, self.words = a, b, needed, words

    def applies(self, names):
        def has(option):
            return bool(fnmatch.filter(names, option))

        return has(self.a) and (has(self.b) if self.b else not any(map(has, self.needed)))

    def matches(self, said):
        return re.fullmatch(re.escape(self.words).replace("…", ".*"), said) is not None


class Rules:
    """The rules of a table, and the options that its tool's help names."""

    def __init__(self, binary, table):
        self.table = table
        self.values, self.short = {}, {}
        self.subcommands = {context.split()[0] for context in table["contexts"].values()} & {
            "merge", "show"}
        for subcommand in (None, *sorted(self.subcommands)):
            self.read_help([binary, *([subcommand] if subcommand else []), "--help"])
        self.refused = [
            Refusal(a, b, [], self.words_of(words, a, b))
            for group, others, words in table["refused"]
            for a in group.split(", ") for b in others.split(", ")]
        self.said = set()  # rules whose words were seen
        self.refused += [
            Refusal(a, "", needed.split(", "), self.words_of(words, a, needed.split(", ")[0]))
            for group, needed, words in table["needs"] for a in group.split(", ")]

    def read_help(self, command):
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in text.split("Exit codes:")[0].splitlines():
            found = OPTION.match(line)
            if found is None:
                continue
            short, name, value = found.groups()
            if short:
                self.short[name] = short
            self.values[short or name] = value

    def words_of(self, words, a, b):
        """Returns the words of a message, which calls options by their long names."""
        long_names = {short: name for name, short in self.short.items()}
        a, b = (long_names.get(name, name) for name in (a, b))
        return words.replace("{a}", a).replace("{b}", b)

    def line(self, text):
        """Returns a command line of the table, as options and their values."""
        words = iter(shlex.split(text))
        items = []
        for word in words:
            if word == "-" or not word.startswith("-"):
                items.append((self.positional(word), (word,)))
            else:
                value = () if self.values.get(word) is None else (next(words),)
                items.append((word, (word, *value)))
        return Line(items)

    def positional(self, word):
        """Returns the name of a word that is no option: that of the table, or the word."""
        return self.table.get("words", {}).get(word, word)

    def refusals(self, line):
        names = line.names()
        return [refusal for refusal in self.refused if refusal.applies(names)]

    def names(self):
        """Returns the options of the table, those of contexts too."""
        contexts = [flag for text in self.table["contexts"].values()
                    for flag in self.line(text).flags()]
        rows = [name for names, _, _ in self.table["shown"] for name in names.split(", ")]
        return dict.fromkeys([*self.table["options"], *contexts, *rows])

    def differences_from_help(self):
        here = {name.split()[0] for name in self.names()} - set(
            self.table.get("words", {}).values())
        there = set(self.values) - OF_ALL_TOOLS
        return [*((name, "is in --help, and has no row") for name in sorted(there - here)),
                *((name, "has a row, and is not in --help") for name in sorted(here - there))]
