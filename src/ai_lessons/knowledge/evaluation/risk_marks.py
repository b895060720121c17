"""What risky texts look like: the shapes that `risks` looks for, one a line. No logic."""

from __future__ import annotations

import re
from typing import Final


def _any(*shapes: str) -> re.Pattern[str]:
    """One pattern of several, in any case."""
    return re.compile("|".join(shapes), re.IGNORECASE)


ADVICE: Final = {
    "runs what it downloads (curl | sh)": _any(
        r"\b(?:curl|wget)\b[^\n|]{0,200}\|[ \t]*(?:sudo[ \t]+)?(?:(?:ba|z|da|k)?sh|python3?|perl|ruby)\b(?![\w./])",
        r"\b(?:ba|z)?sh[ \t]+(?:-c[ \t]+)?[\"']?(?:<|\$)\((?:curl|wget)\b",
        r"\b(?:iex|invoke-expression)\b[^\n]{0,40}(?:downloadstring|\biwr\b|\birm\b)",
        r"\b(?:iwr|irm)\b[^\n|]{0,160}\|[ \t]*iex\b",
    ),
    "lets everybody write (chmod 777)": _any(r"\bchmod[ \t]+(?:-\w+[ \t]+){0,3}(?:0?777|a\+rwx|ugo\+rwx)\b"),
    "does not check certificates": _any(
        r"\bverify[ \t]*=[ \t]*False\b",
        r"--no-check-certificate\b",
        r"\bcurl\b[^\n|;]{0,120}[ \t](?:--insecure|-\w{0,6}k)(?![\w-])",
        r"--insecure-skip-tls-verify(?!=false)",
        r"--allow-insecure\b",
        r"\bNODE_TLS_REJECT_UNAUTHORIZED\b[\"'\]]{0,2}[ \t]*=[ \t]*[\"']?0",
        r"\bhttp\.sslVerify[= \t]{1,3}\"?false",
        r"\bGIT_SSL_NO_VERIFY=(?:1|true)",
        r"\bInsecureSkipVerify:[ \t]*true",
        r"\b_create_unverified_context\b",
        r"\bstrict-ssl[= \t]{1,3}false",
        r"\brejectUnauthorized:[ \t]*false",
        r"\bPYTHONHTTPSVERIFY=0",
        r"\bCURLOPT_SSL_VERIFY(?:PEER|HOST)\W{1,6}(?:0|false)",
        r"\bVERIFY_NONE\b",
        r"\bStrictHostKeyChecking[= \t]{1,3}[\"']?no\b",
    ),
    "switches a protection of the system off": _any(
        r"\bsetenforce[ \t]+(?:0|permissive)\b",
        r"\bSELINUX=(?:disabled|permissive)\b",
        r"\bufw[ \t]+disable\b",
        r"\bcsrutil[ \t]+disable\b",
        r"\bsystemctl[ \t]+(?:disable|stop|mask)[ \t][^\n]{0,40}\b(?:firewalld|apparmor|auditd)\b",
        r"\bspctl[ \t]+--master-disable\b",
        r"\bSet-MpPreference\b[^\n]{0,60}-DisableRealtimeMonitoring[ \t]+\$?true",
        r"\bPermit(?:RootLogin|EmptyPasswords)[ \t]+yes\b",
        r"\bxhost[ \t]+\+(?![\w:{])",
        r"--no-preserve-root\b",
        r"\bNOPASSWD:[ \t]*ALL\b",
    ),
    "runs what comes in from outside": _any(
        r"\beval[ \t]*\([ \t]*(?:input|req(?:uest)?\b|params\b|\$_(?:GET|POST|REQUEST|COOKIE)|sys\.argv|location\.)",
        r"\b(?:os\.system|os\.popen|exec|system)[ \t]*\([^)\n]{0,80}(?:\brequest\.|\bargv\[|\binput\(|\$_(?:GET|POST))",
        r"\bsubprocess\.\w{2,12}\([ \t]*(?:f[\"']|[^)\n]{0,60}\.format\()[^\n]{0,120}shell[ \t]*=[ \t]*True",
        r"\bsubprocess\.\w{2,12}\([ \t]*[\"'][^\"'\n]{0,80}[\"'][ \t]*(?:\+|%)[^\n]{0,120}shell[ \t]*=[ \t]*True",
        r"\b(?:pickle|marshal)\.loads?\([^)\n]{0,40}(?:request|recv|socket|body)",
        r"\beval[ \t]+[\"']?\$\{?(?:1|QUERY_STRING|REQUEST|INPUT|user_?input)\b",
    ),
}
"""What is told of it, and how it is written."""

HERE_ONLY: Final = re.compile(r"\blocalhost\b|127\.0\.0\.1|\[::1\]")
"""A line about this machine: nobody is between the two ends of its connection."""

PASSWORD: Final = _any(
    r"(?<![\w-])(?:[a-z_]{0,20}_)?(?:api_?key|passphrase|passwd|password|pwd|secret_?key|client_secret|auth_?token)"
    r"[\"']?[ \t]*(?:=>|:=|[:=])[ \t]*[\"'](?P<quoted>[^\"'\s]{6,80})[\"']",
    r"\bsshpass[ \t]+-p[ \t]*[\"']?(?P<sshpass>[^\s\"']{4,80})",
    r"\b(?:PGPASSWORD|MYSQL_PWD|SSHPASS)=[\"']?(?P<env>[^\s\"';]{4,80})",
    r"\b[a-z][a-z+]{2,12}://[\w.%+-]{1,60}:(?P<url>[^\s@/:'\"<>]{4,80})@[\w.-]{1,80}",
)
"""A password where it stands; each group is its value."""

