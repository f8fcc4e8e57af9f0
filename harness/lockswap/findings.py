"""What a campaign says: figures, sentences and advice. The terminal and the page show the same."""

from dataclasses import dataclass
from pathlib import Path

from lockswap import advice, sentences, summary
from lockswap.store import Folder


@dataclass(frozen=True)
class Findings:
    folder: Path
    campaign: summary.Campaign
    sentences: dict[str, list[str]]
    advice: list[str]

    @classmethod
    def read(cls, folder: Path) -> "Findings":
        campaign = summary.load(Folder(folder))
        said = {workload.name: sentences.of(workload) for workload in campaign.workloads}
        return cls(folder, campaign, said, [*campaign.about.get("hints", []), *advice.of(campaign)])
