"""A replacement for ``dense_lstm_zoo.measuring.worker`` without TensorFlow. ``path`` sets what it does."""

import json
import os
import sys
import time

from dense_lstm_zoo import machine

if __name__ == "__main__":
    request = json.loads(sys.stdin.readline())["arguments"]
    behaviour = request["path"]
    if behaviour == "hang":
        time.sleep(60)
    if behaviour == "crash":
        raise AttributeError("no such\nthing")
    if behaviour == "half":
        print('{"result": ', end="", flush=True)
        os._exit(3)
    if behaviour == "killed":
        os.kill(os.getpid(), 9)
    if behaviour == "error":
        print(json.dumps({"error": ["ValueError", "the weights are wrong"]}), flush=True)
    else:
        row = {"peak_mb": machine.peak_mb(), "resident_mb": machine.resident_mb(), "texts": len(request["texts"])}
        print(json.dumps({"result": {**row, "keras": os.environ.get("TF_CPP_MIN_LOG_LEVEL")}}), flush=True)
