"""The laws. Each is a file of this folder, and there is no other list."""

from importlib import import_module
from pkgutil import iter_modules

from laws.base import Law

for module in iter_modules(__path__, "laws."):
    import_module(module.name)
LAWS = {law.NAME: law for law in sorted(Law.__subclasses__(), key=lambda law: law.NAME)}
