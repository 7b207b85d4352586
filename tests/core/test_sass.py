"""SASS as nvdisasm prints it: what is read, which loop is the main one, and which edits make another program."""

from pathlib import Path

import pytest

from mjolnir.core.sass import classify, count_classes, count_mma, count_spills, parse_sass, sass_hash
from mjolnir.core.sass_loop import find_main_loop

SAMPLES = Path(__file__).parents[1] / "fixtures" / "sass"

HEAD = """\
\t.target\tsm_110a
//--------------------- .text.{name}              --------------------------
\t.section\t.text.{name},"ax",@progbits
        .global         {name}
{name}:
.text.{name}:
"""
PLAIN = """\
        /*0000*/                   LDC R1, c[0x0][0x37c] ;
        /*0010*/                   MOV32I R2, 32@lo((attend + .L_x_0@srel)) ;
.L_x_0:
        /*0020*/                   FADD R3, R3, 1 ;
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
"""


def sass(body, name="attend"):
    """`body`: "label:" and "guard OPCODE operands" lines; addresses are made."""
    lines, at = [], 0
    for line in body.strip().splitlines():
        if line.strip().endswith(":"):
            lines.append(line.strip())
        else:
            lines.append(f"        /*{at:04x}*/   {line.strip()} ;")
            at += 16
    return HEAD.format(name=name) + "\n".join(lines) + "\n"


def main_loop(body):
    (function,) = parse_sass(sass(body))
    return find_main_loop(function)


def test_instructions_have_guard_opcode_and_operands():
    (function,) = parse_sass(HEAD.format(name="attend") + PLAIN)
    assert function.name == "attend"
    branch = function.instructions[3]
    assert (branch.guard, branch.opcode, branch.name, branch.label) == ("@!P0", "BRA", "BRA", ".L_x_0")
    assert function.labels[".L_x_0"] == 2


def test_a_text_without_instructions_is_an_error():
    with pytest.raises(ValueError, match="no instruction"):
        parse_sass(HEAD.format(name="attend"))


def same(a, b):
    return sass_hash(parse_sass(a)) == sass_hash(parse_sass(b))


def test_names_labels_addresses_and_comments_make_no_other_program():
    text = HEAD.format(name="attend") + PLAIN
    assert same(text, (HEAD.format(name="fold") + PLAIN).replace("(attend +", "(fold +"))
    assert same(text, text.replace(".L_x_0", ".L_x_41"))
    assert same(text, text.replace("/*00", "/*10"))
    assert same(text, text.replace("FADD R3, R3, 1 ;", "FADD R3,   R3, 1 ; // a remark"))


@pytest.mark.parametrize(
    ("old", "new"),
    [("R3, 1", "R3, 2"), ("@!P0", "@P0"), ("FADD", "FMUL"), ("R1, c[0x0][0x37c]", "R1, c[0x0][0x380]")],
)
def test_another_constant_guard_opcode_or_operand_is_another_program(old, new):
    text = HEAD.format(name="attend") + PLAIN
    assert not same(text, text.replace(old, new))


def test_a_branch_to_another_place_is_another_program():
    body = "FADD R1, R1, 1\n.L_x_0:\nFADD R1, R1, 2\n.L_x_1:\nFADD R1, R1, 3\n@P0 BRA `({}) \nEXIT"
    assert not same(sass(body.format(".L_x_0")), sass(body.format(".L_x_1")))


def test_two_functions_are_kept_apart():
    text = sass("EXIT") + sass("FADD R1, R1, 1\nEXIT", name="helper")
    assert [f.name for f in parse_sass(text)] == ["attend", "helper"]
    assert not same(text, sass("EXIT") + sass("EXIT", name="helper"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("HMMA.16816.F32.BF16 R4, R8, R12, R4", "mma"),
        ("UTCQMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0", "mma"),
        ("QGMMA.64x16x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24", "mma"),
        ("MUFU.EX2 R3, R3", "exp2"),
        ("MUFU.RCP R3, R3", "float"),
        ("FFMA2 R4.F32x2.HI_LO, R4, R6, R8", "float"),
        ("HADD2.F32 R4, -RZ, R4.H0_H0", "float"),
        ("F2FP.BF16.E4M3.UNPACK_B R92, R8", "convert"),
        ("SHFL.BFLY PT, R3, R4, 0x10, 0x1f", "shuffle"),
        ("LDSM.16.M88.4 R44, [R17+UR16]", "shared"),
        ("LDTM.x16 R4, tmem[UR8]", "tensor memory"),
        ("UTMALDG.2D [UR8], [UR4], desc[UR6]", "tma"),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR4][R6.64]", "global"),
        ("STL [R1], R3", "local"),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7+0x12800], R16", "barrier"),
        ("BRA `(.L_x_1)", "control"),
        ("IADD3 R1, PT, PT, R1, -0x20, RZ", "integer"),
        ("ULOP3.LUT UR5, UR5, UR7, URZ, 0x3c, !UPT", "integer"),
    ],
)
def test_an_instruction_has_a_class(line, expected):
    (function,) = parse_sass(sass(line))
    assert classify(function.instructions[0]) == expected


