"""Speed on this machine: ours against stock Keras layers and PyTorch, measured side by side on this machine.

``python -m benchmarks.speed`` measures and writes its rows to ``results/``. ``benchmarks.speed.bench`` is the function
behind it. Each side runs in a process of its own, and nothing here imports TensorFlow.
"""
