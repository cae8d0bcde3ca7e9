/** Law sentences: each law in one sentence, for people who see it broken. */
export const sentences: Readonly<Record<string, string>> = {
  runs_end: "Each run ends: nothing waits for ever, and nothing goes on for ever.",
  writes_at_most_once:
    "A write is done at most once for each call, whatever key it is done under, in however many attempts.",
  nothing_is_done_twice: "Nothing is done more often than without faults, by whichever call, tool or run.",
  same_seed_same_run: "The same plan gives the same run, to the last event, but for keys of services.",
  same_seed_same_keys: "The same plan asks services under the same keys.",
  runs_do_different_things: "No two runs of one agent do the same thing.",
  reads_do_nothing: "A tool that declares `effects: \"read\"` does nothing, and neither does what it calls.",
  told_as_done_was_done: "What the model is told as done was done.",
  lost_answers_are_named: "A write that was done, and whose answer was lost, is told as an unknown outcome.",
  keys_name_one_thing: "No key stands for two things.",
  told_as_undone_was_undone: "What is told as undone was undone, and once.",
  outsiders_are_marked: "What an outsider wrote reaches the model in an envelope that says so.",
  attempts_within_budget: "No kind of attempt is made more often than the budget allows.",
  one_result_for_each_call: "Each call has exactly one result, whatever became of it.",
  history_is_well_formed: "Each prompt and transcript has each call followed by its result, in order.",
  nothing_leaks: "What stands in errors reaches neither model nor user, nor events, nor spans.",
  streaming_agrees: "Streamed or not: the same outcome, conversation, executions and side effects.",
  deadline_is_kept: "The run is over at its deadline.",
  no_fiber_is_left: "Nothing is left running, however the run ended.",
  one_terminal_event: "A run has one first and one last event.",
  nothing_is_repeated_after_a_pause: "A call that has a result is not executed again behind a pause.",
  unapproved_never_runs: "A call that needs an approval runs only once it is approved.",
  edits_are_followed: "A call that a person has changed does what the person said.",
  budgets_count_on_after_a_pause: "What is used of the budget before a pause is used after it.",
  snapshots_account_for_each_call: "In a snapshot, each call has a result or waits, and none has both."
}