def test_spills_are_loads_and_stores_of_local_memory():
    functions = parse_sass(sass("STL [R1], R3\nLDL.LU R3, [R1]\nLDG.E R4, desc[UR4][R2.64]\nEXIT"))
    assert count_spills(functions) == 2


PIPELINED = """
MOV R1, RZ
HMMA.16816.F32 R0, R1, R2, R0
MUFU.EX2 R4, R4
.L_x_9:
SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R16
@!P0 BRA `(.L_x_7)
.L_x_13:
HMMA.16816.F32 R0, R1, R2, R0
MUFU.EX2 R4, R4
BRA.U UP0, `(.L_x_9)
STG.E desc[UR4][R2.64], R0
HMMA.16816.F32 R0, R1, R2, R0
HMMA.16816.F32 R0, R1, R2, R0
EXIT
.L_x_7:
SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R16
@!P0 BRA `(.L_x_7)
BRA `(.L_x_13)
.L_x_17:
BRA `(.L_x_17)
"""


def test_the_spin_of_a_barrier_that_lies_behind_does_not_stretch_the_loop():
    loop = main_loop(PIPELINED)
    assert [one.name for one in loop.instructions] == ["SYNCS", "BRA", "HMMA", "MUFU", "BRA"]
    assert loop.num_mma == 1


def test_a_tail_with_products_that_is_no_loop_is_not_taken():
    assert main_loop("HMMA R0, R1, R2, R0\nMUFU.EX2 R4, R4\n@P0 EXIT\nFADD R1, R1, 1\nEXIT") is None


NESTED = """
.L_x_0:
IADD3 R9, R9, 1, RZ
.L_x_1:
HMMA R0, R1, R2, R0
MUFU.EX2 R4, R4
@P0 BRA `(.L_x_1)
{between}
@P1 BRA `(.L_x_0)
EXIT
"""


def test_the_inner_of_two_loops_is_the_main_one():
    loop = main_loop(NESTED.format(between="FADD R1, R1, 1"))
    assert [one.name for one in loop.instructions] == ["HMMA", "MUFU", "BRA"]


def test_of_two_loops_the_one_with_more_products_is_the_main_one():
    second = ".L_x_2:\nHMMA R0, R1, R2, R0\nHMMA R0, R1, R2, R0\nMUFU.EX2 R4, R4\n@P2 BRA `(.L_x_2)"
    assert main_loop(NESTED.format(between=second)).num_mma == 2


def test_without_tensor_cores_the_loop_with_the_exponential_is_the_main_one():
    loop = main_loop(".L_x_0:\nFFMA R1, R2, R3, R1\nMUFU.EX2 R4, R4\n@P0 BRA `(.L_x_0)\nEXIT")
    assert count_classes(loop.instructions) == {"control": 1, "exp2": 1, "float": 1}


def test_a_branch_out_of_a_divergent_region_does_not_break_the_loop():
    body = """
.L_x_0:
BSSY B0, `(.L_x_2)
@P1 BRA `(.L_x_1)
HMMA R0, R1, R2, R0
.L_x_1:
BSYNC B0
.L_x_2:
MUFU.EX2 R4, R4
@P0 BRA `(.L_x_0)
EXIT
"""
    assert main_loop(body).num_mma == 1


@pytest.mark.parametrize(
    ("sample", "instructions", "products", "per_row"),
    [("attend-bf16-sm_110a", 744, {"HMMA": 64}, 46.5), ("attend-fp8-sm_110a", 510, {"UTCQMMA": 12}, 31.875)],
)
def test_the_main_loop_of_the_shipped_kernel_is_found(sample, instructions, products, per_row):
    (function,) = parse_sass((SAMPLES / f"{sample}.sass").read_text())
    loop = find_main_loop(function)
    assert len(loop.instructions) == instructions
    assert count_mma(loop.instructions) == products
    assert instructions * 4 / 64 == per_row


def test_a_barrier_s_register_that_is_used_twice_makes_no_loop_of_what_lies_between():
    body = """
.L_x_0:
BSSY.RECONVERGENT B0, `(.L_x_2)
@P2 BRA `(.L_x_1)
HMMA.16816.F32 R0, R1, R2, R0
.L_x_1:
BSYNC.RECONVERGENT B0
.L_x_2:
MUFU.EX2 R4, R4
BSSY.RECONVERGENT B0, `(.L_x_4)
@P2 BRA `(.L_x_3)
HMMA.16816.F32 R0, R1, R2, R0
.L_x_3:
BSYNC.RECONVERGENT B0
.L_x_4:
MUFU.EX2 R4, R4
@P0 BRA `(.L_x_0)
EXIT
"""
    loop = main_loop(body)
    assert (loop.num_mma, len(loop.instructions)) == (2, 11)
