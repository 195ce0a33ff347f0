"""A decoder of profile.proto (google/pprof), written from the format's description: every field by its number and type."""
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        assert shift < 70, "a varint of more than ten bytes"


def message(data):
    """field number → list of values: int (wire type 0) or bytes (2); anything else is an error."""
    fields = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value = data[at:at + length]
            assert len(value) == length, "a field runs over the end"
            at += length
        else:
            raise AssertionError(f"wire type {key & 7}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed(values):
    numbers = []
    for value in values:
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            numbers.append(number)
    return numbers


def number(fields, field):
    return fields.get(field, [0])[0]


def decode(compressed):
    """The profile as plain data, with every reference checked."""
    top = message(gzip.decompress(compressed))
    assert set(top) <= {1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 14}, f"unknown fields {sorted(top)}"
    strings = [s.decode("utf-8") for s in top[6]]
    assert strings[0] == "", "string_table[0] must be empty"
    types = [(strings[number(m, 1)], strings[number(m, 2)]) for m in map(message, top[1])]
    mappings = {number(m, 1): (strings[number(m, 5)], strings[number(m, 6)]) for m in map(message, top.get(3, []))}
    functions = {number(m, 1): strings[number(m, 2)] for m in map(message, top.get(5, []))}
    locations = {}
    for m in map(message, top.get(4, [])):
        assert number(m, 1), "location without an id"
        assert number(m, 2) in mappings or not number(m, 2), "location in no mapping"
        lines = [functions[number(message(line), 1)] for line in m[4]]
        locations[number(m, 1)] = (lines, number(m, 3), mappings.get(number(m, 2)))
    assert 0 not in mappings and 0 not in functions, "ids begin with 1"
    samples = []
    for m in map(message, top.get(2, [])):
        values = packed(m[2])
        assert len(values) == len(types), "a value for each sample type"
        labels = {strings[number(label, 1)]: strings[number(label, 2)] or number(label, 3)
                  for label in map(message, m.get(3, []))}
        samples.append(([locations[i] for i in packed(m.get(1, []))], values, labels))
    period = message(top[11][0])
    return {"types": types, "samples": samples, "time_ns": number(top, 9), "duration_ns": number(top, 10),
            "period_type": (strings[number(period, 1)], strings[number(period, 2)]), "period": number(top, 12),
            "default": strings[number(top, 14)], "mappings": mappings}
