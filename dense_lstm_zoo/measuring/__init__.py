"""What a trained model costs on this machine: time, memory, disk.

``measure`` measures bundles and exports, each in a fresh process (``process``) that runs ``worker``; ``folders`` finds
and checks them, ``served`` loads them, ``latency`` times them, ``rows`` says how the results look. Importing this loads
no TensorFlow.
"""
