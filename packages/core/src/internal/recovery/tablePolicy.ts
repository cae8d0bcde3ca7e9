/** Policies of any table. Presets have no fixes: they are made without loading the code of fixes (`policyOf`). */
import type { OnlyKnown } from "../foundation/options/misspeltName.ts"
import type { HookError, HookServices, OptionOf } from "../foundation/options/inferredOptions.ts"
import { anObject } from "../foundation/options/optionCheck.ts"
import { fix, type FixError, type TextFixer } from "./fix.ts"
import type { FixTag } from "./fixRequest.ts"
import {
  type AnyTable,
  type FixEntry,
  type HandledTags,
  policyOf,
  type RecoveryPolicy,
  type SometimesEscalates,
  type Step,
  type Table
} from "./policy.ts"

const fixStep = (tag: FixTag, entry: FixEntry<FixTag, unknown, unknown>): Step =>
  fix(tag, entry.fix as TextFixer<string, unknown, unknown>, { times: entry.times }) as Step

/**
 * Makes a policy of a table. Errors that the table does not mention pass unchanged.
 *
 * **Example** (Failures of executors are for the model to see)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const policy = Recovery.policy({ InvalidArgs: "escalate", ExecutionError: { retry: { times: 1 }, otherwise: "escalate" } })
 *
 * const Down = Tool.make("down", { effects: "read", execute: () => Effect.fail("down" as const) })
 *
 * await Effect.runPromise(
 *   policy(Down.call).pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.attempt))
 *   )
 * ) // => 2
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const policy = <const T extends AnyTable>(
  table: T & OnlyKnown<T, keyof Table>
): RecoveryPolicy<
  HandledTags<T>,
  FixError<T extends unknown ? HookError<OptionOf<T[keyof T], "fix">, "run"> : never> | SometimesEscalates<T>,
  T extends unknown ? HookServices<OptionOf<T[keyof T], "fix">, "run"> : never
> => {
  const entries: AnyTable = table
  const fixes = Object.entries(entries).flatMap(([tag, entry]) =>
    anObject.is(entry) && "fix" in (entry as object)
      ? [fixStep(tag as FixTag, entry as FixEntry<FixTag, unknown, unknown>)]
      : []
  )
  return policyOf(entries, fixes) as never
}
