"""Validates vectors against schema.json, with the part of JSON Schema that it uses."""

import re


def is_of(value, kind):
    return {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "null": value is None,
    }[kind]


class Shape:
    def __init__(self, schema):
        self.root = schema

    def fault(self, value, schema=None, at="the vector"):
        """What is wrong with a value, and where. `None` if it is valid."""
        schema = self.root if schema is None else schema
        if "$ref" in schema:
            return self.fault(value, self.root["$defs"][schema["$ref"].rpartition("/")[2]], at)
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(is_of(value, kind) for kind in kinds):
            return f"{at} is not of type {' or '.join(kinds)}"
        if "const" in schema and value != schema["const"]:
            return f"{at} is not {schema['const']!r}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{at} is {value!r}, which is unknown"
        if "anyOf" in schema and all(self.fault(value, one, at) for one in schema["anyOf"]):
            return f"{at} is {value!r}, which matches no alternative"
        for one in schema.get("allOf", []):
            if "if" not in one or self.fault(value, one["if"], at) is None:
                fault = self.fault(value, one.get("then", one), at)
                if fault:
                    return fault
        return self.of_its_kind(value, schema, at)

    def of_its_kind(self, value, schema, at):
        parts = []
        if isinstance(value, dict):
            known = schema.get("properties", {})
            missing = [name for name in schema.get("required", []) if name not in value]
            unknown = set(value) - set(known) if schema.get("additionalProperties") is False else []
            if missing or unknown:
                return f"{at} lacks {missing}" if missing else f"{at} has unknown {sorted(unknown)}"
            parts = [(value[name], known[name], f"`{name}`") for name in known if name in value]
        elif isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                return f"{at} has {len(value)} entries"
            first = schema.get("prefixItems", [])
            parts = [(inner, shape, at) for inner, shape in zip(value, first)]
            if "items" in schema:
                parts += [(inner, schema["items"], at) for inner in value[len(first) :]]
        elif isinstance(value, str):
            if not re.search(schema.get("pattern", ""), value):
                return f"{at} is {value!r}"
        elif is_of(value, "integer"):
            if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                return f"{at} is {value}"
        faults = (self.fault(inner, shape, where) for inner, shape, where in parts)
        return next((fault for fault in faults if fault), None)
