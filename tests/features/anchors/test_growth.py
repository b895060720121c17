"""Code of hostile shapes is read in time with its length, as `tests/test_growth.py` has it."""

import resource
import subprocess
import sys

from ai_lessons.features.anchors import definitions, fingerprints

SECONDS = 30


def read() -> None:
    lines = {
        "py": [
            'w = f"' + "{a}" * 150_000 + '"',
            "w = " + '"a" ' * 100_000,
            "w=1;" * 30_000,
            "w = [" + "1," * 60_000 + "]",
        ],
        "js": ['"\\' * 250_000, "`\\`" * 150_000 + "\\\n", "w(" * 200_000, "/*" * 200_000],
        "rs": ['"\\' * 250_000],
        "sh": ["w = " * 120_000, "'\\'" * 150_000],
        "yaml": ["w: " * 150_000, " w:\n" * 100_000],
    }
    for suffix, texts in lines.items():
        for text in texts:
            fingerprints.state(f"a.{suffix}", text, "w")
            definitions.names(f"a.{suffix}", text)


def test_hostile_code_is_read_in_time_with_its_length() -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    read()
