"""What a chart shows: the pixels of its lines' colours, in its plot area on the page or in a picture of it."""

from __future__ import annotations

import base64
from pathlib import Path

from playwright.sync_api import Page

_COUNT = """async ({ chart, picture }) => {
  const reader = (width, height) => new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  const pen = reader(7, 1);
  for (let tone = 0; tone < 7; tone += 1) {
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--chart-${tone + 1}`).trim();
    pen.fillRect(tone, 0, 1, 1);
  }
  const tones = pen.getImageData(0, 0, 7, 1).data;
  const bytes = Uint8Array.from(atob(picture), (each) => each.charCodeAt(0));
  const drawn = picture ? await createImageBitmap(new Blob([bytes])) : document.querySelector(`#chart-${chart} canvas`);
  const canvas = reader(drawn.width, drawn.height);
  canvas.drawImage(drawn, 0, 0);
  const [whole, plot] = ["canvas", ".u-over"].map((part) => document.querySelector(`#chart-${chart} ${part}`).getBoundingClientRect());
  const heading = picture ? 54 : 0; // a picture has the chart's name and the legend above it
  const edges = [plot.left - whole.left, plot.top - whole.top + heading, plot.width, plot.height].map((each) => each * devicePixelRatio);
  const pixels = canvas.getImageData(...edges).data;
  const counts = new Array(7).fill(0);
  for (let at = 0; at < pixels.length; at += 4) {
    for (let tone = 0; tone < 7; tone += 1) {
      if ([0, 1, 2, 3].every((part) => pixels[at + part] === tones[4 * tone + part])) counts[tone] += 1;
    }
  }
  return counts;
}"""  # noqa: E501 - one expression of another language


def painted(page: Page, chart: str, picture: Path | None = None) -> list[int]:
    """Returns how many pixels have the colour of the chart's first line, of its second, and so on, up to the seventh.

    With `picture`, a PNG file that the page saved, those of the picture.
    """
    encoded = "" if picture is None else base64.b64encode(picture.read_bytes()).decode()
    found: list[int] = page.evaluate(_COUNT, {"chart": chart, "picture": encoded})
    return found
