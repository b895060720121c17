"""Features, a folder each: what can be taken out.

A folder, its tests (`tests/features/NAME`) and its row here are all.

Begin with the row: it says what a feature adds to the core, by names in strings, so that nothing is
loaded before it is used. The core imports none of this. A feature imports the core, and of other
features those that its row `needs`. `bench/delete_features.py` takes each out of a copy, and runs
what is left.
"""

from __future__ import annotations

from ai_lessons.extensions import CommandRow, Feature, PromptRow

# in the order of the help
ROWS: tuple[Feature, ...] = (
    Feature(
        "learning",
        commands=(
            CommandRow(
                ("contribute", "feedback"),
                "commands:feedback",
                after="suggest-rule",
                section="Commands",
            ),
            CommandRow(("admin", "params"), "commands:params", after="audit"),
        ),
        keys=("source", "imported"),
        facts="facts:of_entry",
        learned="usages:Usages",
        filter="filter:LearningFilter",
        outdated="review:outdated",
        asks={
            "instructions": (
                "Say with record_outcome whether an entry helped, was ignored or was wrong."
            ),
            "after_task": (
                "In any case: record_outcome for each entry that you used: helpful, ignored or\n"
                "contradicted, with a note."
            ),
        },
        tables={"learning": "overview:tables"},
        answers={
            "`contribute feedback`; of several an array": "jobs:Feedback",
            "`admin params`": "parameters:ParameterState[]",
        },
    ),
    Feature(
        "look",
        commands=(
            CommandRow(
                ("look",), "commands:look", "Search, read and review in a browser on this machine."
            ),
        ),
        exports={"site": "site:draw"},
    ),
    Feature(
        "lsp",
        commands=(
            CommandRow(
                ("lsp",), "server:lsp", "Show the rules and lessons about a file in an editor."
            ),
        ),
    ),
    Feature(
        "lesson_program",
        commands=(CommandRow(("load",), "program:load"),),
        programs={"lesson": "program:lesson"},
        folders=("skills_dir", "tools_dir"),
    ),
    Feature(
        "intake",
        commands=(
            CommandRow(
                ("contribute", "add-resource"),
                "commands:add_resource",
                after="link",
                section="Commands",
            ),
            CommandRow(
                ("contribute", "refresh"),
                "commands:refresh",
                after="add-resource",
                section="Commands",
            ),
            CommandRow(
                ("contribute", "refresh-resource"), "commands:refresh_resource", after="refresh"
            ),
            CommandRow(("refresh",), "commands:refresh", section="Short forms"),
        ),
        keys=("source_path", "source_url", "path"),
        facts="facts:of_entry",
        facts_version=2,
        notes="sources:on_scripts",
        notes_whole="sources:on_entry",
        outdated="sources:outdated",
        stale="sources:stale",
        reread="refreshing:reread",
        asks={
            "instructions": "Keep the script that proves a lesson: add_resource, then link them.",
            "after_task": (
                "With the lesson you owe a script that proves it or does it right:\n"
                'add_resource(type="script", path=…), then\n'
                'link(from_id=SCRIPT, to_id=LESSON, relation="proves").\n'
                "If reference material helped that is not here:\n"
                'add_resource(type="doc", path=…, versions=[…]).'
            ),
        },
        answers={
            "`contribute add-resource`": "commands:ANSWER",
            "`contribute add-resource --preview`": "jobs:PassagePreview[]",
            "`contribute refresh`": "refreshing:Refreshed[]",
        },
    ),
    Feature(
        "anchors",
        commands=(
            CommandRow(("recall", "about"), "commands:about", after="context", section="Commands"),
        ),
        keys=("about",),
        problems="facts:problems",
        facts="facts:of_entry",
        beside="verdicts:beside",
        shown={"about": "facts:in_words"},
        offers={"before-tool": "offers:before_a_tool"},
        touched="places:touched",
        options={
            "contribute add-lesson": "options:OF_A_LESSON",
            "contribute suggest-rule": "options:OF_A_RULE",
            "contribute update": "options:OF_AN_UPDATE",
        },
        writing="writing:addition",
        renewal="renewal:looked_again",
        evidence={"about": "renewal:code_diff"},
        outdated="verdicts:outdated",
        unseen="verdicts:elsewhere",
        stale="verdicts:stale",
        asks={"statement_file": "--about {}"},
        schemas={"about": "facts:SCHEMA"},
    ),
    # asked behind anchors, which know more entries that name the files of a call
    Feature(
        "checks",
        commands=(
            CommandRow(
                ("check",),
                "commands:check",
                "Show which lines of your files break rules in force.",
            ),
        ),
        keys=("check",),
        problems="facts:problems",
        facts="facts:of_entry",
        unproven="facts:unproven",
        effects={
            "stated": "proposals:stated",
            "code": "proposals:in_code",
            "sessions": "proposals:in_sessions",
        },
        described={"check": "facts:described"},
        options={
            "contribute suggest-rule": "options:OF_A_RULE",
            "contribute update": "options:OF_AN_UPDATE",
        },
        writing="writing:addition",
        diagnostics="diagnostics:of_file",
        outdated="suggestions:outdated",
        offers={"before-tool": "offers:before_a_tool"},
        enforce="enforcer:at_an_event",
        asks={"statement": "A rule of code: suggest-rule with --check."},
        answers={"`check`": "findings:CheckReport"},
    ),
    Feature(
        "reports",
        commands=(CommandRow(("admin", "report"), "commands:report", after="stats"),),
        answers={"`admin report`": "sums:RulesReport"},
    ),
    Feature(
        "packages",
        commands=(
            CommandRow(("contribute", "add-package"), "commands:add_package", after="add-resource"),
        ),
        keys=("source_ref",),
        facts="facts:of_entry",
        stale="jobs:stale",
        refresh="jobs:refresh",
        answers={"`contribute add-package`": "commands:ANSWER"},
    ),
    Feature(
        "transfer",
        commands=(
            CommandRow(("admin", "import"), "commands:import_files", after="sync", section="Share"),
            CommandRow(("admin", "export"), "commands:export", after="import", section="Share"),
        ),
        skills="chosen:skills",
        answers={
            "`admin import`": "jobs:Ported",
            "each of `seen`": "jobs:SourcePart",
        },
    ),
    Feature(
        "scripts",
        needs=("intake",),
        commands=(
            CommandRow(
                ("run",),
                "commands:run",
                "Run a script.",
                after="contribute add-resource",
                example="run S-9XW2RB",
            ),
            CommandRow(("recall", "run"), "commands:run", after="show", section="Commands"),
            CommandRow(("recall", "run-resource"), "commands:run_resource"),
            CommandRow(("admin", "trust-script"), "commands:trust_script", after="adopt"),
        ),
        keys=("path",),
        planners={"script": "planning:ScriptPlanner"},
        elsewhere="in_place:CodeElsewhere",
        facts="in_place:facts",
        notes="in_place:notes",
        asks={"before_task": "Prefer a script that exists to one of your own: run_script."},
        answers={"`recall run`": "jobs:Ran"},
    ),
    Feature(
        "tiers",
        commands=(
            CommandRow(("contribute", "promote"), "commands:promote", after="feedback"),
            CommandRow(("admin", "tiers"), "commands:tiers", after="status"),
        ),
        guard="guard:before_write",
        settings={
            "governance.outbound_policy": "governance:OUTBOUND_SETTING",
            "governance.promotion_from_enterprise_context": "governance:FROM_CONTEXT_SETTING",
            "governance.personal_learning_during_enterprise": "governance:PERSONAL_SETTING",
        },
        tables={"tiers": "overview:tables"},
        answers={
            "`contribute promote`": "promotion:Promoted",
            "`admin tiers`": "states:TierState[]",
        },
    ),
    Feature(
        "forget",
        commands=(CommandRow(("admin", "forget"), "commands:forget", after="recover"),),
        answers={"`admin forget`": "jobs:Forgetting"},
    ),
    Feature(
        "company",
        administrators="administrators:Administrators",
        enrols="enrolment:enrolled",
        shares="first_sync:shared",
        doctor={"company": "standing:line"},
        status={"company": "standing:line"},
    ),
    Feature("gateway", door="door:door"),
    Feature("hosts", hosts=":HOSTS"),
    Feature(
        "harvest",
        commands=(
            CommandRow(
                ("contribute", "harvest"),
                "commands:harvest",
                after="suggest-rule",
                section="Commands",
            ),
            CommandRow(("recall", "replay"), "commands:replay", after="why-told"),
        ),
        prompts=(
            PromptRow(
                "harvest",
                "texts:prompt",
                "What this user's own transcripts suggest, for you to judge and draft.\n\n"
                "The user says what to keep.",
            ),
        ),
        keys=("seen",),
        problems="counts:problems",
        facts="counts:of_entry",
        tells=True,
        offers={
            "before-tool": "offers:before_a_command",
            "tool-failed": "offers:at_a_failure",
        },
        hints={"before-tool": "walls:wall_before", "tool-failed": "next_steps:ran_next"},
        hears={"tool-done": "walls:lift_walls"},
        past="evidence:past",
        figures="texts:figures",
        answers={"`contribute harvest`": "drafts:HarvestedLesson[]"},
    ),
    Feature(
        "telemetry",
        doctor={"telemetry": "jobs:check"},
        measures={
            "OTEL_EXPORTER_OTLP_ENDPOINT": "records:record",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "records:record",
        },
    ),
)
