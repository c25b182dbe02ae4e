"""Many images of a camera as one, each with its time. Needs OpenCV."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aeroloop.cameras import encoding

MOST_IMAGES, COLUMNS, WIDTH_PX = 60, 6, 320
QUALITY = 85


def spread(count: int, most: int = MOST_IMAGES) -> list[int]:
    """Which of them to show: all, or as many as fit, evenly from the first to the last."""
    if count <= most:
        return list(range(count))
    return [round(index * (count - 1) / (most - 1)) for index in range(most)]


def contact_sheet(images: Sequence[tuple[float, bytes]]) -> bytes:
    """JPEG of images given with their times in s; of very many a selection."""
    cv2 = encoding.opencv()
    shown = [images[index] for index in spread(len(images))]
    tiles = []
    for t_s, jpeg in shown:
        picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        height_px = round(picture.shape[0] * WIDTH_PX / picture.shape[1])
        tile = cv2.resize(picture, (WIDTH_PX, height_px), interpolation=cv2.INTER_AREA)
        for colour, thickness in (((0, 0, 0), 3), ((255, 255, 255), 1)):
            cv2.putText(tile, f"{t_s:.2f} s", (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, colour, thickness)
        tiles.append(tile)
    columns = min(COLUMNS, len(tiles))
    rows = math.ceil(len(tiles) / columns)
    height_px = tiles[0].shape[0]
    sheet = np.zeros((rows * height_px, columns * WIDTH_PX, 3), np.uint8)
    for index, tile in enumerate(tiles):
        row, column = divmod(index, columns)
        sheet[row * height_px : (row + 1) * height_px, column * WIDTH_PX : (column + 1) * WIDTH_PX] = tile
    return bytes(cv2.imencode(".jpg", sheet, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1])
