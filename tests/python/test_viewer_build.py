"""The script and the style of the viewer are those that its sources give, and its types hold."""

import re
import subprocess

from harness import REPOSITORY

SOURCE = REPOSITORY / "src/viewer"
BUILT = ["viewer.js", "viewer.css", "LICENSES.txt"]


def run(environment, folder, *command):
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{' '.join(command)}: {ran.stdout}{ran.stderr}"


def test_what_is_built_in_is_fresh(installed, node_environment):
    run(node_environment, installed, "npm", "run", "build")
    for name in BUILT:
        fresh, kept = ((folder / "dist" / name).read_bytes() for folder in [installed, SOURCE])
        assert fresh == kept, f"src/viewer/dist/{name} is not what its sources give: run scripts/viewer"


def test_types_hold(installed, node_environment):
    run(node_environment, installed, "npm", "run", "check")


def test_logic_holds_without_a_browser(installed, node_environment):
    run(node_environment, installed, "npm", "test")


def test_text_is_never_code():
    """Nothing makes elements of text, or code of it; the packages that are built in neither, as the build checks."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function"
        r"|https?://(?!www\.w3\.org/)|import\("
    )
    for path in sorted((SOURCE / "src").rglob("*.ts*")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not forbidden.search(line), f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()}"
