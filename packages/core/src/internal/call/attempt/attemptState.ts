/** State of one attempt while its steps run: each field is written by the step that its comment names. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Run } from "../../run/run.ts"
import * as Arguments from "../arguments/toolArguments.ts"
import type { Attempt } from "../attemptLog.ts"
import type { Call } from "../call.ts"
import type { PassThrough } from "../execute/effects.ts"
import { type Executable, idempotencyOf } from "../execute/executeTool.ts"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
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

export class AttemptState implements Attempt {
  readonly tool: AttemptedTool
  readonly call: Call
  readonly run: Run | undefined
  readonly context: Context.Context<never>
  /** The idempotency of the call, if it has one. */
  readonly idempotency: Idempotency | undefined
  /** Written by the functions of `attemptLog.ts`. */
  announced: Attempt["announced"] = "nothing"
  /** Written by `numberAttempt`, and by `replayFailure` for an attempt that is not made. */
  number = 0
  nth = 0
  /** The arguments as an object, written by `readArguments`; as canonical JSON, written by `admitCall`. */
  raw: Readonly<Record<string, unknown>> = {}
  /** The decoded arguments. Written by `readArguments`. */
  params: unknown = undefined
  /** The idempotency key of the call. Written by `claimKey`. */
  key: string | undefined = undefined

  constructor(tool: AttemptedTool, call: Call, run: Run | undefined, context: Context.Context<never>) {
    this.tool = tool
    this.call = call
    this.run = run
    this.context = context
    this.idempotency = idempotencyOf(tool, call)
  }

  /** The attempt as its entries in a journal name it. */
  get attempted(): AttemptedCall {
    const { info, success } = this.tool
    return { attempt: this, info, success }
  }

  /** The attempt as the ledger is asked about the starts of earlier executions. */
  get today(): Today {
    const { attempted, call, params, tool } = this
    const raw = params === undefined ? Result.getOrElse(Arguments.read(call.arguments), () => ({})) : this.raw
    return { attempted, params, raw, tool, refusals: ledgerRefusals(this) }
  }
}
