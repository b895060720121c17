"""The program `lesson`: lessons of the form WHEN, DO, BECAUSE, on the same files as `ai-lessons`.

Begin with `program`, its commands. `jobs` loads and shows lessons, `targets` writes them into
skills and tools, `texts` draws them. How a lesson is added and marked wrong is the core's
(`app.lessons`).
"""
