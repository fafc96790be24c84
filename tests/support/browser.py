"""A headless Chromium, driven over a pipe by the DevTools protocol."""

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable")
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")

LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find():
    """Return the path of the browser, from CHROMIUM or PATH, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Page of a browser that runs as long as the `with` statement."""

    def __init__(self, program, folder, width=1240, height=1000):
        # the protocol's pipe: the browser reads messages from descriptor 3 and writes them to 4, a zero byte after each
        take, self._to = os.pipe()
        self._from, give = os.pipe()
        command = [program, *OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}"]
        command += ["--remote-debugging-pipe", "about:blank"]
        moved = [sys.executable, "-c", LAUNCH, str(take), str(give), *command]
        self._log = open(os.path.join(folder, "log"), "wb")
        self._process = subprocess.Popen(moved, pass_fds=(take, give), stdout=self._log, stderr=self._log)
        os.close(take)
        os.close(give)
        self._read, self._number, self._session, self.events = b"", 0, None, []

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error):
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        self._log.close()

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _message(self):
        while b"\0" not in self._read:
            read = os.read(self._from, 1 << 16)
            if not read:
                raise RuntimeError("the browser ended")
            self._read += read
        message, self._read = self._read.split(b"\0", 1)
        return json.loads(message)

    def open(self, url):
        """Load the page at `url` and wait until it is complete."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        until = time.monotonic() + 60.0
        while self.evaluate("document.readyState") != "complete" or self.evaluate("location.href") == "about:blank":
            if time.monotonic() > until:
                raise TimeoutError(url)
            time.sleep(0.02)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def screenshot(self):
        """Return the visible page as an array of pixels: red, green and blue from 0 to 1."""
        from matplotlib.image import imread

        data = self.call("Page.captureScreenshot", format="png")["data"]
        return imread(io.BytesIO(base64.b64decode(data)))[:, :, :3]

    def drag(self, start, end, steps=5):
        """Press the pointer at `start`, move it to `end` and release it."""
        self._pointer("mousePressed", start)
        for k in range(1, steps + 1):
            self._pointer("mouseMoved", [a + (b - a) * k / steps for a, b in zip(start, end)])
        self._pointer("mouseReleased", end)

    def _pointer(self, kind, at):
        self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", buttons=1, clickCount=1)

    def press(self, key):
        """Press and release a key, named as by `KeyboardEvent.key`, on the focused element."""
        codes = {
            "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, " ": 32,
            "n": 78,
        }  # fmt: skip
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes[key])
