"""Parts of the pages that scripts write: between the lines `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

import sys


def write_whole(path, write):
    """Calls write(beside), then renames it to `path`, which so appears whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    write(unfinished)
    unfinished.rename(path)


def write_marked_parts(path, parts):
    """Replaces {name: lines} in the page at `path`. Ends the program with one line if a part has no begin and end there."""
    text = path.read_text(encoding="utf-8")
    for name, lines in parts.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, found, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            sys.exit(f"{path} has no lines {begin.strip()} and {end.strip()}")
        text = before + begin + "".join(lines) + end + after
    write_whole(path, lambda to: to.write_text(text, encoding="utf-8"))
