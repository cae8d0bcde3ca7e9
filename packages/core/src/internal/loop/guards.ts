/**
 * Guards: the input's, which runs in parallel to the first model request, and the final answer's, before it is emitted.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { type AnyAnswerGuard, type AnyGuard, Change } from "../../Guardrail.ts"
import { textOf } from "./inputText.ts"
import { corrected } from "./outputText.ts"
import type { Conversation } from "./program.ts"
import { effectResult, plainResult } from "../foundation/options/hookResult.ts"
import { type Kind } from "../foundation/options/optionCheck.ts"

/** The guard of an input that runs. */
export interface InputGuard {
  /** True if it has passed the input. */
  readonly hasPassed: () => boolean
  /**
   * Runs the first request to the model: it ends when the guard has passed as well. Returns a {@link Change} if the
   * input is replaced, and fails with the guard's error; both interrupt the request.
   */
  readonly runInParallel: <A>(
    first: Effect.Effect<A, unknown, unknown>
  ) => Effect.Effect<A | Change<unknown>, unknown, unknown>
  /** Ends it, with the run. */
  readonly end: Effect.Effect<unknown>
}

const aVerdict: Kind = {
  is: (value) => value === undefined || value instanceof Change,
  called: "an Effect without a value, or of Guardrail.change(value). An Effect that fails refuses"
}

/** The verdict of a guard: a value of another kind, which may have been meant to refuse, ends the run. */
const guarded = (
  { program }: Conversation,
  name: "guardInput" | "guardOutput",
  guard: () => Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<unknown, unknown, unknown> => {
  const hook = { subject: `Agent "${program.name}"`, name, kind: aVerdict }
  return Effect.suspend(() => Effect.map(effectResult(hook, guard()), (verdict) => plainResult(hook, verdict)))
}

/** Begins to look at an input. */
export const guardInput = (
  state: Conversation,
  guard: AnyGuard,
  input: unknown
): Effect.Effect<InputGuard, never, unknown> =>
  Effect.map(
    Effect.forkChild(guarded(state, "guardInput", () => guard(input)), { startImmediately: true }),
    (fiber) => {
      const hasPassed = () => {
        const exit = fiber.pollUnsafe()
        return exit !== undefined && Exit.isSuccess(exit) && !(exit.value instanceof Change)
      }
      const stopped = Effect.flatMap(
        Fiber.join(fiber),
        (verdict) => verdict instanceof Change ? Effect.succeed(verdict) : Effect.never
      )
      const discard = Effect.suspend(() => state.events?.discard ?? Effect.void)
      const replaced = Effect.suspend(() => state.events?.replaced ?? Effect.void)
      // The output guard releases its delayed events itself.
      const release = Effect.suspend(() =>
        state.program.guardOutput === undefined ? state.events?.release ?? Effect.void : Effect.void
      )
      return {
        hasPassed,
        end: Fiber.interrupt(fiber),
        runInParallel: <A>(first: Effect.Effect<A, unknown, unknown>) =>
          Effect.raceFirst(
            Effect.flatMap(
              first,
              (answer) => Effect.map(Fiber.join(fiber), (verdict) => verdict instanceof Change ? verdict : answer)
            ),
            stopped
          ).pipe(
            Effect.tap((answer) => answer instanceof Change ? Effect.void : release),
            // Events that the guard has not passed are dropped, also if the run is interrupted meanwhile.
            Effect.onExit((exit) =>
              Exit.isFailure(exit) ? discard : exit.value instanceof Change ? replaced : Effect.void
            )
          )
      }
    }
  )

/**
 * Checks a final answer before it is emitted. A replaced or stopped answer does not stay in the conversation. Neither
 * does an unchecked one of an interrupted run.
 */
export const guardOutput = (
  state: Conversation,
  guard: AnyAnswerGuard,
  finished: Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<unknown, unknown, unknown> =>
  finished.pipe(
    Effect.flatMap((output) =>
      output === corrected ? Effect.succeed(output) : Effect.flatMap(
        guarded(state, "guardOutput", () => guard(output, { transcript: state.transcript.snapshot() })),
        (verdict) => {
          const events = state.events
          if (!(verdict instanceof Change)) return Effect.as(events?.release ?? Effect.void, output)
          state.transcript.retractAnswer()
          state.transcript.synthetic(textOf(verdict.value))
          return Effect.as(events?.replaced ?? Effect.void, verdict.value)
        }
      )
    ),
    Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Effect.sync(() => state.transcript.retractAnswer()))
  )
