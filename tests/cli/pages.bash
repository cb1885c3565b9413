# What stands in pages, for tests that do what a page tells its reader to do. Commands stand in
# blocks that are called sh; a transcript, commands with what they print, in one called console.

# The blocks of a kind in a page, without their fences: KIND PAGE.
blocks_of() {
  awk -v kind="$1" '
    /^```/ { open = !open; inside = open && substr($0, 4) == kind; next }
    inside' "$2"
}

# The commands of a page's blocks sh, one a line, without comments: PAGE. A command goes on after a
# line that ends in a backslash.
commands_of() { blocks_of sh "$1" | sed -E ':a; /\\$/ { N; s/ *\\\n */ /; ta }; s/ +#.*//; /^$/d'; }

# The commands in a page's text: tools that are given a model, between backquotes: PAGE.
commands_in_text_of() {
  awk '/^```/ { open = !open } !open' "$1" | tr '\n' ' ' | grep -oP '`\Ksti-[a-z]+ model\.sti [^`]+' || true
}
