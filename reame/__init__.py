"""reame: open language models on cheap CPU machines, faster the longer they run."""

__version__ = "0.1.0"
