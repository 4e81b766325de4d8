"""Packaging of dense_lstm_zoo: ``pip install .`` or, for development, ``make install``."""

import pathlib
import re

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
# The version has one place: the runtime, which the zoo is released with and takes it from.
RUNTIME = (HERE / "dense_lstm_zoo_runtime/__init__.py").read_text(encoding="utf-8")
VERSION = re.search(r'__version__ = "(.+?)"', RUNTIME).group(1)


def index_page() -> str:
    """Return the README for a package index, where its comments and its links to other files would lead nowhere."""
    text = re.sub(r"<!--.*?-->\n?", "", (HERE / "README.md").read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"\[([^\]]+)\]\((?!https?://)[^)]*\)", r"\1", text)


PLOTS = ["matplotlib>=3.9"]
NOTEBOOKS = [*PLOTS, "nbclient>=0.10", "nbformat>=5.10", "ipykernel>=6.29"]
TENSORBOARD = ["tensorboard>=2.20"]
ONNX = ["onnx>=1.17"]
HUB = ["huggingface_hub>=1.0"]
SERVING = ["tensorflow-serving-api>=2.21,<2.22"]
SERVE = [f"dense-lstm-zoo-runtime[serve]=={VERSION}"]
BEAM = ["apache-beam>=2.77,<3"]
PARQUET = ["pyarrow>=18"]
EXCEL = ["openpyxl>=3.1.5"]
COMPLETION = ["argcomplete>=3.5"]
DOCS = ["sphinx>=8", "myst-parser>=4", "furo>=2025.7", "latex2mathml>=3.78"]

setup(
    name="dense-lstm-zoo",
    version=VERSION,
    description="Densely connected and gated-skip LSTMs for Keras and TensorFlow: train on a laptop, serve raw strings",
    long_description=index_page(),
    long_description_content_type="text/markdown",
    author="The dense_lstm_zoo authors",
    keywords="lstm, bilstm, keras, tensorflow, text classification, sequence tagging, language model, onnx",
    project_urls={  # of the papers: equations and figures are theirs
        "Ding et al. 2018": "https://arxiv.org/abs/1802.00889",
        "Godin et al. 2017": "https://aclanthology.org/W17-2622",
        "Wu et al. 2016": "https://aclanthology.org/C16-1020",
    },
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["dense_lstm_zoo", "dense_lstm_zoo.*"]),
    package_data={"dense_lstm_zoo": ["py.typed", "bundles/presets_index.json"]},
    # tensorflow-text and tensorflow are built against each other: their minor versions must agree. 2.21.0 of the former
    # does not load beside the latter: an undefined symbol.
    install_requires=[
        f"dense-lstm-zoo-runtime=={VERSION}",  # the tokeniser's rules are there
        "tensorflow>=2.21,<2.22",
        "tensorflow-text>=2.21.1,<2.22",
        "keras>=3.15,<3.16",
        "keras-tuner>=1.4.8,<1.5",
        "pandas>=2.2,<4",
        "scikit-learn>=1.5",
        "scipy>=1.11",
        "numpy>=2.0",
    ],
    extras_require={
        "tensorboard": TENSORBOARD,
        "plots": PLOTS,
        "notebooks": NOTEBOOKS,
        "docs": DOCS,
        "beam": BEAM,
        "parquet": PARQUET,
        "excel": EXCEL,
        "completion": COMPLETION,
        "hub": HUB,
        "serving": SERVING,
        "torch": ["torch>=2.13,<2.14"],  # a peer of the speed benchmark, nothing else
        "onnx": ONNX,
        "serve": [*SERVE, *ONNX],
        "dev": [
            *TENSORBOARD,
            *NOTEBOOKS,
            *DOCS,
            *BEAM,
            *PARQUET,
            *EXCEL,
            *COMPLETION,
            *HUB,
            *ONNX,
            *SERVING,
            "ruff>=0.12",
            "mypy>=1.15",
            "pytest>=8.3",
            "pytest-xdist>=3.6",
            "hypothesis>=6.130",
            "markdown-it-py>=3.0",  # reports as a reader's Markdown shows them
            "seqeval>=1.2.2",  # spans counted by another hand than ours
            *SERVE,
        ],
    },
    entry_points={"console_scripts": ["dense-lstm-zoo = dense_lstm_zoo.cli:main"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "License :: OSI Approved :: Apache Software License",
        "Natural Language :: English",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
)
