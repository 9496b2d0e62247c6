"""How Hypothesis looks for examples, the same ones every time; and a browser to read pages in."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def chromium():
    """Start a headless Chromium."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(
            "no Chromium on this machine: `make test` installs Debian's as root; elsewhere install Chromium, or set "
            "the variable CHROMIUM to its path"
        )
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += [
        "--no-first-run",
        "--enable-unsafe-swiftshader",
    ]  # which draws in three dimensions without a graphics card
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()
