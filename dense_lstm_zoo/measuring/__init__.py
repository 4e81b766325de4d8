"""The cost of a trained model on this machine: time, memory, disk.

``measure`` measures bundles and exports, each in a fresh process (``process``) that runs ``worker``. ``folders`` finds
and checks them, ``served`` loads them, ``latency`` times them, ``turns`` compares, and ``rows`` formats the results.
Importing this does not load TensorFlow.
"""
