"""From a campaign's folder to what it says."""

from pathlib import Path

from lockswap.findings import advice, loading, sentences
from lockswap.findings.findings import Findings
from lockswap.findings.verdict import verdict
from lockswap.records.folder import Folder


def read(folder: Path) -> Findings:
    campaign = loading.load(Folder(folder))
    said = {workload.name: sentences.of(workload) for workload in campaign.workloads}
    return Findings(folder, campaign, said, [*campaign.about.get("hints", []), *advice.of(campaign)], verdict(campaign))
