#!/usr/bin/env python3
"""Opens the page in headless Chromium, and checks what it shows against this program's own arithmetic.

Usage: test.py FOLDER NATIVE [--verbose], where FOLDER holds the output of wasm-bindgen, and afterwards what the page has
shown. NATIVE holds the output of the example `web_native`, the same results without a browser, to compare with.
The environment variable CHROMIUM names another browser than `chromium`.
"""

import base64
import cmath
import functools
import http.server
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
# A GPU in software, which is the same on every machine.
FLAGS = [
    "--headless=new", "--no-sandbox", "--no-first-run", "--disable-dev-shm-usage", "--enable-logging=stderr",
    "--enable-unsafe-webgpu", "--enable-features=Vulkan", "--use-webgpu-adapter=swiftshader",
    "--window-size=1000,1200",
]
# Seconds without news from the page.
PATIENCE = 120
VERBOSE = "--verbose" in sys.argv
# Runs before the page, and remembers what it says on the console.
RECORD = """<script>
window.recorded = [];
for (const level of ['warn', 'error']) {
  const own = console[level];
  console[level] = (...all) => { window.recorded.push(all.join(' ')); own(...all); };
}
</script>"""
TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, folder, sent, *args):
        self.folder, self.sent = folder, sent
        super().__init__(*args)

    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.split("?")[0].lstrip("/") or "index.html"
        path = self.folder / name[4:] if name.startswith("pkg/") else HERE / name
        if ".." in name or not path.is_file():
            return self.send_error(404)
        data = path.read_bytes()
        if name == "index.html":
            test = b'<script type="module" src="test.js"></script>'
            data = data.replace(b"<style>", RECORD.encode() + b"<style>") + test
        self.send_response(200)
        self.send_header("Content-Type", TYPES[path.suffix])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.sent(self.path, sent)
        self.send_response(204)
        self.end_headers()


def visit(folder, chromium):
    """What the page has sent, and what the browser has printed."""
    reports = []
    heard = time.monotonic()

    def sent(path, what):
        nonlocal heard
        heard = time.monotonic()
        if path == "/report":
            reports.append(what)
        elif VERBOSE:
            print(f"{what['time']:8.0f} ms  {what['name']}", flush=True)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, folder, sent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile("w+") as log:
        address = f"http://127.0.0.1:{server.server_port}/"
        browser = subprocess.Popen([chromium, *FLAGS, f"--user-data-dir={profile}", address], stderr=log, stdout=log)
        try:
            while not reports and browser.poll() is None and time.monotonic() < heard + PATIENCE:
                time.sleep(0.1)
        finally:
            browser.terminate()
            browser.wait()
        server.shutdown()
        log.seek(0)
        printed = log.read()
    if not reports:
        sys.exit(f"the page has sent nothing; the browser printed:\n{printed[-5000:]}")
    return reports[0], printed


def kernel(name):
    match name:
        case "smoothing":
            return [math.comb(12, i) / 4096 for i in range(13)]
        case "echo":
            return [{0: 1.0, 400: 0.5, 800: 0.25, 1200: 0.125}.get(i, 0.0) for i in range(1201)]
        case "differences":
            return [1.0, -1.0]
        case "nothing":
            return [1.0]


def convolved(x, h):
    result = [0.0] * (len(x) + len(h) - 1)
    for j, factor in enumerate(h):
        if factor:
            for i, value in enumerate(x):
                result[i + j] += factor * value
    return result


def near(found, expected, bound, what):
    assert len(found) == len(expected), f"{what}: {len(found)} values instead of {len(expected)}"
    most = bound * max(map(abs, expected))
    for i, (a, b) in enumerate(zip(found, expected)):
        assert abs(a - b) <= most, f"{what}: value {i} is {a} instead of {b}"


def correlation(x, y, lag):
    return sum(x[i] * y[i - lag] for i in range(max(0, lag), min(len(x), len(y) + lag)))


def check_native(shown, native, where):
    """The page's results are those of the library outside the browser, bit for bit where arithmetic is exact."""
    assert shown["kernels"].keys() == native["kernels"].keys(), f"{where}: other kernels"
    for name, expected in native["kernels"].items():
        found = shown["kernels"][name]
        # A GPU may choose another of two lags that are equally good; `check_shown` compares their correlations.
        assert where == "gpu" or found["lags"] == expected["lags"], f"{where}, {name}: other lags"
        for i, row in enumerate(expected["convolved"]):
            bound = 1e-5 if name == "echo" else 0
            near(found["convolved"][i], row, bound, f"{where}, {name}, signal {i} convolved")
            near(found["spectra"][i], expected["spectra"][i], 1e-5, f"{where}, {name}, spectrum {i}")
            near(found["distances"][i], expected["distances"][i], 1e-5, f"{where}, {name}, distances {i}")


