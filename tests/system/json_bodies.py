"""Request bodies like those of public JSON test suites, with their prefixes: n_ is malformed and must be refused; y_ is well-formed
JSON, which may still be an invalid gift request."""

HEAD = b'{"gift_id": 7, "recipients": [{"email": "a@example.com", "gift_redeem_type": "email", "message": "Hi"}]'


def member(value):
    """A gift request with one more member of this value."""
    return HEAD + b', "x": ' + value + b"}"


def message(text):
    """A gift request with these bytes inside the message's quotation marks."""
    return HEAD.replace(b"Hi", text) + b"}"


MALFORMED_VALUES = {
    "number_plus": b"+1", "number_double_minus": b"--1", "number_minus": b"-", "number_minus_space": b"- 1",
    "number_leading_zero": b"012", "number_leading_zeros": b"-00", "number_minus_leading_zero": b"-012",
    "number_bare_point": b".5", "number_minus_point": b"-.5", "number_point_end": b"2.",
    "number_point_exponent": b"2.e3", "number_exponent_end": b"1e", "number_exponent_plus_end": b"1e+",
    "number_exponent_minus_end": b"1E-", "number_exponent_point": b"1e1.5", "number_two_points": b"1.2.3",
    "number_two_exponents": b"1e2e3", "number_hex": b"0x1F", "number_hex_2": b"0x", "number_octal": b"0o7",
    "number_binary": b"0b1", "number_underscore": b"1_000", "number_nan": b"NaN", "number_minus_nan": b"-NaN",
    "number_infinity": b"Infinity", "number_minus_infinity": b"-Infinity", "number_inf": b"Inf",
    "number_expression": b"1+2", "number_space": b"1 000", "number_comma": b"1,5x", "number_letter": b"1a",
    "number_suffix": b"1.0f", "number_full_width": "１".encode(), "number_overflow": b"1e999",
    "number_minus_overflow": b"-1e999", "number_65_bits": b"1" + b"0" * 30,
    "number_minus_64_bits": b"-9223372036854775809", "number_1000_digits": b"9" * 1000, "word_true": b"True",
    "word_false": b"FALSE", "word_null": b"nul", "word_null_long": b"nulll", "word_none": b"None",
    "word_undefined": b"undefined", "word_bare": b"abc", "word_nan": b"nan", "word_cut": b"tru",
    "word_escaped": b"\\u0074rue", "array_extra_comma": b"[1,]", "array_double_comma": b"[1,,2]",
    "array_comma": b"[,]", "array_leading_comma": b"[,1]", "array_unclosed": b"[1", "array_colon": b"[1:2]",
    "array_no_comma": b"[1 2]", "array_wrong_end": b"[1}", "array_newline": b"[1\n2]", "array_star": b"[*]",
    "array_bare_word": b"[a]", "array_just_close": b"]", "array_spaces": b"[   ", "array_inner": b"[3[4]]",
    "object_trailing_comma": b'{"a": 1,}', "object_double_comma": b'{"a": 1,, "b": 2}', "object_no_colon": b'{"a" 1}',
    "object_no_value": b'{"a":}', "object_no_key": b"{:1}", "object_bare_key": b"{a: 1}",
    "object_number_key": b"{1: 1}", "object_single_quotes": b"{'a': 1}", "object_null_key": b"{null: 1}",
    "object_array_key": b"{[]: 1}", "object_comma": b"{,}", "object_wrong_end": b'{"a": 1]',
    "object_unclosed": b'{"a": 1', "object_equals": b'{"a" = 1}', "object_semicolon": b'{"a": 1;}',
    "object_two_values": b'{"a": 1 2}', "object_double_colon": b'{"a":: 1}', "object_only_key": b'{"a"}',
    "object_garbage": b'{"a": 1 x}', "string_single_quotes": b"'a'", "string_unquoted_escape": b"\\n",
    "string_two": b'"a" "b"', "string_backtick": b"`a`", "comment_line": b"1 // one\n",
    "comment_block": b"1 /* one */", "comment_hash": b"1 # one\n", "comment_open": b"/*", "value_missing": b"",
    "value_comma": b",", "value_quote": b'"', "value_brace": b"{", "value_backslash": b"\\", "control_nul": b"\x00",
    "control_form_feed": b"\x0c1", "control_vertical_tab": b"\x0b1", "control_nbsp": b"\xc2\xa01",
    "control_bom": b"\xef\xbb\xbf1", "control_line_separator": b"\xe2\x80\xa81", "control_delete": b"\x7f",
}

