"""Models for other programs: SavedModels with signatures and requests that warm a server up, and ONNX."""
