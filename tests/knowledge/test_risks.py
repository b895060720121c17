from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.evaluation.report import Flag
from ai_lessons.knowledge.evaluation.risks import risks

ANTI, LICENSE, PERSONAL = Flag.SECURITY_ANTI_PATTERN, Flag.LICENSE_CONFLICT, Flag.COMPLIANCE_RISK


@pytest.mark.parametrize(
    ("text", "flag", "message"),
    [
        ("curl -fsSL https://get.tool.dev | sudo bash", ANTI, "runs what it downloads (curl | sh)"),
        ("bash <(curl -s https://x.dev/i)", ANTI, "runs what it downloads (curl | sh)"),
        ("chmod -R 777 /var/www", ANTI, "lets everybody write (chmod 777)"),
        ("requests.get(url, verify=False)", ANTI, "does not check certificates"),
        ("curl -sk https://api.tool.dev", ANTI, "does not check certificates"),
        ("export NODE_TLS_REJECT_UNAUTHORIZED=0", ANTI, "does not check certificates"),
        ("ssh -o StrictHostKeyChecking=no box", ANTI, "does not check certificates"),
        ("first: setenforce 0", ANTI, "switches a protection of the system off"),
        ("eval(request.args['x'])", ANTI, "runs what comes in from outside"),
        ('subprocess.run(f"ls {name}", shell=True)', ANTI, "runs what comes in from outside"),
        ("db_password = 'gT7#kQ2zWm'", ANTI, "holds a password"),
        ("postgres://app:zR81kwq0@db/shop", ANTI, "holds a password"),
        ("# SPDX-License-Identifier: AGPL-3.0-only", LICENSE, "says that its licence is AGPL-3.0-only"),
        ("# SPDX-License-Identifier: MIT", None, "says that its licence is MIT"),
        (
            "you can redistribute it and/or modify it under\n# the terms of the GNU General Public License",
            LICENSE,
            "states the terms of a licence that binds who passes it on",
        ),
        ("Copyright (c) 2019 Acme, All Rights Reserved", LICENSE, "says 'all rights reserved'"),
        ("Copyright 2019 Acme", None, "has a line of copyright"),
        ("FOR INTERNAL USE ONLY", PERSONAL, "says 'for internal use only'"),
        ("ssn 219-09-9999", PERSONAL, "holds what looks like a social security number"),
        ("DOB: 1971-03-04", PERSONAL, "holds what looks like a date of birth"),
        ("Phone: +44 20 7946 0958", PERSONAL, "holds what looks like a telephone number"),
        ("card 4539 1488 0343 6467", PERSONAL, "holds what looks like the number of a payment card"),
        ("pay to CH93 0076 2011 6238 5295 7", PERSONAL, "holds what looks like a bank account (IBAN)"),
    ],
)
def test_a_mark_of_risk_is_found(text: str, flag: Flag | None, message: str) -> None:
    assert (flag, message) in [(one.flag, one.message) for one in risks(text)]


@pytest.mark.parametrize(
    "text",
    [
        "never run curl https://x.dev/i | sh: read it first",
        "do not chmod 777, use a group",
        "verify=False is dangerous",
        "Do not do this:\n\n```sh\ncurl -k https://x.dev\n```",
        "dont: setenforce 0",
        "curl -k https://localhost:8443/health",
        "curl https://x.dev/list | shuf -n 1; curl x | sha256sum",
        "chmod 755 run.sh; chmod 0644 x",
        "verify=True, insecure_flag, strict-ssl=true",
        "eval(expression) of your own, os.system('ls')",
        "password = 'changeme'; password: '<your password>'; api_key = os.environ['KEY']; pwd='${PW}'",
        "PGPASSWORD=$PGPASSWORD psql; https://user:password@host/x",
        "GPL code cannot be linked; the MIT licence; all rights and wrongs",
        "tracking number 4539148803436468, build 20240101120000, 4111111111111111",
        "123-45-678, 000-12-3456, 2024-01-02",
        "IBAN of the manual: GB82 WEST 1234 5698 7654 32",
        "call phone 555-123-4567",
    ],
)
def test_what_only_looks_like_it_or_warns_of_it_is_left_alone(text: str) -> None:
    assert risks(text) == []


def test_a_value_is_never_repeated() -> None:
    said = " ".join(one.message for one in risks("password = 'gT7#kQ2zWm' ssn 219-09-9999 card 4539148803436467"))
    assert "gT7" not in said
    assert "9999" not in said
    assert "6467" not in said


@given(st.text(max_size=500))
def test_any_text_is_read_and_places_lie_in_it(text: str) -> None:
    assert all(0 <= one.start < len(text) for one in risks(text))
