"""The script of a page, run by Node over a document of its own, where no browser is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

PATIENCE = 30  # seconds that a page has for its answer

# As much of a document as the page uses: elements hold elements and texts.
_DOCUMENT = """
class Element {
  constructor(tag) {
    Object.assign(this, { tag, className: "", children: [], on: {}, style: { setProperty() {} }, selectedIndex: 0 });
    this.classList = { add: (name) => { this.className += " " + name; } };
  }
  set textContent(text) { this.children = [String(text)]; }
  append(...children) { this.children.push(...children); }
  replaceChildren() { this.children = []; }
  addEventListener(name, handler) { this.on[name] = handler; }
}
const elements = {};
globalThis.document = {
  createElement: (tag) => new Element(tag),
  getElementById: (id) => (elements[id] ??= new Element(id)),
};
const { fetch } = globalThis;
globalThis.fetch = (path, options) => fetch(base + path, options);
const plain = (node) => (node instanceof Element ? [node.tag, node.className, node.children.map(plain)] : node);
const until = async (condition) => { while (!condition()) await new Promise((done) => setTimeout(done, 5)); };
const rows = () => elements.answer.children.filter((child) => child.on?.click);
const shown = () => JSON.stringify(elements.answer.children);
const isDone = () => elements.answer.children.length && !shown().includes("again without");
globalThis.answerOf = async (number, text, clicks) => {
  await until(() => elements.send?.disabled === false);
  elements.model.selectedIndex = number;
  elements.text.value = text;
  elements.form.on.submit({ preventDefault() {} });
  await until(isDone);
  for (const click of clicks) rows()[click].on.click();
  await until(isDone);
  console.log(JSON.stringify(elements.answer.children.map(plain)));
};
"""


def is_installed() -> bool:
    return shutil.which("node") is not None


def answer_of(script: str, port: int, number: int, text: str, clicks: Sequence[int] = ()) -> list[Any]:
    """Return what a page shows below its form: each element as its tag, its classes and its content.

    Args:
        script: The page's script.
        port: The server's.
        number: The number of the model that is asked.
        text: The text in the form.
        clicks: The numbers of the labels that are clicked once the answer is there.
    """
    program = (
        f"const base = 'http://127.0.0.1:{port}/';\n{{{_DOCUMENT}}}\n{script}\n"
        f"answerOf({number}, {json.dumps(text)}, {json.dumps(list(clicks))});"
    )
    run = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    shown: list[Any] = json.loads(run.stdout)
    return shown
