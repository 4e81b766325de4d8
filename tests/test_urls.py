"""URLs and e-mail addresses: one token each in new models, in every engine, and as they were in older ones."""

import dataclasses
import hashlib
import json

import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles.text_hashes import hash_texts
from dense_lstm_zoo.classification.text_ids import TextToIds
from dense_lstm_zoo.classification.vocabulary import build_vocabulary, carry_vocabulary
from dense_lstm_zoo.data.text import Tokenizer
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tagging.vocabulary import build_tagging_vocabulary, carry_tagging_vocabulary
from dense_lstm_zoo_runtime import Predictor, rules, text
from tests import bundle_harness
from tests.bundle_harness import refused
from tests.transfer_harness import bundle_of, classification, prepared, tagging

# A text and its tokens, which spaces separate.
WITH_URLS = [
    ("see http://x.org/a.", "see http://x.org/a ."),
    ("(http://x.org) <http://x.org>, [http://x.org]", "( http://x.org ) < http://x.org > , [ http://x.org ]"),
    ("http://x.org, and 'http://x.org/'; \"x\"", "http://x.org , and ' http://x.org/ ' ; \" x \""),
    ("https://x.org:80/a/b;c=d,e?q=1:2&r=%20#!/top!", "https://x.org:80/a/b;c=d,e?q=1:2&r=%20#!/top !"),
    ("(see http://w.org/Bank_(river), too)", "( see http://w.org/Bank_(river) , too )"),
    (
        "[text](http://x.org/a?b=c) **http://x.org** _http://x.org_",
        "[ text ] ( http://x.org/a?b=c ) ** http://x.org ** _ http://x.org _",
    ),
    ("go to www.x.org/?a=b, WWW.X.ORG or HtTp://X.org?!", "go to www.x.org/?a=b , WWW.X.ORG or HtTp://X.org ? !"),
    ("wait...http://x.org/abc... or this.http://x.org", "wait ... http://x.org/abc ... or this . http://x.org"),
    ("ftp://a.b/c file:///C:/x s3://key/a--b", "ftp://a.b/c file:///C:/x s3://key/a--b"),
    ("http://x.org's 100% of http://x.org/100%.", "http://x.org 's 100 % of http://x.org/100 % ."),
    ("http://me:pw@x.org/~me/__init__.py", "http://me:pw@x.org/~me/__init__.py"),
    ("mail jo.b+tag@x.org, <j_d@x.co.uk>; mailto:a@b.org", "mail jo.b+tag@x.org , < j_d@x.co.uk > ; mailto:a@b.org"),
    ("a@b.org's a@b.org,c@d.org (a@b.org)", "a@b.org 's a@b.org , c@d.org ( a@b.org )"),
    # Normal form NFKC comes first; Chinese and Japanese have no space after a URL, other scripts do.
    ("请看http://x.org/a。谢谢 http://x.org，谢谢", "请看 http://x.org/a 。谢谢 http://x.org , 谢谢"),
    ("http://пример.рф/путь. http://x.org/äöü", "http://пример.рф/путь . http://x.org/äöü"),
    ("ｈｔｔｐ：／／ｘ．ｏｒｇ http://x.org—and “http://x.org”", 'http://x.org http://x.org -- and " http://x.org "'),
]
# These have no URL: every version gives the same.
WITHOUT = [
    (
        "@user #tag 3.14 10:30 e.g. U.S. :-) a.txt v1.2.3 and/or",
        "@user #tag 3.14 10:30 e.g. U.S. : - ) a.txt v1.2.3 and/or",
    ),
    ("http:// http://... :// www. www... @ a@b", "http : // http : // ... : // www . www ... @ a@b"),
    ("a: b, c; (d) 1,2:3", "a : b , c ; ( d ) 1,2:3"),
]
TEXTS = [raw for raw, _ in WITH_URLS + WITHOUT]
TOKENS = [tokens.split(" ") for _, tokens in WITH_URLS + WITHOUT]
URL = "See http://x.org/a?b=c."


def test_a_url_and_an_address_are_one_token_in_the_graph_in_the_runtime_and_in_python():
    rows = Tokenizer(2)(tf.constant(TEXTS)).to_list()
    assert [[token.decode() for token in row] for row in rows] == TOKENS
    assert list(map(text.Tokenizer(rules.VERSIONS[2]), TEXTS)) == TOKENS
    assert zoo.tokenize(TEXTS) == [[token.lower() for token in row] for row in TOKENS]


def test_tokenised_text_with_urls_passes_unchanged():
    assert list(map(text.Tokenizer(rules.VERSIONS[2]), map(" ".join, TOKENS))) == TOKENS


@pytest.mark.parametrize(("raw", "tokens"), WITHOUT, ids=range(len(WITHOUT)))
def test_text_without_urls_is_split_as_before(raw, tokens):
    assert text.Tokenizer(rules.VERSIONS[1])(raw) == tokens.split(" ")


def test_the_rules_of_trained_models_never_change():
    digests = {v: hashlib.sha256(repr(list(pairs)).encode()).hexdigest()[:16] for v, pairs in rules.VERSIONS.items()}
    assert digests == {1: "f0547bedbab66b8b", 2: "9b8738654c84b1a1"}


