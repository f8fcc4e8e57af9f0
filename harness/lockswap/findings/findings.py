"""What a campaign says: figures, sentences and advice. The terminal and the page show the same; reading.py makes it."""

from dataclasses import dataclass
from pathlib import Path

from lockswap.findings.measured import Campaign
from lockswap.findings.whole import Verdict


@dataclass(frozen=True)
class Findings:
    folder: Path
    campaign: Campaign
    sentences: dict[str, list[str]]
    advice: list[str]
    verdict: Verdict
