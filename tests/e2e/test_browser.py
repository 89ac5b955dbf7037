"""What a person sees in a real browser: upload, live steps and the new rank, also without a script."""

import re

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.e2e.site import pack, saxpy_package
from tests.e2e.test_walk import source

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

# Chromium looks for its maker's hosts at each start unless told not to.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, site):
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: foreign(request.url, site, complaints))
    yield page
    context.close()
    assert complaints == []


def foreign(url, site, complaints):
    if not url.startswith((site.url, site.url.replace("http", "ws"), "data:", "blob:")):
        complaints.append(f"a request to another host: {url}")


def send(page, site, arch, name, tmp_path):
    kernel_id, files = saxpy_package(name, source(), arch)
    archive = tmp_path / "package.tar.gz"
    archive.write_bytes(pack(files))
    page.goto("/submit")
    page.get_by_label("Kernel id").fill(kernel_id)
    page.get_by_label("Package").set_input_files(archive)
    page.get_by_label("Submitter").fill("entrant-b")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/submissions/[0-9a-f-]{36}$"))
    return kernel_id


def test_it_shows_an_upload_become_a_rank_without_a_reload(page, browser, site, arch, tmp_path):
    board = browser.new_context(base_url=site.url).new_page()
    board.goto(f"/boards/{arch}/Vector/saxpy/fp32")
    expect(board.get_by_role("link", name="seen-live")).to_have_count(0)
    board.evaluate("window.loadedOnce = true")

    kernel_id = send(page, site, arch, "seen-live", tmp_path)
    page.evaluate("window.loadedOnce = true")
    expect(page.get_by_role("heading", name=re.compile("On the board"))).to_be_visible(timeout=90_000)
    assert page.evaluate("window.loadedOnce") is True

    expect(board.get_by_role("link", name="seen-live").first).to_be_visible(timeout=20_000)
    assert board.evaluate("window.loadedOnce") is True
    assert site.index()[kernel_id]["rank"] >= 1
    board.context.close()


def test_it_works_without_scripts(browser, site, arch, tmp_path):
    context = browser.new_context(base_url=site.url, java_script_enabled=False)
    page = context.new_page()
    kernel_id = send(page, site, arch, "no-script", tmp_path)
    site.wait_for(lambda: kernel_id in site.index(), 90, "published")
    page.reload()
    expect(page.get_by_role("heading", name=re.compile("On the board"))).to_be_visible()
    page.goto("/")
    page.get_by_role("link", name=re.compile("GEMM")).first.click()
    expect(page.get_by_role("heading").first).to_be_visible()
    context.close()


def test_it_names_a_wrong_field_beside_it(page, site, tmp_path):
    archive = tmp_path / "package.tar.gz"
    archive.write_bytes(b"this is no archive")
    page.goto("/submit")
    page.get_by_label("Kernel id").fill("nonsense")
    page.get_by_label("Package").set_input_files(archive)
    page.get_by_label("Submitter").fill("entrant-b")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("is not of the form")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_phone_and_desk_in_both_themes(browser, site, arch, theme, width):
    context = browser.new_context(base_url=site.url, color_scheme=theme, viewport={"width": width, "height": 900})
    page = context.new_page()
    for path in ("/", f"/boards/{arch}/GEMM/nn/fp32", "/queue", "/runners", "/submit"):
        page.goto(path)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"{path} is wider than the window by {overflow} px at {width} px"
    context.close()
