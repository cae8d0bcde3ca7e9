/** Laws about programs with agents. */
import { approvalLaws } from "./approvalLaws.ts"
import { chatLaws } from "./chatLaws.ts"
import { compensationLaws } from "./compensationLaws.ts"
import { guardLaws } from "./guardLaws.ts"
import { compensationOrderLaws } from "./compensationOrderLaws.ts"
import { conversationLaws } from "./conversationLaws.ts"
import { endingLaws } from "./endingLaws.ts"
import type { Law } from "./judging.ts"
import { longRunLaws } from "./longRunLaws.ts"
import { reportLaws } from "./reportLaws.ts"
import { untrustedLaws } from "./untrustedLaws.ts"
import { writeLaws } from "./writeLaws.ts"

export type { Law, Trial, Violation } from "./judging.ts"

/**
 * Laws of drawn programs, by name. Each returns the breaches in one observed program. The first that a
 * program breaks is reported: explaining ones come first.
 *
 * @category constants
 * @since 0.2.0
 */
export const programLaws = {
  ...compensationLaws,
  ...compensationOrderLaws,
  ...longRunLaws,
  ...guardLaws,
  ...chatLaws,
  endings_are_typed: endingLaws.endings_are_typed,
  begun_is_recorded: reportLaws.begun_is_recorded,
  history_is_well_formed: conversationLaws.history_is_well_formed,
  begun_is_reported: reportLaws.begun_is_reported,
  no_fallback_after_a_doubt: writeLaws.no_fallback_after_a_doubt,
  keys_are_free_iff_nothing_began: writeLaws.keys_are_free_iff_nothing_began,
  approved_by_its_own_tool: approvalLaws.approved_by_its_own_tool,
  asked_where_it_can_wait: approvalLaws.asked_where_it_can_wait,
  done_within_is_not_denied: reportLaws.done_within_is_not_denied,
  done_by_an_agent_is_not_denied: reportLaws.done_by_an_agent_is_not_denied,
  retries_are_safe: reportLaws.retries_are_safe,
  tainted_stays_tainted: untrustedLaws.tainted_stays_tainted,
  untrusted_content_labelled: untrustedLaws.untrusted_content_labelled,
  said_before_the_result: untrustedLaws.said_before_the_result,
  receipts_are_true: reportLaws.receipts_are_true,
  writes_begin_once: writeLaws.writes_begin_once,
  results_name_the_call_around_them: reportLaws.results_name_the_call_around_them,
  every_start_has_its_end: endingLaws.every_start_has_its_end,
  it_ends: endingLaws.it_ends,
  streamed_alike: conversationLaws.streamed_alike
} as const satisfies Readonly<Record<string, Law>>

/**
 * The name of a law about programs.
 *
 * @category models
 * @since 0.2.0
 */
export type ProgramLaw = keyof typeof programLaws