MALFORMED_TEXTS = {
    "bad_escape": b"\\a", "escape_x": b"\\x41", "escape_quote": b"\\'", "escape_zero": b"\\0",
    "escape_newline": b"\\\n", "escape_cut": b"\\u12", "escape_cut_4": b"\\u123", "escape_letter": b"\\u12G4",
    "escape_capital": b"\\U00000041", "escape_brace": b"\\u{41}", "escape_emoji": "\\\U0001f300".encode(),
    "escape_bad_byte": b"\\\xe5", "escape_nul": b"\\\x00", "escape_plus": b"\\u+041", "high_surrogate": b"\\uD83D",
    "low_surrogate": b"\\uDE00", "surrogates_reversed": b"\\uDE00\\uD83D", "two_high": b"\\uD83D\\uD83D",
    "high_then_text": b"\\uD83Dx", "high_then_escape": b"\\uD83D\\n", "high_then_cut": b"\\uD83D\\u",
    "high_then_ascii": b"\\uD83D\\u0041", "nul_escape": b"\\u0000", "nul_escape_inside": b"a\\u0000b",
    "nul_byte": b"\x00", "raw_newline": b"a\nb", "raw_return": b"a\rb", "raw_tab": b"a\tb", "raw_escape": b"\x1b[31m",
    "raw_backspace": b"\x08", "raw_unit": b"\x1f", "utf8_lone_continuation": b"\x81", "utf8_cut_2": b"\xc3",
    "utf8_cut_3": b"\xe2\x82", "utf8_cut_4": b"\xf0\x9f\x98", "utf8_overlong_slash": b"\xc0\xaf",
    "utf8_overlong_nul": b"\xc0\x80", "utf8_overlong_3": b"\xe0\x80\xaf", "utf8_overlong_4": b"\xf0\x80\x80\xaf",
    "utf8_overlong_6": b"\xfc\x83\xbf\xbf\xbf\xbf", "utf8_surrogate": b"\xed\xa0\x80",
    "utf8_surrogate_pair": b"\xed\xa0\xbd\xed\xb8\x80", "utf8_beyond": b"\xf4\x90\x80\x80",
    "utf8_f5": b"\xf5\x80\x80\x80", "utf8_fe": b"\xfe", "utf8_ff": b"\xff", "latin1": "é".encode("latin1"),
    "utf8_broken_2": b"\xc3(", "utf8_broken_3": b"\xe2(\xa1", "utf8_broken_4": b"\xf0\x28\x8c\xbc",
}

MALFORMED_WHOLES = {
    "empty": b"", "space": b" ", "newline": b"\n", "nul": b"\x00", "bom": b"\xef\xbb\xbf", "bom_cut": b"\xef\xbb{}",
    "bom_before": b"\xef\xbb\xbf" + HEAD + b"}", "two_boms": b"\xef\xbb\xbf\xef\xbb\xbf{}",
    "trailing_nul": HEAD + b"}\x00", "trailing_brace": HEAD + b"}}", "trailing_text": HEAD + b"} x",
    "trailing_object": HEAD + b"}{}", "trailing_comma": HEAD + b"},", "trailing_hash": HEAD + b"}#",
    "trailing_comment": HEAD + b"} // end", "trailing_quote": HEAD + b'}"', "two_lines": HEAD + b"}\n" + HEAD + b"}",
    "leading_garbage": b"x" + HEAD + b"}", "leading_nul": b"\x00" + HEAD + b"}", "jsonp": b"f(" + HEAD + b"})",
    "json5": b"{gift_id: 7}", "xml": b"<gift_request/>", "form": b"gift_id=7&recipients=x", "yaml": b"gift_id: 7\n",
    "random_bytes": bytes(range(256)), "all_ff": b"\xff" * 100, "lone_brace": b"{", "lone_bracket": b"[",
    "lone_quote": b'"', "lone_minus": b"-", "close_brace": b"}", "close_bracket": b"]", "comma": b",", "colon": b":",
    "backslash": b"\\", "utf16_le": "{}".encode("utf-16-le"), "utf16_be": "{}".encode("utf-16-be"),
    "utf16_bom": (HEAD + b"}").decode().encode("utf-16"), "utf32": (HEAD + b"}").decode().encode("utf-32"),
    "utf7": b"+AHsAfQ-", "ebcdic": "{}".encode("cp500"), "arrays_open_100000": b"[" * 100_000,
    "arrays_100000": b"[" * 100_000 + b"]" * 100_000, "objects_open_100000": b'{"a":' * 100_000,
    "objects_100000": b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "mixed_open_50000": b'[{"":' * 50_000,
    "array_object_open": b'[{"":[{"":' * 1000, "closers_100000": b"]" * 100_000,
    "inside_100000": member(b"[" * 100_000 + b"]" * 100_000), "inside_100": member(b"[" * 100 + b"]" * 100),
    "duplicate_gift_id": HEAD + b', "gift_id": 7}', "duplicate_escaped": HEAD + b', "gift_\\u0069d": 8}',
    "duplicate_unknown": HEAD + b', "x": 1, "x": 1}', "duplicate_deep": member(b'[{"a": {"b": 1, "b": 2}}]'),
    "duplicate_empty": member(b'{"": 1, "": 2}'),
    "duplicate_in_recipient": HEAD.replace(b'"email": "a', b'"email": "b@example.com", "email": "a') + b"}",
    "long_open_string": b'"' + b"x" * 500_000, "long_open_escape": b'"' + b"\\" * 400_001,
    "many_quotes": b'"' * 300_001, "many_commas": b"[" + b"," * 300_000,
}

