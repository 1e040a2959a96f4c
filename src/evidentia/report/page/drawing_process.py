"""A program: reads a Vega-Lite specification in every line, writes its SVG as a line of JSON, and ends with its input."""

import json
import sys

import vl_convert

if __name__ == "__main__":
    vl_convert.vegalite_to_svg(
        {"data": {"values": [{}]}, "mark": "point"}
    )  # starts the engine before the first picture is asked for
    for line in sys.stdin:
        print(json.dumps(vl_convert.vegalite_to_svg(json.loads(line))), flush=True)
