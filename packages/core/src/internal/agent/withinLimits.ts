/** Runs the body of an agent within its boundary, unless an equal run that has written ends it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { BudgetExceeded } from "../../Budget.ts"
import { CurrentRun } from "../run/run.ts"
import { Boundary } from "./boundary.ts"
import { endedBody, endedLimits } from "./compensation/endedRun.ts"
import { endOfEqualRun } from "./compose/repeatedRun.ts"
import type { Body } from "./runBody.ts"
import type { Limits, Mode } from "./runMode.ts"

/** Runs the body of an agent within its boundary, in a context that the caller has read. */
export const withinLimitsIn = <Out, E, R, R2>(
  context: Context.Context<R2>,
  declaration: Limits<R2>,
  mode: Mode,
  input: unknown,
  body: Body<Out, E, R>
): Effect.Effect<Out, E | BudgetExceeded, R | R2> => {
  if (mode.ended !== undefined) {
    const limits = endedLimits(declaration, mode.ended)
    return new Boundary(limits, mode, input, endedBody(limits.compensates, mode.ended), context)
      .effect() as Effect.Effect<Out>
  }
  const ambient = context as Context.Context<never>
  const parent = Context.get(ambient, CurrentRun)
  const end = parent?.nested.hasFailures === true
    ? endOfEqualRun({ declaration, mode, input, context: ambient }, parent)
    : undefined
  return end as Exit.Exit<never, E> | undefined ?? new Boundary(declaration, mode, input, body, context).effect()
}

/** Runs the body of an agent within its boundary. */
export const withinLimits = <Out, E, R, R2>(
  declaration: Limits<R2>,
  mode: Mode,
  input: unknown,
  body: Body<Out, E, R>
): Effect.Effect<Out, E | BudgetExceeded, R | R2> =>
  Effect.contextWith((context: Context.Context<R2>) => withinLimitsIn(context, declaration, mode, input, body))
