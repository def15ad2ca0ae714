from pathlib import Path

from devhost.tour.make_sample import HERE, make_pdf, make_png
from shared.documents.limits import ReadLimits
from shared.documents.pdf_worker import extract


def test_the_plan_kept_here_is_the_one_the_script_makes(tmp_path: Path) -> None:
    make_pdf(tmp_path / "made.pdf")
    made, kept = (tmp_path / "made.pdf").read_bytes(), (HERE / "harbour-plan.pdf").read_bytes()
    assert extract(made, ReadLimits()) == extract(kept, ReadLimits())


def test_the_plan_has_pages_and_every_word_of_its_source() -> None:
    found = extract((HERE / "harbour-plan.pdf").read_bytes(), ReadLimits())
    words = (HERE / "harbour-plan.md").read_text("utf-8").replace("# ", " ").replace("- ", " ").split()
    assert found.pages == 2
    assert set(words) <= set(found.text.split())


def test_the_cover_is_an_image(tmp_path: Path) -> None:
    make_png(tmp_path / "made.png")
    signature = b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "made.png").read_bytes().startswith(signature)
    assert (HERE / "harbour-plan.png").read_bytes().startswith(signature)
