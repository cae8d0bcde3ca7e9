/** Policies of any table. Presets have no fixes: they are made without loading the code of fixes (`policyOf`). */
import type { OnlyKnown } from "../foundation/options/misspeltName.ts"
import { fix, type FixerError, type FixError, type FixerServices, type TextFixer } from "./fix.ts"
import type { FixTag } from "./fixRequest.ts"
import {
  type AnyTable,
  type HandledTags,
  policyOf,
  type RecoveryPolicy,
  type SometimesEscalates,
  type Step,
  type Table
} from "./policy.ts"

/** The fixers of a table, those behind conditions included. */
type FixersOf<T> = T extends unknown ? {
    [K in keyof T]-?: T[K] extends infer Entry ? Entry extends { readonly fix: infer F } ? F : never : never
  }[keyof T]
  : never

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
  FixError<FixerError<FixersOf<T>>> | SometimesEscalates<T>,
  FixerServices<FixersOf<T>>
> => {
  const entries: AnyTable = table
  const fixes = Object.entries(entries).flatMap(([tag, entry]) =>
    typeof entry === "object" && "fix" in entry
      ? [fix(tag as FixTag, entry.fix as TextFixer<string, unknown, unknown>, { times: entry.times }) as Step]
      : []
  )
  return policyOf(entries, fixes) as never
}
