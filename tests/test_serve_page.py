"""The page at / of the runtime's server: what it may load, what it asks the server, and what a browser shows of it."""

import base64
import hashlib
import re

import pytest

from dense_lstm_zoo_runtime.serve import page
from tests import browser_harness, page_harness
from tests.server_harness import Classifier, LanguageModel, SpanTagger, Tagger, eventually, running

HTML = page._FILE.read_text(encoding="utf-8")
SCRIPT = HTML.partition("<script>")[2].partition("</script>")[0]
STYLE = HTML.partition("<style>")[2].partition("</style>")[0]
HOSTILE = "<img src=x onerror=alert(1)>"


class OddSpans(SpanTagger):
    labels = (f"B-{HOSTILE}", f"I-{HOSTILE}", "O")


@pytest.fixture(scope="module")
def server():
    with running(Classifier(), Tagger(), LanguageModel(), OddSpans(), max_texts=5) as one:
        yield one


def sha256(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_page_comes_with_a_policy_that_allows_its_own_script_and_style_alone(server):
    answer = server.ask("/")
    assert (answer.status, answer.body.decode()) == (200, HTML)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == sha256(SCRIPT)
    assert policy["style-src"] == sha256(STYLE)
    assert policy["connect-src"] == "'self'"
    assert {policy[name] for name in ("base-uri", "form-action", "frame-ancestors")} == {"'none'"}
    head = server.ask("/", method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert server.ask("/", b"{}").headers["allow"] in ("HEAD", "GET")


def test_the_page_has_no_outside_assets_and_puts_text_in_as_text():
    assert not re.search(r"https?:|//[a-z]|\bsrc\s*=|url\(|@import|<link(?! rel=\"icon\" href=\"data:,\")", HTML)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\.on\w+ =", HTML)
    assert not re.search(r"<[^>]+\s(on\w+|style)\s*=", HTML)  # which the policy would refuse


def test_the_script_finds_every_element_and_class_that_it_names():
    assert set(re.findall(r'byId\("(\w+)"\)', SCRIPT)) <= set(re.findall(r'\bid="(\w+)"', HTML))
    classes = re.findall(r'add\([^;]*?, "\w+", "([\w ]+)"', SCRIPT) + re.findall(r'classList\.add\("(\w+)"', SCRIPT)
    assert classes
    assert {name for group in classes for name in group.split()} <= set(re.findall(r"\.([a-z]+)\b", STYLE))


OPTIONAL = {"prediction": {"labels"}}  # of a model that gives a text several


def test_the_page_reads_what_the_server_answers(server):
    text = {"texts": ["good zzz BAD"]}
    answers = {
        "model": server.ask("/v1/models").json["models"][0],
        "prediction": server.ask("/v1/models/m0:predict", text).json["predictions"][0],
        "explanation": server.ask("/v1/models/m0:explain", text | {"label": "odd"}).json["explanations"][0],
        "sentence": server.ask("/v1/models/m3:predict", text).json["predictions"][0],
        "score": server.ask("/v1/models/m2:predict", text).json["predictions"][0],
    }
    answers["span"] = answers["sentence"]["spans"][0]
    for name, answer in answers.items():
        fields = set(re.findall(rf"\b{name}\.(\w+)", SCRIPT))
        assert fields
        assert fields <= {*answer, *OPTIONAL.get(name, ())}, name
    assert answers["explanation"]["tokens"] == ["good", "zzz", "BAD"]
    assert answers["explanation"]["effects"] == [2.0, 0.0, -1.0]
    assert answers["explanation"]["in_vocabulary"] == [True, False, True]
    assert {model["task"] for model in server.ask("/v1/models").json["models"]} <= set(
        re.findall(r"(\w+): show", SCRIPT.partition("const SHOW")[2])
    )


@pytest.mark.skipif(not page_harness.is_installed(), reason="needs Node")
def test_the_page_marks_spans_with_their_label_and_confidence(server):
    def shown(number, text):
        return page_harness.answer_of(SCRIPT, server.port, number, text)

    text = "to New York 😀 and <B>Rome go"
    tags = [
        "div",
        "tokens",
        [["span", "token", [["span", "tag", ["X"]], ["span", "word", [word]]]] for word in text.split()],
    ]
    assert shown(1, text) == [["h2", "", ["Tags"]], tags]  # tags in no scheme
    text = text.replace("<B>", "")
    heading, line, *rest = shown(3, text)
    marks = [["mark", "span", [words, " ", ["span", "sure", [f"{HOSTILE} {sure} %"]]]]
             for words, sure in (("New York", "56.3"), ("Rome", "75.0"))]  # fmt: skip
    assert heading == ["h2", "", ["Spans"]]
    assert line == ["p", "words", ["to", " ", marks[0], " ", "😀 and", " ", marks[1], " ", "go"]]
    assert rest[0] == ["h2", "", ["Tags"]]
    assert [token[2][1][2][0] for token in rest[1][2]] == text.split()
    assert shown(3, "none")[:2] == [["h2", "", ["Spans"]], ["p", "quiet", ["The model marks no span."]]]
    assert ["p", "quiet", ["There is no word to tag."]] in shown(3, " ")


def test_words_of_spans_are_readable_in_light_and_dark():
    def numbers(name, scheme):
        value = re.findall(rf"--{name}: (#\w+|[\d ]+);", STYLE)[scheme]
        return [int(x * 2, 16) / 255 for x in value[1:]] if len(value) == 4 else colour(value)

    def colour(value):
        whole = re.findall(r"[0-9a-f]{2}", value[1:]) if value[0] == "#" else value.split()
        return [int(x, 16 if value[0] == "#" else 10) / 255 for x in whole]

    def light(rgb):
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in rgb]
        return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    share = float(re.search(r"\.span {[^}]*color: var\(--ink\); background: rgb\(var\(--for\) / (\.\d+)\)", STYLE)[1])
    assert re.search(r"\.words {[^}]*overflow-wrap: anywhere", STYLE)  # no word is wider than a phone
    for scheme in (0, 1):
        paper, ink, tint = (numbers(name, scheme) for name in ("paper", "ink", "for"))
        ground = light([share * a + (1 - share) * b for a, b in zip(tint, paper, strict=True)])
        high, low = sorted((ground, light(ink)), reverse=True)
        assert (high + 0.05) / (low + 0.05) > 7  # WCAG's level AAA


def test_an_explanation_is_of_one_text_by_a_classifier(server):
    for texts in ([], ["a", "b"]):
        answer = server.ask("/v1/explain", {"texts": texts})
        assert (answer.status, f"one text per request; received {len(texts)}." in answer.error) == (422, True)
    for label in ("even", "odd"):
        answer = server.ask("/v1/explain", {"texts": ["a"], "label": label})
        assert answer.json["explanations"][0]["label"] == label
    answer = server.ask("/v1/explain", {"texts": ["a"], "label": "evven"})
    assert (answer.status, "Did you mean 'even'" in answer.error) == (404, True)
    answer = server.ask("/v1/explain", {"texts": ["a"], "label": 3})
    assert (answer.status, answer.error) == (422, "label must be a string; received 3 (int).")
    answer = server.ask("/v1/predict", {"texts": ["a"], "label": "even"})
    assert (answer.status, "an object with the keys" in answer.error) == (422, True)
    answer = server.ask("/v1/models/m1:explain", {"texts": ["a"]})
    assert (answer.status, "operation of the tagging model 'm1': 'explain'" in answer.error) == (404, True)
    assert "/v1/models/{name}:explain" in server.ask("/openapi.json").json["paths"]


def test_texts_to_predict_go_before_an_explanation():
    from concurrent.futures import ThreadPoolExecutor

    model = Classifier()
    with running(model, max_batch=1) as server, ThreadPoolExecutor(4) as clients:
        model.gate.clear()
        explanation = clients.submit(server.ask, "/v1/explain", {"texts": ["one two three"]})
        eventually(lambda: model.steps == ["one"])
        predictions = [clients.submit(server.ask, "/v1/predict", {"texts": [text]}) for text in ("a", "bb")]
        eventually(lambda: server.metric("zoo_requests_in_progress") == 4)  # with the one that asks for the metric
        eventually(lambda: server.metric("zoo_queue_texts") == 1)  # the other is next in line for the worker
        model.gate.set()
        assert [prediction.result().status for prediction in predictions] == [200, 200]
        assert explanation.result().json["explanations"][0]["tokens"] == ["one", "two", "three"]
    assert model.steps == ["one", "two", "three"]
    assert sorted(batch for batch in model.batches if batch != ["one two three"]) == [["a"], ["bb"]]
    assert model.batches[-1] == ["one two three"]  # the last step of the explanation came after both


def test_explanations_that_are_too_many_or_too_slow_are_refused():
    from concurrent.futures import ThreadPoolExecutor

    model = Classifier()
    with running(model, timeout=1.0) as server, ThreadPoolExecutor(9) as clients:
        model.gate.clear()
        answers = [clients.submit(server.ask, "/v1/explain", {"texts": ["one two"]}) for _ in range(9)]
        statuses = sorted(one.result().status for one in answers)
        model.gate.set()
        assert statuses == [503, *[504] * 8]
        assert server.ask("/v1/explain", {"texts": ["good"]}).status == 200  # a turn is free again


def test_the_page_sends_the_label_that_is_clicked():
    (fields,) = re.findall(r"JSON\.stringify\({ (.*?) }\)", SCRIPT)
    assert fields == "texts: [text], label"
    assert re.search(r'row\.addEventListener\("click", \(\) => explain\(label\)\)', SCRIPT)
    assert re.search(r'post\(model, "explain", text, signal, label\)', SCRIPT)


@pytest.mark.skipif(not page_harness.is_installed(), reason="needs Node")
def test_a_click_on_a_label_shades_the_words_for_that_label(server):
    def legend(clicks):
        shown = page_harness.answer_of(SCRIPT, server.port, 0, "good zzz", clicks)
        names = [row[2][0][:2] for row in shown if row[1] == "row choice"]
        assert names == [["button", "name best"], ["button", "name"]]
        return shown[-1][2][1][2][0][2]

    assert legend([]) == ["for even"]
    assert legend([1]) == ["for odd"]
    assert legend([1, 0]) == ["for even"]  # the last click counts, whatever answer comes first


@pytest.mark.slow  # a browser
@pytest.mark.skipif(browser_harness.binary() is None, reason="needs Chromium, on the path or in CHROME_BIN")
def test_a_browser_shows_labels_words_and_tags_wide_and_narrow(tmp_path):
    class Odd(Classifier):
        labels = ("even", HOSTILE)

        def predict(self, texts):
            return [_with_label(answer) for answer in super().predict(texts)]

    def _with_label(answer):
        from dense_lstm_zoo_runtime.answers import Prediction

        return Prediction(answer.text, HOSTILE, 0.75, {"even": 0.25, HOSTILE: 0.75})

    text = f"good zzz BAD {HOSTILE} {'long' * 60} "
    fits = "return document.documentElement.scrollWidth <= innerWidth"
    ready = "return !document.getElementById('send').disabled"
    with running(Odd(), Tagger(), LanguageModel(), OddSpans()) as server, browser_harness.browser(tmp_path) as browser:
        papers = set()
        for width, scheme in ((1200, "light"), (360, "dark")):
            browser.show(f"http://127.0.0.1:{server.port}/", width=width, scheme=scheme)
            browser.wait(ready)
            papers.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
            browser.type("#text", text)
            browser.click("#send")
            browser.wait("return document.querySelector('.words .against')")
            rows = browser.run("return [...document.querySelectorAll('.row')].map(row => row.innerText.split('\\n'))")
            assert [[row[0], row[-1]] for row in rows] == [[HOSTILE, "75.0 %"], ["even", "25.0 %"]]
            bars = browser.run("return [...document.querySelectorAll('.bar')].map(bar => bar.offsetWidth)")
            assert bars[0] == pytest.approx(3 * bars[1], abs=3)
            words = browser.run("return [...document.querySelectorAll('.words .word')].map(x => x.className)")
            assert words == ["word for", "word unknown", "word against", *["word"] * (len(text.split()) - 3)]
            shade = "return getComputedStyle(document.querySelector('.words .for')).backgroundColor"
            assert re.search(r"0\.5\)$", browser.run(shade))  # the strongest word
            browser.click(".row", 1)
            browser.wait(
                "const one = document.querySelector('.quiet .for'); return one && one.innerText === 'for even'"
            )
            assert browser.run(fits)
            assert browser.run("return document.images.length") == 0
            assert browser.run(fits)
            assert browser.console() == []
            for number, selector in ((3, ".words .span"), (1, ".token"), (2, "#answer .best")):
                browser.run(
                    "const model = document.getElementById('model'); model.selectedIndex = arguments[0];"
                    "model.dispatchEvent(new Event('change'))",
                    number,
                )
                browser.click("#send")
                browser.wait(f"return document.querySelector('{selector}')")
                assert browser.run(fits)
                if selector == ".words .span":
                    marks = browser.run("return [...document.querySelectorAll('mark')].map(x => x.innerText)")
                    assert marks == [f"BAD {HOSTILE} 75.0 %"]
                if selector == ".token":
                    tags = browser.run("return [...document.querySelectorAll('.token')].map(x => x.innerText)")
                    assert tags == [f"X\n{word}" for word in text.split()]
            assert "Perplexity infinite" in browser.run("return document.getElementById('answer').innerText")
            assert browser.console() == []
        assert len(papers) == 2
        # More than is accepted: the server's own words are shown.
        browser.run("document.getElementById('text').value = 'x'.repeat(10001)")
        browser.click("#send")
        error = browser.wait("const one = document.querySelector('.error'); return one && one.innerText")
        assert "at most 10,000 are accepted" in error
