"""Products in the loops of Triton's GPU IR."""

from mjolnir.worker.ttgir_loops import dots_of_main_loop

LOOP = """\
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @attend(%q: !tt.ptr<bf16> {tt.divisibility = 16 : i32}) {
    %tail = tt.dot %a, %b, %c : tensor<16x64xf32>
    %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<16x64xf32>) : i32 {
      %s = tt.dot %a, %b, %c {inputPrecision = 0 : i32} : tensor<16x64xf32>
      scf.if %p {
        %x = arith.addi %i, %c1 : i32
      } else {
      }
      %o = ttng.tc_gen5_mma %a, %b, %acc : tensor<16x64xf32>
      %w = ttng.warp_group_dot_wait %o {pendings = 0 : i32} : tensor<16x64xf32>
      scf.yield %o : tensor<16x64xf32>
    } {tt.loop_unroll_factor = 1 : i32}
    tt.return
  }
}
"""


def test_products_of_the_loop_are_counted_and_those_outside_are_not():
    assert dots_of_main_loop(LOOP) == 2


def test_a_module_without_a_loop_has_none():
    assert dots_of_main_loop(LOOP.replace("scf.for", "scf.execute_region")) == 0


def test_the_loop_with_most_products_counts():
    second = "    scf.for %i = %c0 to %n step %c1 : i32 {\n" + "      %s = tt.dot %a, %b, %c\n" * 4 + "    }\n"
    assert dots_of_main_loop(LOOP.replace("    tt.return\n", second + "    tt.return\n")) == 4
