"""The command line within this process."""

from dense_lstm_zoo.cli import main


def output_of(capsys, *arguments):
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err
