"""What a campaign says: figures, sentences and advice. The terminal and the page show the same; reading.py makes it."""

from dataclasses import dataclass
from pathlib import Path

from lockswap.findings.hints import Hint
from lockswap.findings.measured import Campaign
from lockswap.findings.picture import Picture
from lockswap.findings.whole import Verdict


@dataclass(frozen=True)
class Findings:
    folder: Path
    campaign: Campaign
    sentences: dict[str, list[str]]
    advice: list[Hint]
    verdict: Verdict
    pictures: list[Picture]  # one for each set of locks
    brief: list[str]  # one sentence for each of them: the verdict as one would say it to a colleague
