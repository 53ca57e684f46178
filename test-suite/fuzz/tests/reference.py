"""Drives a reference model of SIMT semantics, in the folder given as the argument.

Reads the protocol of `phalanx_fuzz::reference` from standard input. The model is the module `simt`; what this file adds
are the operations that programs here use, and a record of what each thread computes in each instance of a block.
"""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import simt  # noqa: E402

MASK = 0xFFFFFFFF
GROUP_OPERATIONS = ("ballot", "bcast")


class Run(simt.Machine):
    """A machine that knows which thread it advances and writes down what happens."""

    now = None

    def __init__(self, function, hierarchy, threads, args, fuel):
        super().__init__(function, hierarchy, threads, args=args, fuel=fuel, trace=True)
        self.values = {}
        self.states = [(t * 747796405 + args["a0"]) & MASK for t in range(threads)]
        self.of_groups = {
            inst[0] for insts in function.insts.values() for inst in insts if inst[1] in GROUP_OPERATIONS
        }

    def step(self, thread):
        Run.now = (self, thread)
        super().step(thread)

    def observe(self, key, name, value):
        super().observe(key, name, value)
        # Threads of a group all get the same: see `report`.
        if name not in self.of_groups:
            self.note(Run.now[1].t, key, name, value)

    def note(self, thread, key, name, value):
        if name[0] == "v" and name[1:].isdigit():
            self.values.setdefault((thread, key), []).append((int(name[1:]), value))

    def report(self):
        for name, key, threads, value in self.events:
            for thread in threads:
                self.note(thread, key, name, value)
        classes = {}
        for thread in self.threads:
            words = []
            for block, key in thread.trace:
                number = classes.setdefault(key, len(classes))
                values = sorted(self.values.get((thread.t, key), []))
                words.append("%s#%d" % (block, number) + "".join(",v%d=%d" % v for v in values))
            print(" ".join(words))
        print("end")


def advance(_a, _b):
    """The next number of the thread's own generator."""
    machine, thread = Run.now
    state = (machine.states[thread.t] * 1664525 + 1013904223) & MASK
    machine.states[thread.t] = state
    return state >> 13


def blend(x, salt):
    x = (x + salt) & MASK
    return x ^ x >> 15


simt.ARITH["next"] = advance
simt.ARITH["sum"] = lambda a, b: (a * 0x9E3779B1 + b * 0x85EBCA77) & MASK
simt.ARITH["blend"] = blend


class Hierarchy:
    """Cycles as the machine wants them: headers, and the headers around each block."""

    def __init__(self, function, words):
        self.headers = set()
        self.hdrs = {block: [] for block in function.blocks}
        for word in words:
            header, blocks = word.split(":")
            self.headers.add(header)
            for block in blocks.split(","):
                self.hdrs[block].append(header)


def main():
    function = hierarchy = None
    lines = iter(sys.stdin)
    for line in lines:
        words = line.split()
        if words[0] == "program":
            text = []
            for line in lines:
                if line == "end\n":
                    break
                text.append(line)
            function = simt.parse("".join(text))
        elif words[0] == "hierarchy":
            hierarchy = Hierarchy(function, words[1:])
        elif words[0] == "cycles":
            number = lambda block: int(block[1:])  # noqa: E731
            found = sorted(simt.cycles(function).all, key=lambda c: number(c.header))
            print(" ".join(c.header + ":" + ",".join(sorted(c.bset, key=number)) for c in found))
        elif words[0] == "run":
            threads, a0, a1, fuel = map(int, words[1:])
            Run(function, hierarchy, threads, {"a0": a0, "a1": a1}, fuel).run().report()
        else:
            raise SyntaxError(line)


main()
