"""A tagger from the command line: trained on columns, and every format that it reads and writes."""

import json

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo_runtime import answers
from tests.cli_harness import output_of
from tests.training_harness import small_demo


@pytest.mark.slow
def test_the_command_line_trains_on_columns_and_writes_what_it_reads_with_tags(tmp_path, capsys):
    corpus = small_demo("tagging")
    for part in ("train", "dev", "test"):
        split = getattr(corpus, part)
        sentences = [
            "\n".join(map(" ".join, zip(*pair, strict=True))) for pair in zip(split.tokens, split.tags, strict=True)
        ]
        (tmp_path / f"{part}.txt").write_text("\n\n".join(sentences) + "\n")
    files = [f"--{part}-file={tmp_path / part}.txt" for part in ("train", "dev", "test")]
    size = [
        "--units",
        "4",
        "--embedding-dim",
        "6",
        "--num-layers",
        "2",
        "--optimizer",
        "adam",
        "--learning-rate",
        "0.01",
    ]
    run = tmp_path / "run"
    status, _, err = output_of(capsys, "train", "bilstm_tagger", *files, "--run-dir", run, *size, "--epochs", "1")
    assert (status, err) == (0, "")
    bundle = zoo.load(run)
    (raw, tokens) = bundle.predict(["The old man saw her.", ["her", "watch"]])
    _, out, _ = output_of(capsys, "predict", run, "The old man saw her.", "")
    assert out == " ".join(f"{t}/{tag}" for t, tag in zip(raw.tokens, raw.tags, strict=True)) + "\n\n"
    (tmp_path / "in.conll").write_text("\n\nher\tX\nwatch\tY\n\n\nher\tZ\n\n")
    _, out, _ = output_of(capsys, "predict", run, "--file", tmp_path / "in.conll", "--format", "columns")
    alone = bundle.predict([["her"]])[0]
    assert out == f"her\tX\t{tokens.tags[0]}\nwatch\tY\t{tokens.tags[1]}\n\nher\tZ\t{alone.tags[0]}\n\n"
    (tmp_path / "swapped.txt").write_text("A\ther\nB\twatch\n\n" * 4)
    columns = [
        "--train-file",
        tmp_path / "swapped.txt",
        "--token-column",
        "1",
        "--tag-column",
        "0",
        "--separator",
        "\\t",
    ]
    swapped_run = tmp_path / "swapped_run"
    options = [*columns, "--run-dir", swapped_run, *size, "--epochs", "1"]
    status, _, err = output_of(capsys, "train", "bilstm_tagger", *options)
    assert (status, err) == (0, "")
    score = ["evaluate", swapped_run, "--split", "dev", "--format", "json", "--train-file", tmp_path / "swapped.txt"]
    remembered = output_of(capsys, *score)[1]
    assert remembered == output_of(capsys, *score, "--token-column", "1", "--tag-column", "0")[1] != ""
    (tmp_path / "empty.conll").write_text("X\ther\tZ\nY\twatch\t\n\n")
    _, out, _ = output_of(capsys, "predict", swapped_run, "--file", tmp_path / "empty.conll", "--format", "columns")
    first, second = zoo.load(swapped_run).predict([["her", "watch"]])[0].tags
    assert out == f"X\ther\tZ\t{first}\nY\twatch\t\t{second}\n\n"
    column = ["--token-column", "1"]
    (tmp_path / "numbered.conll").write_text("1 her\n2 watch\n")
    _, out, _ = output_of(capsys, "predict", run, "--file", tmp_path / "numbered.conll", "--format", "columns", *column)
    assert out == f"1 her {tokens.tags[0]}\n2 watch {tokens.tags[1]}\n\n"
    assert "--token-column is for columns; the input is text" in output_of(capsys, "predict", run, "her", *column)[2]
    (tmp_path / "numbered").write_text("1 her\n2 watch\n")
    (tmp_path / "raw.txt").write_text("Dogs bark.\nGo.\n")  # by its name text, whatever is written
    output_of(capsys, "predict", run, "--file", tmp_path / "raw.txt", "--output", tmp_path / "raw.conllu")
    rows = (tmp_path / "raw.conllu").read_text().split("\n\n")
    assert [row.split("\n")[0] for row in rows] == ["# text = Dogs bark.", "# text = Go.", ""]
    tokens_of = [[row.split("\t")[1] for row in text.split("\n") if row[:1].isdigit()] for text in rows]
    assert tokens_of == [["Dogs", "bark", "."], ["Go", "."], []]
    for form in ("columns", "jsonl"):  # neither the name nor --format tells what is read
        _, _, err = output_of(capsys, "predict", run, "--file", tmp_path / "numbered", "--format", form)
        assert err.endswith(
            f"could hold sentences or {form}: choose --input-format text (one sentence per line) or "
            f"--input-format {form}.\n"
        )
    options = ["--file", tmp_path / "numbered", "--input-format", "columns"]
    assert output_of(capsys, "predict", run, *options, *column)[1] == out  # written as it is read
    _, out, _ = output_of(capsys, "predict", run, "The old man saw her.", "--format", "columns")
    assert out == "".join(f"{t}\t{tag}\n" for t, tag in zip(raw.tokens, raw.tags, strict=True)) + "\n"
    (tmp_path / "in.csv").write_text("id,text\n7,The old man saw her.\n")
    _, out, _ = output_of(capsys, "predict", run, "--file", tmp_path / "in.csv")
    # A text alone and one in a batch differ in the last digit on some processors.
    answer = answers.fields(raw) | {"probabilities": pytest.approx(raw.probabilities, abs=1e-6)}
    assert json.loads(out) == {"id": "7", "text": "The old man saw her.", **answer}
    (tmp_path / "in.conllu").write_text("# text = her\n1\ther" + "\t_" * 8 + "\n")
    _, out, _ = output_of(capsys, "predict", run, "--file", tmp_path / "in.conllu", "--format", "columns")
    assert out == "# text = her\n1\ther" + "\t_" * 8 + f"\t{alone.tags[0]}\n\n"
    (tmp_path / "in.jsonl").write_text('{"id": 7, "tokens": ["her", "watch"]}\n{"text": "The old man saw her."}\n')
    _, out, _ = output_of(capsys, "predict", run, "--file", tmp_path / "in.jsonl", "--format", "jsonl")
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["id"], first["tags"]) == (7, tokens.tags)
    assert (second["tokens"], second["tags"]) == (raw.tokens, raw.tags)
    _, out, _ = output_of(capsys, "evaluate", run, *files)
    assert out.startswith(
        f"test accuracy {bundle.metrics['test_accuracy']:.4f}, {corpus.test.num_tokens:,} tokens, "
        f"{len(corpus.test)} sentences"
    )
    (tmp_path / "foreign.txt").write_text("her NEW\n")
    with pytest.warns(UserWarning, match="1 of 1 tokens have tags that the model does not know"):
        _, out, _ = output_of(capsys, "evaluate", run, "--test-file", tmp_path / "foreign.txt")
    assert out.startswith("test accuracy 0.0000, 1 tokens, 1 sentences")
    (tmp_path / "in.jsonl").write_text('{"words": []}\n')
    status, _, err = output_of(capsys, "predict", run, "--file", tmp_path / "in.jsonl", "--format", "jsonl")
    assert (status, err.splitlines()) == (
        2,
        [
            f"error: Unknown key for {tmp_path}/in.jsonl, line 1: 'text'. Accepted: words. Give the texts' key with "
            "--text-column."
        ],
    )
    assert (
        "--format csv is not for tagging. Accepted: text, columns, jsonl, json, spacy, brat."
        in output_of(capsys, "predict", run, "a", "--format", "csv")[2]
    )
    (tmp_path / "bad.txt").write_text("a X\nb\n")
    status, out, err = output_of(capsys, "predict", run, "--file", tmp_path / "bad.txt", "--input-format", "columns")
    assert (status, out, err) == (
        2,
        "",
        f"error: {tmp_path}/bad.txt, line 2: found 1 column (b), expected 2 as in line 1.\n",
    )
    status, _, err = output_of(capsys, "train", "bilstm_tagger", f"--train-file={tmp_path}/bad.txt", "--run-dir", "x")
    assert status == 2
    assert "bad.txt, line 2: found 1 column" in err