NO_PASSWORD: Final = re.compile(
    r"[*.x#<\[{(%-].*"
    r"|.*[$<>{}*\[\]()%].*"
    r"|.*(?:passw|passwd|pwd|pw!?$|secret|pass_?phrase|token|hunter|change|replace|your|example|sample|dummy|placeholder"
    r"|redacted|foobar|something|whatever|correct-?horse|qwerty|letmein|hidden).*"
    r"|(?:my|some|the|a|new|old|test|db|user|root|admin|postgres|mysql|guest|public|string|none|null|undefined|true|false"
    r"|env|vault|os|process|config|settings|12345\d*|abc\w{0,6}|foo\w{0,4}|bar\w{0,4}|pass\w{0,6}|s3cr3t\w*"
    r"|pa(?:ss|\$\$)w(?:or|0r)d\w*|key\w{0,4}|value)(?:[_.-].*)?",
    re.IGNORECASE,
)
"""What stands in the place of a password, whole."""

AGAINST: Final = re.compile(
    r"\b(?:never|not|cannot|avoid\w*|instead of|rather than|without|stop|forbid\w*|unsafe|insecure|dangerous\w*|risk\w*"
    r"|bad (?:idea|practice|habit)|anti-?pattern\w*|vulnerab\w*|refuse[sd]?|reject\w*|warn\w*|beware|wrong|attack\w*"
    r"|exploit\w*|dont|prohibit\w*|disallow\w*|bans?|banned|flags?|flagged|detect\w*|lint\w*|finds|replace[sd]?)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
"""A sentence that warns."""

SPDX: Final = _any(r"SPDX-License-Identifier:[ \t]*([\w.+()-]{2,40}(?: (?:AND|OR|WITH) [\w.+()-]{2,40}){0,4})")
BINDING: Final = _any(r"\b(?:A|L)?GPL|SSPL|BUSL|CC-BY-(?:NC|SA|ND)|OSL|EUPL|CPAL|LicenseRef|Commons-Clause|Elastic")
_GAP: Final = r"[\s#*/;-]{1,12}"
TERMS: Final = _any(
    r"(?:licen[sc]ed? under|under the terms of|redistribute it and/or modify it under|(?:re)?leased under"
    rf"|distributed under){_GAP}(?:the{_GAP})?(?:terms of{_GAP}the{_GAP})?(?:GNU{_GAP})?(?:(?:Affero|Lesser){_GAP})?"
    r"(?:General Public Licen[sc]e|[AL]?GPL|Server Side Public|Business Source|CC[ -]BY-(?:NC|SA|ND)"
    r"|Creative Commons Attribution-(?:NonCommercial|ShareAlike|NoDerivs?))"
)
"""A licence that binds whoever passes the text on, where it is granted; its name alone says nothing."""

RESERVED: Final = _any(
    r"\ball rights (?:are )?reserved\b", r"\bproprietary (?:and|&) confidential\b", r"\bunpublished proprietary\b"
)
COPYRIGHT: Final = _any(r"(?:\bcopyright[ \t]*(?:\(c\)|\u00a9)?|\u00a9|(?<!\w)\(c\))[ \t]*(?:19|20)\d\d\b")

CONFIDENTIAL: Final = _any(
    r"\b(?:for )?internal use only\b",
    r"\b(?:company|strictly|highly|business) confidential\b",
    r"\bconfidential (?:information of|and proprietary|[-\u2013\u2014] )",
    r"\bunder (?:an )?NDA\b",
    r"\bdo not (?:distribute|share) (?:outside|externally)\b",
    r"\bnot for external (?:use|distribution)\b",
)

_SAYS: Final = r"[\"']?[ \t]*[:=]?[ \t]*[\"']?"
PERSONAL: Final = {
    "a social security number": _any(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])"),
    "a date of birth": _any(
        rf"\b(?:date of birth|birth ?date|d\.?o\.?b\.?|born on){_SAYS}"
        r"(?:\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d|(?:19|20)\d\d-\d\d-\d\d)"
    ),
    "a telephone number": _any(
        rf"\b(?:phone|telephone|tel|mobile|cell|fax)\.?(?: (?:no|number))?{_SAYS}(?!\+?\d?[ .-]?(?:123|555)\b)"
        r"\+?\d{1,3}[ .()/-]{1,2}(?!555\b)(?:\d{2,4}[ .()/-]{1,2}){1,4}\d{2,5}(?!\w)"
    ),
    "the number of a document of a person": _any(
        r"\b(?:passport|patient|medical record|national id|tax id|insurance)(?: (?:no|number|id))\.?[\"']?[ \t]*[:=#]"
        r"[ \t]*[\"']?[A-Z]{0,3}\d{5,12}\b"
    ),
}
"""What is told of it, and how it is written."""

CARD: Final = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w.-]|[ -]\d)")
TEST_CARDS: Final = frozenset(
    {"4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "4012888888881881"}
)
IBAN: Final = re.compile(r"(?<!\w)([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?!\w)")
TEST_IBANS: Final = frozenset({"GB82WEST12345698765432", "DE89370400440532013000", "GB29NWBK60161331926819"})
