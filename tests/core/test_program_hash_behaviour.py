"""Random small programs are run: two texts with one hash must do the same."""

from __future__ import annotations

import random
import re

from mjolnir.core.program_hash import program_hash

BASE_PROGRAMS = 150
EDITS_OF_EACH = 30
NAMES = ("a", "b", "c")


class Author:
    """Writes programs that use three names for everything: variables, parameters, fields, keywords."""

    def __init__(self, seed: int) -> None:
        self.order = random.Random(seed)

    def name(self) -> str:
        return self.order.choice(NAMES)

    def expression(self, depth: int = 0) -> str:
        if depth > 1 or self.order.random() < 0.3:
            return self.name()
        inner = self.expression(depth + 1)
        forms = (
            f"({inner} + {self.expression(depth + 1)})",
            f"[{inner} for {self.name()} in ({self.name()}, 1)][-1]",
            f"(lambda {self.name()}: {inner})({self.name()})",
            f"({self.name()} := {inner})",
            f"f({self.name()}={inner})",
            f"g({inner})",
            f"dict({self.name()}={inner}).get('{self.name()}', 7)",
        )
        return self.order.choice(forms)

    def block(self, indent: int, depth: int) -> list[str]:
        lines: list[str] = []
        pad = " " * indent
        for _ in range(self.order.randint(1, 3)):
            n, value = self.name(), self.expression()
            choice = self.order.randrange(7)
            if choice == 0:
                lines.append(f"{pad}global {n}")
            elif choice == 1 and depth > 1:
                lines.append(f"{pad}nonlocal {n}")
            elif choice == 2 and depth < 3:
                head = f"{pad}def {self.order.choice('fg')}({n}=3):"
                lines += [head, *self.block(indent + 1, depth + 1), f"{pad} return {value}"]
            elif choice == 3:
                lines += [f"{pad}class C:", f"{pad} {n} = {value}", f"{pad}{self.name()} = getattr(C, '{n}', 5)"]
            else:
                lines.append(f"{pad}{n} = {value}")
        return lines

    def program(self) -> str:
        head = ["a = 0", "b = 1", "c = 2", f"def f({self.name()}=4): return {self.expression()}"]
        head.append(f"def g({self.name()}): return {self.expression()}")
        return "\n".join([*head, "def decode():", *self.block(1, 1), f" return {self.expression()}"]) + "\n"

    def edited(self, source: str) -> str:
        """A few of the names exchanged, anywhere."""
        places = [m.start() for m in re.finditer(r"\b[abc]\b", source)]
        letters = list(source)
        for place in self.order.sample(places, min(len(places), self.order.randint(1, 4))):
            letters[place] = self.order.choice("abcd")
        return "".join(letters)


def behaviour(source: str) -> str:
    """What two calls of decode return, or how it ends; "" when it is no program at all."""
    names: dict[str, object] = {}
    try:
        code = compile(source, "program", "exec")
    except SyntaxError:
        return ""
    try:
        exec(code, names)
        results = [names["decode"](), names["decode"]()]  # type: ignore[operator]
    except (NameError, TypeError, AttributeError, RecursionError) as e:
        return type(e).__name__
    return re.sub(r"<.*?>", "object", repr(results))


def test_two_texts_with_one_hash_do_the_same():
    author = Author(seed=5)
    equal = 0
    for _ in range(BASE_PROGRAMS):
        source = author.program()
        result = behaviour(source)
        if not result or result.endswith("Error"):
            continue
        digest = program_hash(source.encode())
        for _ in range(EDITS_OF_EACH):
            other = author.edited(source)
            if other != source and program_hash(other.encode()) == digest and behaviour(other):
                equal += 1
                assert behaviour(other) == result, f"{source}\n--- is not ---\n{other}"
    assert equal > 5
