"""Make the tour's documents: `python -m devhost.tour.make_sample`.

`harbour-plan.md` is the text, about an invented harbour. `harbour-plan.pdf` is made of it, with running
heads and page numbers; `harbour-plan.png` is its cover as an image, which no task reads. Both come out the
same each time.
"""

from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]  # no types
from reportlab.lib.styles import getSampleStyleSheet  # type: ignore[import-untyped]  # no types
from reportlab.lib.units import cm  # type: ignore[import-untyped]  # no types
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]  # no types
from reportlab.platypus import BaseDocTemplate, Frame, ListFlowable, PageTemplate, Paragraph, Spacer  # type: ignore[import-untyped]  # no types

HERE = Path(__file__).parent
TITLE = "Vessholm Harbour: Maintenance Plan"


def make_pdf(path: Path) -> None:
    """Write the plan as a PDF."""
    styles = getSampleStyleSheet()
    body = styles["BodyText"]
    body.fontSize, body.leading, body.spaceAfter = 12, 18, 10
    story: list[Any] = [Paragraph(TITLE, styles["Title"]), Spacer(1, cm)]
    for block in (HERE / "harbour-plan.md").read_text("utf-8").strip().split("\n\n"):
        text = " ".join(block.split())
        if text.startswith("# "):
            story.append(Paragraph(text.removeprefix("# "), styles["Heading2"]))
        elif text.startswith("- "):
            story.append(ListFlowable([Paragraph(text.removeprefix("- "), body)], bulletType="bullet"))
        else:
            story.append(Paragraph(text, body))
    document = BaseDocTemplate(
        str(path), pagesize=A4, title=TITLE, author="Vessholm harbour office", invariant=1
    )
    frame = Frame(3 * cm, 3 * cm, A4[0] - 6 * cm, A4[1] - 6 * cm)
    document.addPageTemplates([PageTemplate(frames=[frame], onPage=_running_lines)])
    document.build(story)


def make_png(path: Path) -> None:
    """Write the plan's cover as an image."""
    cover = Image.new("RGB", (240, 120), "white")
    ImageDraw.Draw(cover).text((12, 52), TITLE, fill="black")
    cover.save(path, optimize=True)


def _running_lines(canvas: Canvas, document: BaseDocTemplate) -> None:
    canvas.setFont("Helvetica", 9)
    canvas.drawString(3 * cm, A4[1] - 2 * cm, TITLE)
    canvas.drawCentredString(A4[0] / 2, 1.5 * cm, f"Page {document.page}")


if __name__ == "__main__":
    make_pdf(HERE / "harbour-plan.pdf")
    make_png(HERE / "harbour-plan.png")
