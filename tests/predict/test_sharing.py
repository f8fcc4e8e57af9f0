"""What was predicted of more threads than processors, and then measured: the page says what came out."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sharing  # noqa: E402


def test_the_page_says_what_came_out():
    page = (sharing.PREDICTED / f"{sharing.STEM}.md").read_text(encoding="utf-8")
    for question, score in sharing.judge(sharing.PREDICTED / f"{sharing.STEM}.csv").items():
        assert f"| `{question}` | {score.claims} | {score.right} | {score.right_by_processor_time} |" in page


def test_nothing_but_orders_is_predicted():
    for question in sharing.QUESTIONS:
        found = sharing.predicted(question)
        assert found["points"] == []
        assert {claim["threads"] for claim in found["claims"]} == set(sharing.THREADS)
        assert 0.6 <= found["coverage"] <= 1
