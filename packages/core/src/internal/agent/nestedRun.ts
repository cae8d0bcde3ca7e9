/** Nested agent runs: their ids, and their end together with the agent around them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type { Call } from "../call/call.ts"
import { noteForeignDefects } from "../call/execute/executorDefect.ts"
import { contentHash } from "../foundation/json/contentHash.ts"
import { after } from "../foundation/effect/sequence.ts"
import { afterAttempts, attemptOf } from "../path/entryKeys.ts"
import * as Path from "../path/path.ts"
import { CurrentRun, type Run } from "../run/run.ts"
import type { RunStart } from "../run/state/start.ts"

/** A nested run before it has an address. */
export interface Nested {
  readonly parent: Run
  /** The call that it runs in, if there is one. */
  readonly call: Call | undefined
  /** The agent. */
  readonly name: string
  /** The position of the agent among the steps of a composed agent. */
  readonly position: number | undefined
  readonly input: unknown
}

/**
 * Returns what tells a run of an agent from other runs of the same agent in the same call. An agent that a program runs by hand is told by its
 * input, so that the order in which its runs start does not matter. `isCounted`: by its number alone, as in runs of older versions.
 */
const contentOf = ({ call, input }: Nested, isCounted: boolean): string =>
  isCounted || call?.record.attempts.tool?.isAgent === true ? "" : `(${contentHash(input)})`

/** Returns the path of a run of an agent, numbered among equal ones. They are counted by the name `counted`. */
const numbered = (nested: Nested, agent: string, counted: (path: string) => string): string => {
  const { nested: runs, replay } = nested.parent
  const own = `${agent}${contentOf(nested, replay?.hasCounted(agent) === true)}`
  return Path.ofEqual(own, runs.count(counted(own)))
}

/**
 * Tells the calls of a nested run from those of every other one: the runs and calls that it is nested in, its agent, its input, and
 * its number among equal runs. The same when the run is resumed, and in each attempt of the call that it is nested in:
 * an attempt stands in the place of the one before, so that a write of theirs with a default key is one write.
 */
export const scopeWithin = (nested: Nested): string => {
  const { call, name, parent, position } = nested
  const agent = Path.ofAgent(parent.scope, call?.identity ?? call?.id ?? "", name)
  return position === undefined
    ? numbered(nested, agent, (own) => `${call?.attempt ?? 0}/${own}`)
    : Path.ofStep(agent, position)
}

/**
 * Where a nested run stands in the journal of the outermost one. An attempt has places of its own, other than its scope: what
 * the model answered in one attempt is no answer in the next.
 */
export const placeWithin = (nested: Nested): string => {
  const { call, name, parent, position } = nested
  const attempts = call?.record.attempts.count ?? 0
  const isRunning = (call?.record.outcome.running ?? 0) > 0
  const within = call && (isRunning ? attemptOf : afterAttempts)(call.identity ?? call.id, attempts)
  const agent = Path.ofAgent(parent.start.place, within ?? "", name)
  return position === undefined ? numbered(nested, agent, (own) => `journal/${own}`) : Path.ofStep(agent, position)
}

/** The call of a run in which an agent begins, if it is one: not one that the run itself stands in. */
export const callAround = (call: Call | undefined, parent: Run | undefined): RunStart["outerCall"] => {
  if (call === undefined || parent === undefined) return undefined
  for (let run: Run | undefined = parent; run !== undefined; run = run.parent) {
    if (run.start.outerCall?.record === call.record) return undefined
  }
  return { id: call.id, record: call.record }
}

/** The id of another agent's run within a run, and within one of its calls if it is one. */
export const nestedId = (parent: Run, name: string, call: RunStart["outerCall"]): string => {
  const within = `${parent.agentRunId}/${call?.id ?? name}`
  const times = parent.nested.count(`id/${within}`)
  // The ids of steps are the same however many other runs there were.
  if (parent.nested.hasSteps) return `${within}~${times}`
  return times === 1 ? within : `${within}#${times}`
}

/** Whether a run, or one that it is nested in, has ended. */
const hasEnded = (run: Run | undefined): boolean => run !== undefined && (run.nested.hasEnded || hasEnded(run.parent))

/** Runs an agent as a part of the run around it, which waits for it when it ends. */
export const partOf = <A, E, R>(
  parent: Run | undefined,
  name: string,
  effect: Effect.Effect<A, E, R>,
  isOver: boolean
): Effect.Effect<A, E, R> =>
  parent === undefined ? effect : Effect.withFiber((fiber) => {
    // What is over is undone while the runs around it end.
    if (!isOver && hasEnded(parent)) {
      return Effect.die(
        new ConfigurationError({
          subject: `Agent "${name}"`,
          problem: `it was started within a run of "${parent.path[0]}" that has ended: wait for it before that run ends`
        })
      )
    }
    return after(
      Effect.suspend(() => {
        parent.nested.began(fiber)
        return effect
      }),
      (exit) => {
        if (Exit.isFailure(exit)) noteForeignDefects(exit.cause)
        parent.nested.ended(fiber)
        return Effect.void
      }
    )
  })

/** Ends a run: what was begun within it and goes on is interrupted, and waited for. */
export const endNested = (run: Run): Effect.Effect<void> => {
  run.nested.end()
  return !run.nested.areRunning ? Effect.void : Effect.callback((resume) => {
    run.nested.end(() => resume(Effect.void))
    run.nested.interrupt()
  })
}

/** A context outside of every run, for watchers. */
export const outOfRun = (context: Context.Context<never>): Context.Context<never> =>
  Context.add(context, CurrentRun, undefined)
