"""Tests the page of derivations: it must be well-formed, without scripts or addresses, and every formula must
have a width in a browser. Without a browser, skips the last part and exits with 77."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MEASURE = """<script>
const narrow = [...document.querySelectorAll("math")].filter(m => m.getBoundingClientRect().width < 2);
document.body.innerHTML = "<pre>narrow: " + narrow.length + " of " + document.querySelectorAll("math").length
  + "</pre>";
</script>"""


def fail(what):
    sys.exit("FAILED: " + what)


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "page.html")
        subprocess.run([sys.executable, ROOT / "tools" / "derivations.py", file], check=True)
        text = file.read_text("utf-8")
        for word in ("<script", "http:", "https:", "src=", "\\frac"):
            if word in text:
                fail("the page has '%s'" % word)
        formulas = re.findall(r"<math>.*?</math>", text)
        for formula in formulas:
            xml.dom.minidom.parseString(formula)
        lines = sum(1 for each in (ROOT / "docs" / "derivations").glob("*.md")
                    for line in each.read_text("utf-8").splitlines() if "⟵" in line)
        if len(formulas) < lines:
            fail("the page has %d formulas for %d lines" % (len(formulas), lines))
        for name in (each.stem for each in (ROOT / "docs" / "derivations").glob("*.md")):
            if '<h2 id="%s">' % name not in text:
                fail("%s is not on the page" % name)
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if not browser:
            print("skipped: there is no browser to draw the formulas. Run apt-get install chromium")
            sys.exit(77)
        measured = pathlib.Path(folder, "measured.html")
        measured.write_text(re.sub(r"<meta http-equiv.*>", "", text).replace("</html>", MEASURE + "</html>"), "utf-8")
        shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                                "--user-data-dir=" + folder, measured.as_uri()],
                               capture_output=True, text=True, timeout=240).stdout
        found = re.search(r"narrow: (\d+) of (\d+)", shown)
        if not found:
            print("skipped: %s did not draw the page" % browser)
            sys.exit(77)
        if found[1] != "0" or int(found[2]) != len(formulas):
            fail(found[0])


main()
