"""The arguments of a class, as the reference shows them."""

from sphinx.util.inspect import signature, stringify_signature


def class_signature(app, what, name, obj, options, arguments, return_annotation):
    """Return the arguments of ``__init__``, for Sphinx' event ``autodoc-process-signature``.

    Keras' ``__new__``, which autodoc reads first, has ``*args, **kwargs`` alone.
    """
    if what != "class":
        return None
    arguments_of_init = signature(obj.__init__, bound_method=True)
    return stringify_signature(arguments_of_init, show_annotation=False, show_return_annotation=False), None
