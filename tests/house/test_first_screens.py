"""The stored first screens: all are there, small, of one size, and in their guide."""

from PIL import Image

from support.first_screens import HEIGHT_PX, MOST_BYTES, PICTURES, ROOT, SCREENS, WIDTH_PX


def test_every_first_screen_is_stored_and_shown() -> None:
    guide = (ROOT / "docs/guides/first-screens.md").read_text()
    assert {path.stem for path in PICTURES.iterdir()} == set(SCREENS)
    for name in SCREENS:
        path = PICTURES / f"{name}.webp"
        assert f"](../pictures/first-screens/{path.name})" in guide
        assert path.stat().st_size < MOST_BYTES
        with Image.open(path) as picture:
            assert picture.size == (WIDTH_PX, HEIGHT_PX)
            assert len(picture.convert("L").getcolors() or []) > 20, "it is not blank"
