"""W1 on Apache Beam Python's own runner: prints a sample as the other peers do.

usage: wordcount.py TEXT, with the text that `gentext` writes; wall and CPU time include the start of the pipeline.
"""

import json
import re
import resource
import sys
import time

import apache_beam as beam

MASK = (1 << 64) - 1


def splitmix64(x):
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def answer(counted):
    """What a word's count adds to the checksum, and the count."""
    word, count = counted
    text = 0xCBF29CE484222325
    for byte in word.encode():
        text = ((text ^ byte) * 0x100000001B3) & MASK
    return splitmix64(splitmix64(text) ^ count), count


def add(answers):
    checksum = words = 0
    for one, count in answers:
        checksum = (checksum + one) & MASK
        words += count
    return checksum, words


def show(total, began, cpu_before):
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used) - cpu_before
    checksum, words = total
    print(json.dumps({
        "work": "W1",
        "system": "beam-python",
        "checksum": f"{checksum:016x}",
        "events": words,
        "cpu_s": cpu,
        "wall_s": time.monotonic() - began,
        "peak_mb": used[0].ru_maxrss * 1024 / 1e6,
    }))


def main(path):
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_before, began = used.ru_utime + used.ru_stime, time.monotonic()
    with beam.Pipeline(runner="DirectRunner") as p:
        (
            p
            | "Read" >> beam.io.ReadFromText(path)
            | "Split" >> beam.FlatMap(lambda line: re.findall(r"[^\W\d_]+", line.lower()))
            | "Count" >> beam.combiners.Count.PerElement()
            | "Answer" >> beam.Map(answer)
            | "Sum" >> beam.CombineGlobally(add_up())
            | "Show" >> beam.Map(show, began, cpu_before)
        )


def add_up():
    class Sum(beam.CombineFn):
        def create_accumulator(self):
            return 0, 0

        def add_input(self, total, one):
            return add([total, one])

        def merge_accumulators(self, totals):
            return add(totals)

        def extract_output(self, total):
            return total

    return Sum()


if __name__ == "__main__":
    main(sys.argv[1])
