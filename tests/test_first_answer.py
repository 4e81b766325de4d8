"""The work that a first answer saves: an optimiser, random weights to be overwritten, traces, compiled programs."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import few_texts
from tests import bundle_harness
from tests.cli_harness import output_of

GRAPHS = {
    "dc_bilstm": "logits_of",
    "gated_skip_tagger": "_decode",
    "dense_lstm_lm": "_log_probabilities_of",
}
TEXTS = ["the film was n't good .", ""]


@pytest.fixture
def graphs(monkeypatch):
    """The graphs that TensorFlow makes: every trace has one, and so does every program that XLA compiles."""
    all_graphs, init = [], tf.Graph.__init__

    def spy(self, *arguments, **options):
        all_graphs.append(self)
        init(self, *arguments, **options)

    monkeypatch.setattr(tf.Graph, "__init__", spy)
    tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1))
    assert all_graphs
    return all_graphs


@pytest.fixture
def bundles(monkeypatch, graphs):
    """The bundles that commands load. The graphs that loading makes are forgotten."""
    all_bundles, load = [], zoo.load

    def spy(*arguments, **options):
        all_bundles.append(load(*arguments, **options))
        graphs.clear()
        return all_bundles[-1]

    monkeypatch.setattr(zoo, "load", spy)
    return all_bundles


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_a_few_texts_are_answered_without_optimiser_traces_or_programs_as_usual(
    saved_bundle, name, bundles, graphs, capsys
):
    command = "score" if name == "dense_lstm_lm" else "predict"
    status, out, _ = output_of(capsys, command, saved_bundle(name), *TEXTS)
    assert status == 0
    assert graphs == []
    assert not tf.config.functions_run_eagerly()
    (bundle,) = bundles
    assert not bundle.model.compiled
    assert not hasattr(bundle.model, "optimizer")
    assert getattr(bundle, GRAPHS[name]).experimental_get_tracing_count() == 0
    usual = zoo.load(saved_bundle(name))
    if command == "score":
        assert out.splitlines() == [
            f"{x.log_probability:.4f}\t{x.perplexity:.2f}\t{x.text}" for x in usual.score(TEXTS)
        ]
    elif name == "dc_bilstm":
        assert out.splitlines() == [f"{x.label}\t{x.probability:.4f}\t{x.text}" for x in usual.predict(TEXTS)]
    else:
        tagged = [" ".join(map("/".join, zip(x.tokens, x.tags, strict=True))) for x in usual.predict(TEXTS)]
        assert out.splitlines() == tagged


def test_the_next_words_and_a_short_continuation_are_those_of_the_traced_model(saved_bundle, bundles, capsys):
    folder = saved_bundle("dense_lstm_lm")
    _, words, _ = output_of(capsys, "next-words", folder, "the film", "-k", "4")
    _, text, _ = output_of(capsys, "generate", folder, "the film", "--max-tokens", "5", "--temperature", "0")
    assert [bundle._step.experimental_get_tracing_count() for bundle in bundles] == [0, 0]
    usual = zoo.load(folder)
    assert words.splitlines() == [f"{share:.4f}\t{word}" for word, share in usual.next_words("the film", 4)]
    assert text.strip() == f"the film {usual.generate('the film', 5, temperature=0).text}".strip()


def test_many_texts_are_traced(saved_bundle, bundles, capsys, tmp_path):
    (tmp_path / "in.txt").write_text("the film\n" * 3)
    output_of(capsys, "predict", saved_bundle("dc_bilstm"), "--file", tmp_path / "in.txt")
    assert bundles[0].logits_of.experimental_get_tracing_count() == 1
    assert not few_texts.are_few(["word " * 1000])


@pytest.mark.slow
def test_a_bundle_loads_compiled_unless_told_otherwise_and_predicts_the_same_to_the_bit(saved_bundle):
    compiled, bare = zoo.load(saved_bundle("dc_bilstm")), zoo.load(saved_bundle("dc_bilstm"), compile=False)
    assert compiled.model.optimizer.built
    assert not bare.model.compiled
    assert bare.saved_as == compiled.saved_as
    np.testing.assert_array_equal(bare.probabilities(TEXTS), compiled.probabilities(TEXTS))
    ids = np.array([[2, 3]])
    compiled.model.fit(ids, np.array([1]), verbose=0)
    with pytest.raises(ValueError, match="compile"):
        bare.model.fit(ids, np.array([1]), verbose=0)


def test_a_kernel_can_be_chosen_for_loading_and_the_config_keeps_its_own(tmp_path):
    folder = bundle_harness.bundle("dc_bilstm", kernel="auto").save(tmp_path / "run")
    bundle = zoo.load(folder, compile=False, kernel="native")
    assert set(zoo.describe(bundle.model).kernels.values()) == {"native: asked for"}
    assert bundle.config["arguments"]["kernel"] == "auto"
    with pytest.raises(ValueError, match="Did you mean 'native'"):
        zoo.load(folder, kernel="nativ")


def test_loading_draws_no_large_weights_since_the_file_replaces_them(monkeypatch, tmp_path):
    folder = bundle_harness.bundle("dc_bilstm", embedding_dim=80).save(tmp_path / "large")
    sizes, uniform = [], tf.random.stateless_uniform

    def spy(*arguments, **options):
        sizes.append(int(np.prod(options["shape"])))
        return uniform(*arguments, **options)

    monkeypatch.setattr(tf.random, "stateless_uniform", spy)
    bundle = zoo.load(folder)
    assert max(int(np.prod(weight.shape)) for weight in bundle.model.weights) > 1000
    assert max(sizes, default=0) <= 1000
    sizes.clear()
    zoo.build("dc_bilstm", **bundle.config["arguments"])
    assert max(sizes) > 1000


def test_modules_are_hidden_only_inside_the_block(monkeypatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with few_texts.hidden(["this", "json"]):
        import json  # noqa: F401 - imported already, so it stays

        with pytest.raises(ImportError):
            import this  # noqa: F401
    assert "this" not in sys.modules


@pytest.mark.slow
def test_a_fresh_process_answers_without_importing_what_keras_only_uses_for_wrappers_and_plots(saved_bundle):
    code = (
        "import sys; from dense_lstm_zoo.cli import main; "
        f"main(['predict', {str(saved_bundle('dc_bilstm'))!r}, 'a film']); "
        f"print(sorted(set({few_texts.OPTIONAL!r}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
