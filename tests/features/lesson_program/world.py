"""The program `lesson` as a shell starts it."""

import sys

LESSON_PROGRAM = (
    sys.executable,
    "-c",
    "from ai_lessons.features.lesson_program.program import main; main()",
)
