"""Commands that destroy, skip a check, or fetch a program and run it. Pure."""

from __future__ import annotations

from ai_lessons.model import expression

_SHELL = r"(?:sudo\s+|env\s+){0,4}(?:(?:ba|z|da|k|c)?sh|fish|pwsh|powershell|iex|invoke-expression|source|eval)\b"
_FETCHER = r"(?:curl|wget|fetch|aria2c|httpie|https?|iwr|irm|invoke-webrequest|invoke-restmethod|gh\s+api)\s"
_INSTALLER = r"(?:pip[\d.]*|uv|uvx|pipx|npm|npx|pnpm|yarn|bunx?|cargo|gem|brew|conda|deno|go|apt(?:-get)?|dnf|yum|helm)\s"
# What fetches a program and runs it.
FETCHES = expression(
    rf"(?xi) (?<![\w-]) (?: \|\s*{_SHELL}"
    r" | \|\s*(?:sudo\s+)?(?:python[\d.]*|perl|ruby|node|php)(?:\s+-)?\s*(?=[`;&|)]|$|\s-\s)"
    rf" | (?:{_SHELL}|\.|python[\d.]*)\s[^\n]{{0,80}}?(?:<\(|\$\(|\(|`)\s*{_FETCHER}"
    rf" | {_FETCHER}[^\n]{{0,300}}?(?:&&|;|\|\|?|\bthen\b)\s*(?:{_SHELL}|chmod|\./|python)"
    rf" | {_INSTALLER}[^\n]{{0,120}}?(?:git\+|git@|(?:git|ssh|https?)://|github:|\S\.git\b)"
    r" | git\s+clone\s[^\n]{0,200}?(?:&&|;)\s*(?:cd\s\S{1,80}\s*(?:&&|;)\s*)?(?:\./|sh\b|bash\b|make\b|python)"
    r" | downloadstring | downloadfile | urlopen\([^\n]{0,80}exec | exec\([^\n]{0,80}urlopen )"
)

# Commands that destroy or skip a check.
# Shown to people as part of the record, never drafted or hinted.
DESTROYS = expression(
    r"(?xi) (?<![\w-]) (?: --force(?!-with-lease)\b | --no-verify | --no-gpg-sign | --break-system-packages | --hard\b"
    r" | --yes\b | --delete\b | --prune\b | --purge\b | --skip-\w+ | --no-check\S* | --ignore-\w+ | --allow-\w+"
    r" | --mirror\b | --discard-changes | --no-preserve-root | -auto-approve | -delete\b"
    r" | rm\s | rmdir\s | unlink\s | dd\s | mkfs | shred\s | truncate\s | wipefs | fdisk | parted | mkswap | diskutil\s"
    r" | kill(?:all)?\s | pkill\s | sudo\s | doas\s | su\s | shutdown\b | reboot\b | poweroff\b | userdel\s"
    r" | chmod\s | chown\s | crontab\s+-r | iptables\s+-F | systemctl\s+(?:stop|disable|mask)"
    r" | git\s+(?:\S{1,80}\s+){0,8}?(?:clean|reset|restore|stash|rebase|branch\s+-D|filter-branch|filter-repo)"
    r" | git\s+(?:\S{1,80}\s+){0,8}?(?:update-ref\s+-d|reflog\s+(?:expire|delete)|gc\s+--prune|worktree\s+remove)"
    r" | git\s+(?:\S{1,80}\s+){0,8}?(?:push\s+(?:\S{1,80}\s+){0,8}?(?:-\w*f|[+:]\S))"
    r" | git\s+(?:\S{1,80}\s+){0,8}?checkout\s+(?:\S{1,80}\s+){0,8}?(?:--|\.)"
    r" | (?:drop|truncate)\s+(?:table|database|schema) | delete\s+from\s"
    r" | (?:kubectl|gcloud|aws|az|gh|docker|podman|helm|terraform|pulumi)\s(?:\S{1,80}\s+){0,4}?"
    r"(?:delete|destroy|rm|rb|rmi|prune|uninstall)\b"
    r" | (?:npm|cargo|gem)\s+(?:unpublish|yank) | remove-item\b | rd\s+/s | del\s+/ | format\s+[a-z]: | :\(\)\s*\{"
    r" | >\s*/dev/(?:sd|nvme|disk) | mv\s[^\n]{1,80}\s/dev/null | -rf? (?=[\s`]|$) | -f (?=[\s`]|$) )"
)

_NEGATED = expression(
    r"(?i)(?<![\w-])(?:never|not?|don.?t|avoid|without|instead\s+of)\s+(?:\w+\s+){0,2}?(?:`[^`\n]*`|[^`\n]*$)"
)
_DOES = expression(r"(?s)\A(?>.*?-> DO (?!NOT\b))(.*?) -> BECAUSE ")


def destroys(title: str, pattern: str, why: str = "") -> bool:
    """Whether what an entry says to do can destroy, skips a check, or fetches a program and runs it."""
    does = _DOES.search(pattern)
    if does:
        says = does[1]
    else:
        says = ""
    says += "\n" + _NEGATED.sub("", title)
    return bool(DESTROYS.search(says) or FETCHES.search(f"{title}\n{pattern}\n{why}"))
