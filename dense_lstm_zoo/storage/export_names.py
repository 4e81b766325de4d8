"""Names in the folder ``assets.extra`` of a SavedModel, which TensorFlow itself does not read."""

FOLDER = "assets.extra"
OPS, VOCABULARY = "non_core_ops.txt", "vocabulary.txt"
WARM_UP = "tf_serving_warmup_requests"  # TF Serving reads this name there, and no other
ALL = (OPS, VOCABULARY, WARM_UP)
