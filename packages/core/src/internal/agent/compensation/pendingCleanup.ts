/**
 * Interrupted: a running inner run whose outer run continues or ends without it. If a journal continues, only the outer
 * run knows that.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { NonDeterminismError } from "../../../Journal.ts"
import { compensatedButContinued } from "../../run/writes/recordedWrites.ts"
import { runCleanups } from "../../run/writes/cleanups.ts"
import { emit, type Run } from "../../run/run.ts"
import type { Mode } from "../runMode.ts"
import { afterInterruption, waitsForNobody } from "./compensationScope.ts"
import type { ToCompensate } from "./compensateWrite.ts"
import { compensateWrites, toCompensate } from "./compensateRun.ts"
import { noteCompensated } from "../../call/record/outcome.ts"

/**
 * Registers the compensation of an interrupted run with the outer run: its writes are compensated, if due, and if no
 * other component has done it.
 */
export const registerRunCleanup = (unwinds: ToCompensate, { provided }: Mode): void => {
  const { compensates: { after }, run } = unwinds
  const { parent, scope } = run
  const isAll = after.has("interruption")
  if (!isAll && !after.has("rejection")) return
  // They are compensated before another attempt of the call begins.
  for (const { live, write } of toCompensate(run, !isAll)) {
    if (live !== undefined && write.known === "done") noteCompensated(live.outcome)
  }
  const end = Effect.contextWith((ambient: Context.Context<never>) => {
    if (toCompensate(run, !isAll).length === 0) return Effect.void
    const cleanup = Effect.flatMap(
      compensateWrites({ ...unwinds, ambient, isBehind: true }, !isAll),
      (broken) => broken === undefined ? Effect.void : Effect.logError("An audit could not be written", broken)
    )
    const ended = Effect.suspend(() =>
      emit(run, () => ({ _tag: "AgentFinished", outcome: "interrupted", usage: { ...run.counts.usage } }))
    )
    return Effect.andThen(
      emit(run, () => ({ _tag: "AgentStarted", resumed: true })),
      Effect.andThen(cleanup, ended)
    )
  })
  parent?.nested.registerCleanup({ end: provided?.(end) ?? end, context: unwinds.ambient, scope })
}

/**
 * Compensates abandoned inner runs that were paused or interrupted. If an interruption ends the run, the outer run
 * knows if it continues.
 */
export const runCleanupsAtEnd = (run: Run, mode: Mode, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
  const interrupted = afterInterruption(run, mode.resumed, exit)
  if (interrupted === undefined || mode.over !== undefined) return runCleanups(run)
  const { parent } = run
  if (parent === undefined && interrupted === "over") return runCleanups(run)
  // It is resumed as a whole, or the run around it compensates all of it.
  for (const one of run.nested.takeCleanups()) {
    if (interrupted !== "given_back") {
      parent?.nested.registerCleanup({ ...one, end: mode.provided?.(one.end) ?? one.end })
    }
  }
  return Effect.void
}

/** This execution does not continue runs that an earlier execution has compensated. */
export const refuseCompensated = <A, E>(run: Run, exit: Exit.Exit<A, E>): Exit.Exit<A, E> => {
  if (Exit.isFailure(exit) || waitsForNobody(run, exit)) return exit
  const write = compensatedButContinued(run)
  return write === undefined
    ? exit
    : Exit.die(new NonDeterminismError({ runId: run.id, step: `compensation ${write.id}` }))
}
