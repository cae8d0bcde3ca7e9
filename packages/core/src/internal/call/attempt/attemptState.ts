/** One attempt as its steps know it. A step that learns more passes the next one another value. */
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Arguments from "../arguments/toolArguments.ts"
import type { PassThrough } from "../execute/effects.ts"
import type { Executable, ExecutedAttempt } from "../execute/executeTool.ts"
import type { AttemptError } from "../attemptError.ts"
import type { AttemptedCall } from "../replay/attemptedCall.ts"
import type { Today } from "../replay/resolveKey.ts"
import { ledgerRefusals } from "../ledgerRefusals.ts"

/** The tool of an attempt. Its types are those of the program, which the steps do not look at. */
export interface AttemptedTool extends Executable<unknown, unknown, unknown, unknown> {
  readonly parameters: Schema.Decoder<unknown, unknown>
  readonly decode: (args: Arguments.RawArguments) => Effect.Effect<unknown, Schema.SchemaError, unknown>
}

/** The rest of an attempt as an effect. */
export type Attempting = Effect.Effect<unknown, AttemptError | PassThrough, unknown>

export type Next = (attempt: AttemptState) => Attempting

/** Ends an attempt, or returns `next(attempt)`, which may be wrapped. */
export type Step = (next: Next) => Next

export interface AttemptState extends ExecutedAttempt {
  readonly tool: AttemptedTool
  /** The arguments as an object, known since `readArguments`; as canonical JSON, known since `admitCall`. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The decoded arguments. Known since `readArguments`. */
  readonly params: unknown
  /** The idempotency key of the call. Known since `claimKey`. */
  readonly key: string | undefined
}

/** The attempt as its entries in a journal name it. */
export const attemptedOf = (attempt: AttemptState): AttemptedCall => {
  const { info, success } = attempt.tool
  return { attempt, info, success }
}

/** The attempt as the ledger is asked about the starts of earlier executions. */
export const todayOf = (attempt: AttemptState): Today => {
  const { call, idempotency, params, tool } = attempt
  const raw = params === undefined ? Result.getOrElse(Arguments.read(call.arguments), () => ({})) : attempt.raw
  return { attempted: attemptedOf(attempt), idempotency, params, raw, tool, refusals: ledgerRefusals(attempt) }
}
