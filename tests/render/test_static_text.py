"""The human form of `verify static`: facts with their limits, and never a time or a score."""

import pytest

from doubles.static_reports import attend, call, code, merge, report
from mjolnir.core.static_change import compare_reports
from mjolnir.core.static_label import label_line
from mjolnir.render.static import lengths_text, static_lines


def text(found, change=None):
    return "\n".join(static_lines(found, change))


def test_the_label_says_what_it_is_and_what_it_is_not():
    line = label_line(report(), None)
    assert line.startswith("STATIC (no GPU): not a timing. compiles sm_110a ok | spills 0 | 128 regs | ")
    assert "4 CTA/SM" not in line
    assert "3 CTA/SM (shared)" in line
    assert "K/V reads 1.00x" in line
    assert line.endswith("correctness: not checked here")


def test_a_row_a_distinct_launch_with_neighbouring_lengths_as_a_range():
    rows = [line.split() for line in static_lines(report(call(4096), call(8192), call(16384)), None)]
    assert ["bf16", "4K..16K", "attend", "4x10x1"] in [row[:4] for row in rows]
    assert lengths_text((128, 8192, 16384), (128, 4096, 8192, 16384)) == "128,8K,16K"


def test_the_floor_is_called_a_bound():
    assert ">= 245.8 us at 32K is the DRAM floor, not a prediction" in text(report())


def test_more_bytes_than_one_reading_has_are_shown_with_three_digits():
    assert "1.103x" in text(report(call(4096, ratio=1.103)))


def test_bytes_that_were_not_counted_are_said_to_be_that():
    found = text(report(call(4096, counted=False)))
    assert "K/V reads not counted" in found
    assert "—  3 shared" in found


def test_two_answers_about_shared_memory_are_both_shown():
    found = text(report(call(4096, attend(4096, shared_bytes=200 * 1024), merge())))
    assert "1 shared [3]" in found
    assert "665,600 B" in found
    assert "233,472 B" in found


@pytest.mark.parametrize("word", ["speedup", "score", "faster", "slower"])
def test_no_word_of_a_measurement_is_in_it(word):
    assert word not in text(report(), compare_reports(report(), report(), "f" * 40))


def test_a_comparison_that_finds_nothing_says_that_no_device_could():
    same = compare_reports(report(), report(), "abcdef0123456789" * 2)
    found = text(report(), same)
    assert "against abcdef012345: the same machine code in the same launches" in found
    assert "SASS unchanged" in label_line(report(), same)


def test_a_comparison_shows_what_changed_and_by_how_much():
    after = report(
        call(4096, attend(4096, machine=code(sass_hash="c" * 64, loop_instructions=672, registers=96)), merge())
    )
    change = compare_reports(report(call(4096)), after, "f" * 40)
    found = text(after, change)
    assert "SASS changed (+5.0 % instr/row)" in found
    assert "attend, q bf16, L 4K: SASS changed | instr/row 40.0 -> 42.0 (+5.0 %) | regs 128 -> 96 | spills 0" in found
    assert "merge, q bf16, L 4K: SASS unchanged" in found


def test_foreign_words_are_data():
    found = text(report(call(4096), notes=["\x1b[31mred\x1b[0m [bold]"]))
    assert "note: red [bold]" in found