def test_the_rules_of_version_1_split_urls():
    expected = ["See", "http", ":", "//x.org/a", "?", "b=c", "."]
    assert text.Tokenizer(rules.VERSIONS[1])(URL) == expected
    assert [token.decode() for token in Tokenizer()([URL]).to_list()[0]] == expected


def test_new_vocabularies_have_the_newest_rules_and_those_of_a_source_keep_its_own():
    new = build_vocabulary([URL, "a film"]).vocabulary
    assert "http://x.org/a?b=c" in new.words
    old = dataclasses.replace(new, tokenizer=1)
    for source in (new, old):
        matrix = tf.zeros((source.size, 3)).numpy()
        carried = carry_vocabulary(
            source, matrix, [URL, *3 * ["www.y.org/?a"]], learns=True, learns_chars=False
        ).vocabulary
        assert carried.tokenizer == source.tokenizer
        assert ("www.y.org/?a" in carried.words) == (source is new)
    tagger = build_tagging_vocabulary([["a", "b"], ["a"]]).vocabulary
    assert tagger.tokenizer == rules.NEWEST
    tagger = dataclasses.replace(tagger, tokenizer=1)
    matrix = tf.zeros((tagger.size, 3)).numpy()
    assert carry_tagging_vocabulary(tagger, matrix, [["c"]], learns=True, learns_chars=False).vocabulary.tokenizer == 1


def with_version(name: str, version: int) -> zoo.Bundle:
    bundle = bundle_harness.bundle(name)
    bundle.vocabulary = dataclasses.replace(bundle.vocabulary, tokenizer=version)
    bundle.train_texts = hash_texts([["a", "text"]])
    if version != 1:
        bundle.config["text"]["tokenizer"] = version
    return bundle


def tokens_of(bundle: zoo.Bundle) -> list[str]:
    if registry.entry(bundle.config["model"]).task == "tagging":
        return bundle.predict([URL])[0].tokens
    return [token.decode() for token in bundle.text_to_ids.read([URL])[0].to_list()[0]]


@pytest.mark.parametrize("name", ["bilstm", pytest.param("gated_skip_tagger", marks=pytest.mark.slow)])
@pytest.mark.parametrize("version", [1, 2])
def test_a_bundle_keeps_its_rules_when_it_is_saved_loaded_and_fine_tuned(name, version, tmp_path):
    bundle = with_version(name, version)
    folder = bundle.save(tmp_path / "saved")
    assert json.loads((folder / "config.json").read_text())["text"].get("tokenizer", 1) == version
    reloaded = zoo.load(folder)
    for each in (bundle, reloaded):
        assert len(tokens_of(each)) == (7 if version == 1 else 3)
    task, corpus = ("classification", classification()) if name == "bilstm" else ("tagging", tagging())
    run = prepared(task, folder, tmp_path / "run", corpus)
    tuned = bundle_of(run)
    assert tuned.config["text"].get("tokenizer", 1) == tuned.vocabulary.tokenizer == version
    assert len(tokens_of(tuned)) == (7 if version == 1 else 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bilstm", "gated_skip_tagger"])
def test_exports_have_the_rules_of_their_bundle(name, tmp_path):
    bundle = with_version(name, 2)
    predictor = Predictor(bundle.export(tmp_path / "onnx", format="onnx"))
    # An older runtime knows no versions: an export holds the rules themselves.
    config = json.loads((tmp_path / "onnx" / "config.json").read_text())
    assert "tokenizer" not in config["text"]
    assert tuple(map(tuple, config["tokenizer"]["rules"])) == rules.VERSIONS[2]
    served = tf.saved_model.load(bundle.export(tmp_path / "saved_model")).signatures["serving_default"]
    (ours,), (light,) = bundle.predict([URL]), predictor.predict([URL])
    if name == "bilstm":
        assert light.probabilities == pytest.approx(ours.probabilities, abs=1e-5)
        (graph,) = served(tf.constant([URL]))["probabilities"].numpy()
        assert list(ours.probabilities.values()) == pytest.approx(graph.tolist(), abs=1e-5)
    else:
        assert light.tokens == ours.tokens
        assert [token.decode() for token in served(tf.constant([URL]))["tokens"].numpy()[0]] == ours.tokens


def test_a_layer_is_rebuilt_with_its_rules_and_an_older_one_with_the_first():
    for version in rules.VERSIONS:
        layer = TextToIds(["see"], tokenizer=version)
        assert TextToIds.from_config(layer.get_config()).tokenizer.version == version
        assert ("tokenizer" in layer.get_config()) == (version != 1)
        assert Tokenizer.from_config(Tokenizer(version).get_config()).version == version


@pytest.mark.parametrize("version", [0, 99, True, "2"])
def test_unknown_rules_in_a_bundle_are_refused(version, tmp_path):
    folder = bundle_harness.bundle("bilstm").save(tmp_path / "saved")
    config = json.loads((folder / "config.json").read_text())
    config["text"]["tokenizer"] = version
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder, "'tokenizer' in 'text' is")
