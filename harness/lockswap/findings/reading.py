"""From a campaign's folder to what it says."""

from pathlib import Path

from lockswap.findings import advice, brief, hints, loading, sentences, squares
from lockswap.findings.findings import Findings
from lockswap.findings.verdict import verdict
from lockswap.records.folder import Folder


def read(folder: Path) -> Findings:
    campaign = loading.load(Folder(folder))
    said = {workload.name: sentences.of(workload) for workload in campaign.workloads}
    noted = [hints.recorded(text) for text in campaign.about.get("hints", [])]
    found, pictures = verdict(campaign), squares.of(campaign)
    by_name = {one.workload: one for one in found.workloads}
    colleague = [brief.sentence(picture, by_name, len(pictures) > 1) for picture in pictures]
    # Where no lock is under test there is no picture, but a reason.
    return Findings(
        folder, campaign, said, [*noted, *advice.of(campaign)], found, pictures, colleague or found.sentences
    )