ACCEPTABLE_VALUES = {
    "number_2_53": b"9007199254740992", "number_beyond_2_53": b"9007199254740993",
    "number_2_63": b"9223372036854775807", "number_minus_2_63": b"-9223372036854775808",
    "number_2_64": b"18446744073709551615", "number_real": b"123.456e-7", "number_minus_zero": b"-0",
    "number_zero_exponent": b"0E+2", "number_tiny": b"1e-400", "number_after_space": b" 4",
    "number_long_fraction": b"0." + b"1" * 300, "array_empty": b"[]", "array_mixed": b'[null, true, 1, "a", {}]',
    "array_spaces": b" [ 1 , 2 ] ", "array_nested_40": b"[" * 40 + b"]" * 40, "object_empty": b"{}",
    "object_empty_key": b'{"": 0}', "object_escaped_key": b'{"\\u0061": 1}',
    "object_same_key_elsewhere": b'[{"a": 1}, {"a": 2}]', "object_long_key": b'{"' + b"k" * 10_000 + b'": 1}',
    "string_escapes": b'"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"', "string_emoji": '"😀"'.encode(),
    "string_pair": b'"\\uD83D\\uDE00"', "string_noncharacter": b'"\\uFFFF"', "string_utf8": "\"ä€𝄞\"".encode(),
    "string_delete": b'"\x7f"', "string_line_separator": b'"\xe2\x80\xa8"',
    "string_long": b'"' + b"x" * 300_000 + b'"', "true": b"true", "null": b"null", "tabs": b"\t\r\n 1\t\r\n",
}

WRONG_SHAPES = {
    "null": b"null", "true": b"true", "number": b"7", "text": b'"text"', "array": b"[]",
    "array_of_request": b"[" + HEAD + b"}]", "object": b"{}",
    "recipients_null": b'{"gift_id": 7, "recipients": null}',
    "recipients_text": b'{"gift_id": 7, "recipients": "a@example.com"}',
    "recipients_object": b'{"gift_id": 7, "recipients": {"0": {}}}',
    "recipients_nested": b'{"gift_id": 7, "recipients": [[[]]]}',
    "recipients_nulls": b'{"gift_id": 7, "recipients": [' + b"null," * 999 + b"null]}",
    "recipients_empty_objects": b'{"gift_id": 7, "recipients": [{}, {}]}',
    "recipients_1001": b'{"gift_id": 7, "recipients": [' + b"{}," * 1000 + b"{}]}",
    "recipients_100000": b'{"gift_id": 7, "recipients": [' + b"0," * 100_000 + b"0]}",
}
GIFT_IDS = [
    b"0", b"-7", b"7.0", b"7e0", b"7.5", b"null", b"true", b"[]", b"{}", b'""', b'"7.0"', b'" 7"', b'"+7"', b'"0x7"',
    b'"seven"', b'"-7"', b"9007199254740992", b"9007199254740993", b"9223372036854775807", b"18446744073709551615",
    b'"9007199254740993"', b'"18446744073709551623"', b'"' + b"7" * 1000 + b'"', "\"７\"".encode(),
]


def refused():
    """(name, body) of bodies that are not JSON, or ambiguous JSON."""
    yield from (("n_value_" + name, member(value)) for name, value in MALFORMED_VALUES.items())
    yield from (("n_text_" + name, message(text)) for name, text in MALFORMED_TEXTS.items())
    yield from (("n_whole_" + name, body) for name, body in MALFORMED_WHOLES.items())


def accepted():
    """(name, body) of good gift requests with an unknown member of every kind."""
    yield from (("y_value_" + name, member(value)) for name, value in ACCEPTABLE_VALUES.items())
    yield "y_spaces", b" \t\r\n" + HEAD + b" \t\r\n}" + b" " * 10_000


def invalid():
    """(name, body) of well-formed JSON that is not a gift request."""
    yield from (("y_shape_" + name, body) for name, body in WRONG_SHAPES.items())
    yield from ((f"y_gift_id_{number}", HEAD.replace(b"7", value, 1) + b"}") for number, value in enumerate(GIFT_IDS))


def cuts():
    """(name, body) of a good request, cut at every byte."""
    whole = HEAD + b"}"
    yield from ((f"n_cut_{length}", whole[:length]) for length in range(len(whole)))