def check_shown(shown, signals, where):
    for name, found in shown["kernels"].items():
        h = kernel(name)
        # Long kernels are convolved by transforms, which round; all other results are exact.
        bound = 1e-5 if len(h) > 100 else 0
        for i, x in enumerate(signals):
            what = f"{where}, {name}, signal {i}"
            near(found["convolved"][i], convolved(x, h), bound, what)
        for colour, count in found["pixels"].items():
            # The convolution with one value covers the signal.
            hidden = colour == "signal" and name == "nothing"
            assert hidden or count > 500, f"{where}, {name}: only {count} pixels in the colour of {colour}"
    found = shown["kernels"]["nothing"]
    for i, x in enumerate(signals):
        n, spectrum = len(x), found["spectra"][i]
        assert len(spectrum) == n // 2 + 1, f"{where}, signal {i}: {len(spectrum)} frequencies"
        bins = [0, 1, n // 7, n // 3, n // 2]
        turns = [[cmath.exp(-2j * math.pi * (k * t % n) / n) for t in range(n)] for k in bins]
        expected = [abs(sum(a * b for a, b in zip(x, turn))) for turn in turns]
        most = 1e-5 * max(spectrum)
        for k, value in zip(bins, expected):
            assert abs(spectrum[k] - value) <= most, f"{where}, signal {i}: |X[{k}]| is {spectrum[k]}, not {value}"
    norms = [math.sqrt(sum(v * v for v in x)) for x in signals]
    for i, x in enumerate(signals):
        row = found["distances"][i]
        others = [j for j in range(len(signals)) if j != i]
        best = min(others, key=row.__getitem__)
        assert best == i ^ 1, f"{where}: signal {i} is nearest to {best}"
        assert row[i] < 1e-6 and found["lags"][i][i] == 0, f"{where}: signal {i} is far from itself"
        for j in others:
            lag = found["lags"][i][j]
            at_best = correlation(x, signals[j], lag)
            distance = 1 - at_best / (norms[i] * norms[j])
            assert abs(row[j] - distance) < 1e-5, f"{where}: distance {i}, {j} is {row[j]}, not {distance}"
            for other in (lag - 1, lag + 1, 0, 100):
                assert correlation(x, signals[j], other) <= at_best * (1 + 1e-5) + 1e-3, f"{where}: lag {i}, {j}"


def main():
    # Ends the browser, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    folder = pathlib.Path(sys.argv[1])
    chromium = os.environ.get("CHROMIUM", "chromium")
    began = time.monotonic()
    report, printed = visit(folder, chromium)
    if "failed" in report:
        sys.exit(report["failed"])
    (folder / "report.json").write_text(json.dumps(report))
    for where in ("gpu", "cpu"):
        png = base64.b64decode(report[where]["png"].split(",")[1])
        (folder / f"page-{where}.png").write_bytes(png)
    print(f"device: {report['gpu']['status']}")
    print(f"device: {report['cpu']['status']}")
    print(f"in the browser: {time.monotonic() - began:.0f} s, of which, in ms: {report['times']}")

    began = time.monotonic()
    signals = [signal["values"] for signal in report["signals"]]
    assert len({len(x) for x in signals}) == len(signals) == 6, "six lengths"
    assert all(value == int(value) for x in signals for value in x), "whole numbers"
    assert report["start"]["error"] == "" and "(webgpu)" in report["gpu"]["status"], "no GPU"
    assert "CPU" in report["cpu"]["status"], "the CPU"
    native = json.loads(pathlib.Path(sys.argv[2]).read_text())
    assert signals == native["signals"], "other signals"
    for where in ("gpu", "cpu"):
        check_shown(report[where], signals, where)
        check_native(report[where], native, where)
    assert all(shown["deviceTime"] > 0 for shown in report["gpu"]["kernels"].values()), "no device time"
    assert report["bad"] == 'bad.csv: line 3: "four" is no number', report["bad"]
    assert report["good"] == {"error": "", "values": [[1, 2, 3]]}, report["good"]
    without = report["without"]
    assert "CPU" in without["status"] and "no WebGPU adapter" in without["status"] and not without["error"], without
    print(f"the page agrees with exact arithmetic and with the library outside the browser ({time.monotonic() - began:.0f} s)")

    checks = report["checks"]
    compiled = sum(check["name"].startswith("compiles ") for check in checks)
    failures = [check for check in checks if check["wrong"]]
    print(f"{len(checks) - compiled} checks, {compiled} kernels compiled, {len(failures)} failures")
    for check in failures:
        print(f"  {check['name']}: {check['wrong']}")
    slowest = sorted(checks, key=lambda check: -check["time"])[:5]
    print("slowest:", ", ".join(f"{check['name']} ({check['time'] / 1000:.1f} s)" for check in slowest))
    said = report["recorded"] + [line for line in printed.splitlines() if "CONSOLE" in line]
    for line in said:
        print(f"  console: {line}")
    sys.exit(bool(failures or said or len(checks) - compiled < 200))


if __name__ == "__main__":
    main()
