#!/usr/bin/env python3
"""Finds words and phrases in the documentation that plain English avoids.

usage: prose.py FILE_OR_DIRECTORY ...

Reads Markdown files. Code and quotations are not checked. Prints each finding with a better phrase; the exit status is 1 if there is one.
"""

import re
import sys
from pathlib import Path

# Regular expressions, with what to write instead. A word matches in any case, as a whole word.
PHRASES = {
    r"what (?:is|are|was) [^.?!:]{1,60} (?:is|are|was)": "subject, verb, object",
    r"(?:not )?to be had": "available, not available",
    r"(?:typed|types?) into (?:a|the|every) server": "run against a server",
    r"(?:kick|kicks|kicked|kicking) out": "evict",
    r"(?:be|get) rid of": "remove",
    r"let(?:s|ting)? go": "free",
    r"goes? on \w+ing|go on \w+ing": "keep …ing",
    r"(?:bears?|bearable)": "tolerates, within the limit",
    r"(?:tells?|is told|are told)": "reports, shows",
    r"pieces?": "chunk, part",
    r"the peer": "RedisBloom",
    r"(?:ours|theirs)": "Roughly's, the server's",
    r"in vain": "without success",
    r"by chance": "at random",
    r"(?:so )?that (?:it|they) be": "so that it is",
    r"is held to|are held to": "is limited to, must satisfy",
    r"shall": "must, can",
    r"now and then|every now and again": "occasionally, with the frequency",
    r"a (?:lot|bunch|couple) of": "the number, many",
    r"(?:simply|just|easily|obviously|of course|basically)": "omit",
    r"(?:very|really|quite|rather|extremely)": "omit, or a number",
    r"in order to": "to",
    r"due to the fact that": "because",
    r"utili[sz]es?|leverag(?:e|es|ing)": "use",
    r"blazing(?:ly)?(?: fast)?|seamless(?:ly)?|powerful|robust(?:ly)?|effortless(?:ly)?": "omit, or a number",
    r"cannot crash|never crashes|bug-free": "no known input crashes the server",
    r"(?:an? |the )?drop-in": "name the exceptions",
    r"(?:thereof|therein|whereby|hereby|heretofore)": "plain words",
    r"as it (?:stands|were)": "unchanged",
    r"per an? item": "per item",
}
PATTERN = re.compile(r"\b(?:" + "|".join(f"(?P<p{i}>{phrase})" for i, phrase in enumerate(PHRASES)) + r")\b", re.I)
# Code, targets of links, HTML, and quotations within a paragraph.
HIDDEN = re.compile(r'^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)|<[^>\n]*>|"(?:[^"\n]|\n(?!\n))*"', re.M | re.S)
ADVICE = list(PHRASES.values())


def findings(path):
    """The findings in a file: line number, text, advice."""
    prose = HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), path.read_text())
    for number, line in enumerate(prose.splitlines(), 1):
        for match in PATTERN.finditer(line):
            yield number, match[0], ADVICE[int(match.lastgroup[1:])]


def main():
    paths = [Path(argument) for argument in sys.argv[1:]]
    files = sorted(file for path in paths for file in ([path] if path.is_file() else path.rglob("*.md")))
    count = 0
    for file in files:
        for number, text, advice in findings(file):
            print(f"{file}:{number}: {text!r}: {advice}")
            count += 1
    print(f"prose: {len(files)} files, {count} findings", file=sys.stderr)
    sys.exit(bool(count))


main()
