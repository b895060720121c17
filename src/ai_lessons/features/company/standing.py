"""Where the company's tier comes from, for the doctor and the status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import settings
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.company.administrators import KEYS, Administrators
from ai_lessons.features.company.first_sync import company_of, is_cloned

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model import Places, TierPlace

MEND = "tell those who administer this machine"
# state, what there is, what mends it
Finding = tuple[str, str, str]


def line(repo: RepositorySession) -> Finding | None:
    """What is stated of companies, and whether this code is one's; None where nobody states any."""
    places = repo.options.places
    if places.refused:
        return "warning", places.refused, MEND
    company = company_of(places)
    if company is not None:
        return _here(company, places)
    names = [place.name for place in places.known if place.owners]
    if not names:
        return None
    return "ok", f"no remote of this code is one of {', '.join(names)}", ""


def _here(company: TierPlace, places: Places) -> Finding:
    detail = f"{company.name}: {places.because}"
    try:
        is_here = company.root.exists()
        if is_here and company.url:
            is_cloned(company, company.url)
    except AiLessonsError as error:
        return "warning", f"{detail}; {error.message}", error.hint
    if not is_here:
        return "warning", f"{detail}; it is not on this machine yet", "ai-lessons admin sync"
    odd = ""
    if company.mandate:
        odd = "; ".join(_unknown_keys())
    if odd:
        return "warning", f"{detail}; {odd}", MEND
    return "ok", f"{detail}; in {company.root}", ""


def _unknown_keys() -> list[str]:
    """What the administrators' file states and no program of this version knows."""
    file = settings.ADMINISTRATORS
    return settings.unknown_keys(Administrators(file).table, file, KEYS)
