"""Every attack on repository, ledger and text that is known, what must come of it, and the test that shows it.

The attacks are the last three kinds of the list in docs/integrity.md. "measured" means that HEAD's committed kernel
was measured and no program of the repository ran; a code means exit 4 and no row. A test stands as file::name, seen
from tests/.

| attack | what comes of it | test |
|---|---|---|
| amend an experiment | a new row; the old one keeps its commit | repository_attacks/test_rewritten_history.py::test_an_amended_experiment_is_another_one_and_the_old_row_keeps_its_commit |
| amend the champion | E_LINEAGE | commands/test_evaluate_refusals.py::test_an_amended_champion_is_refused |
| amend the message alone | E_SAME_PROGRAM | repository_attacks/test_rewritten_history.py::test_an_amended_message_is_the_same_program |
| force the branch: no parents | E_LINEAGE | repository_attacks/test_rewritten_history.py::test_a_branch_forced_to_a_commit_without_parents_is_refused |
| force the branch: behind the champion | E_LINEAGE | repository_attacks/test_rewritten_history.py::test_a_branch_forced_back_behind_the_champion_is_refused |
| force the branch: other files | E_OTHER_FILES | repository_attacks/test_rewritten_history.py::test_a_branch_forced_onto_a_history_with_other_files_is_refused |
| branch as another name of a branch | E_RUN | repository_attacks/test_rewritten_history.py::test_a_branch_that_is_another_name_for_a_foreign_branch_is_no_runs |
| purge the champion's commit | E_LINEAGE | repository_attacks/test_rewritten_history.py::test_a_champion_whose_commit_was_purged_is_refused |
| force a pin elsewhere | the champion stays | repository_attacks/test_rewritten_history.py::test_pins_forced_elsewhere_do_not_move_the_champion |
| hide a file behind a merge | E_OTHER_FILES | repository_attacks/test_rewritten_history.py::test_a_file_hidden_between_two_merges_is_found |
| bring a file in a merge itself | E_OTHER_FILES | repository_attacks/test_rewritten_history.py::test_a_file_that_only_a_merge_brings_and_another_takes_away_is_found |
| add and remove a file | E_OTHER_FILES | commands/test_evaluate_refusals.py::test_a_file_touched_and_put_back_is_still_in_the_history |
| replace refs | E_GIT_REPLACE | repository_attacks/test_shown_otherwise.py::test_replace_refs_and_grafts_of_any_kind_are_refused |
| replace refs under another name | measured | repository_attacks/test_shown_otherwise.py::test_replace_refs_under_another_name_are_not_obeyed |
| grafts | E_GIT_REPLACE | repository_attacks/test_shown_otherwise.py::test_replace_refs_and_grafts_of_any_kind_are_refused |
| shallow history | E_LINEAGE | repository_attacks/test_shown_otherwise.py::test_a_history_cut_off_by_a_shallow_file_is_refused |
| alternates, forged objects | E_OBJECTS | repository_attacks/test_shown_otherwise.py::test_other_bytes_under_the_kernels_id_are_refused |
| forged tree or commit | E_OBJECTS | store/test_git_hostile.py::test_an_object_that_does_not_hash_to_its_name_is_refused |
| damaged commit graph | measured | repository_attacks/test_shown_otherwise.py::test_a_damaged_commit_graph_decides_nothing |
| GIT_ variables | measured | repository_attacks/test_shown_otherwise.py::test_variables_that_point_git_elsewhere_are_not_obeyed |
| names like HEAD or an id | measured | repository_attacks/test_shown_otherwise.py::test_names_that_look_like_head_or_an_id_mislead_nobody |
| work tree elsewhere | refused | repository_attacks/test_shown_otherwise.py::test_a_work_tree_elsewhere_is_never_measured |
| skip-worktree, assume-unchanged | E_DIRTY | repository_attacks/test_shown_otherwise.py::test_no_flag_hides_another_kernel_in_the_work_tree |
| index alone | E_DIRTY | repository_attacks/test_shown_otherwise.py::test_a_kernel_changed_in_the_index_alone_is_refused |
| stat times put back | seen as dirty | store/test_git_dirty.py::test_a_change_with_the_old_size_and_time_is_seen |
| attributes | measured | repository_attacks/test_shown_otherwise.py::test_attributes_change_nothing_of_what_is_measured |
| helper module | E_IMPORT, E_OTHER_FILES | repository_attacks/test_rewritten_history.py::test_a_helper_module_is_refused_committed_or_not |
| helper named like a module | E_OTHER_FILES | repository_attacks/test_rewritten_history.py::test_a_helper_named_like_an_allowed_module_is_refused_where_it_is_committed |
| fsmonitor | measured | repository_attacks/test_programs_of_the_repository.py::test_no_program_of_the_repository_runs |
| hooks, hooksPath, include | measured | repository_attacks/test_programs_of_the_repository.py::test_no_program_of_the_repository_runs |
| smudge, clean, process filter | measured | repository_attacks/test_programs_of_the_repository.py::test_no_program_of_the_repository_runs |
| external diff, textconv, merge driver | measured | repository_attacks/test_programs_of_the_repository.py::test_no_program_of_the_repository_runs |
| pager, editor, signer, credentials, promisor | measured | repository_attacks/test_programs_of_the_repository.py::test_no_program_of_the_repository_runs |
| all of them, at a discard | nothing runs | repository_attacks/test_programs_of_the_repository.py::test_with_every_trap_laid_a_discard_is_taken_back_and_nothing_runs |
| all of them, at commands that read | nothing runs | repository_attacks/test_programs_of_the_repository.py::test_with_every_trap_laid_no_command_that_reads_runs_anything |
| all of them, at init | nothing runs | repository_attacks/test_programs_of_the_repository.py::test_with_every_trap_laid_a_run_begins_and_nothing_runs |
| programs in the environment | measured | repository_attacks/test_programs_of_the_repository.py::test_no_program_of_the_environment_runs |
| symbolic link, committed | E_NOT_REGULAR | commands/test_evaluate_frozen.py::test_a_symbolic_link_is_no_kernel |
| symbolic link, core.symlinks off | E_NOT_REGULAR | repository_attacks/test_shown_otherwise.py::test_a_link_that_git_was_told_not_to_make_is_a_link |
| symbolic link in the work tree | E_DIRTY | repository_attacks/test_shown_otherwise.py::test_a_link_in_the_work_tree_is_refused |
| submodule as kernel | E_NOT_REGULAR | repository_attacks/test_shown_otherwise.py::test_a_kernel_that_is_a_submodule_is_refused |
| submodule that git ignores | E_OTHER_FILES | repository_attacks/test_shown_otherwise.py::test_a_submodule_beside_the_kernel_is_another_file_whatever_git_was_told_to_ignore |
| executable bit | E_NOT_REGULAR | commands/test_evaluate_frozen.py::test_an_executable_kernel_is_refused |
| executable bit, core.fileMode off | E_NOT_REGULAR | repository_attacks/test_shown_otherwise.py::test_an_executable_bit_that_git_was_told_not_to_see_is_refused_where_it_is_committed |
| configuration edited | E_CONFIG | commands/test_evaluate_frozen.py::test_a_committed_configuration_is_refused |
| frozen configuration edited | E_CONFIG | commands/test_evaluate_frozen.py::test_an_edited_frozen_configuration_is_refused |
| ledger deleted, truncated | rows restored, or E_LEDGER | repository_attacks/test_ledger_attacks.py::test_no_attack_on_the_rows_goes_unnoticed |
| ledger edited, reordered, id doubled | rows restored, or E_LEDGER | repository_attacks/test_ledger_attacks.py::test_no_attack_on_the_rows_goes_unnoticed |
| the same, anchor and mirror too | refused | repository_attacks/test_ledger_attacks.py::test_rows_that_do_not_chain_show_without_mirror_and_anchor_too |
| fewer rows, anchor and mirror too | E_LEDGER | repository_attacks/test_ledger_attacks.py::test_fewer_rows_than_pinned_commits_show_without_mirror_and_anchor_too |
| forged documents and in-flight file | measured anew | repository_attacks/test_ledger_attacks.py::test_what_lies_in_the_work_tree_is_no_measurement |
| terminal escapes, markup, prompt text | shown as words | repository_attacks/test_hostile_text.py::test_the_words_of_an_agent_are_shown_as_words |
| the same in an export | shown as words | repository_attacks/test_hostile_text.py::test_an_export_of_such_words_holds_no_command_and_no_tag |
| prompt text for a verdict | decides nothing | repository_attacks/test_hostile_text.py::test_no_word_of_a_hypothesis_changes_verdict_policy_or_next_step |
| escapes in a diff | shown as words | repository_attacks/test_hostile_text.py::test_a_kernel_full_of_escapes_is_shown_as_a_plain_diff |
| escapes in a log | shown as words | repository_attacks/test_hostile_text.py::test_the_log_of_a_crash_commands_nothing |
| escapes in a file's name | E_OTHER_FILES | repository_attacks/test_hostile_text.py::test_a_refusal_names_a_hostile_file_in_plain_words |

A ledger that is rewritten and chained anew as a whole, together with mirror, anchor and pins, is as good as a new one:
whoever runs as the same user can do that. docs/integrity.md says so.
"""  # noqa: E501 (a table has one line a row)
