/** Nested agent runs: their ids, and their end together with the agent around them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Path from "../path/path.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type { Call } from "../call/call.ts"
import { noteForeignDefects } from "../call/execute/executorDefect.ts"
import { contentHash } from "../foundation/json/contentHash.ts"
import { afterAttempts, attemptOf } from "../path/entryKeys.ts"
import { idWithin } from "../path/path.ts"
import { CurrentRun, type Run, type RunStart } from "../run/run.ts"

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
 * Returns the text that identifies a run of an agent among runs of the same agent in the same call. A run that a
 * program starts by hand is identified by its input, so that the order of such runs does not matter. `isCounted`: by
 * its number alone, as in runs of older versions.
 */
const contentOf = ({ call, input }: Nested, isCounted: boolean): string =>
  isCounted || call?.record.attempts.tool?.isAgent === true ? "" : `(${contentHash(input)})`

/** Returns the path of a run of an agent, numbered among equal ones. They are counted by the name `counted`. */
const numbered = (nested: Nested, agent: string, counted: (path: string) => string): string => {
  const { nested: runs, log } = nested.parent
  const own = `${agent}${contentOf(nested, log?.hasCounted(agent) === true)}`
  return Path.ofEqual(own, runs.count(counted(own)))
}

/**
 * Returns the scope that separates the calls of a nested run from those of every other one: the outer runs and calls,
 * its agent, its input, and its number among equal runs. The same after a resumption, and in each attempt of the outer
 * call: an attempt has the path of the one before, so that a write of theirs with a default key is one write.
 */
export const scopeWithin = (nested: Nested): string => {
  const { call, name, parent, position } = nested
  const agent = Path.ofAgent(parent.scope, call?.identity ?? call?.id ?? "", name)
  return position === undefined
    ? numbered(nested, agent, (own) => `${call?.attempt ?? 0}/${own}`)
    : Path.ofStep(agent, position)
}

/**
 * Returns the path of a nested run in the journal of the outermost one. Unlike the scope, it differs for each attempt:
 * a model answer of one attempt is no answer in the next.
 */
export const placeWithin = (nested: Nested): string => {
  const { call, name, parent, position } = nested
  const attempts = call?.record.attempts.count ?? 0
  const isRunning = (call?.record.outcome.running ?? 0) > 0
  const within = call && (isRunning ? attemptOf : afterAttempts)(call.identity ?? call.id, attempts)
  const agent = Path.ofAgent(parent.start.place, within ?? "", name)
  return position === undefined ? numbered(nested, agent, (own) => `journal/${own}`) : Path.ofStep(agent, position)
}

/** Returns the outer call in which an agent starts, if there is one: not one that the run itself is in. */
export const callAround = (call: Call | undefined, parent: Run | undefined): RunStart["outerCall"] => {
  if (call === undefined || parent === undefined) return undefined
  for (let run: Run | undefined = parent; run !== undefined; run = run.parent) {
    if (run.start.outerCall?.record === call.record) return undefined
  }
  return { id: call.id, record: call.record }
}

/** The id of another agent's run within a run, and within one of its calls if it is one. */
export const nestedId = (parent: Run, name: string, call: RunStart["outerCall"]): string => {
  const within = idWithin(parent.agentRunId, call?.id ?? name)
  const times = parent.nested.count(`id/${within}`)
  // The ids of steps are the same however many other runs there were.
  if (parent.nested.hasSteps) return `${within}~${times}`
  return times === 1 ? within : `${within}#${times}`
}

/** True if a run, or an outer run of it, has ended. */
const hasEnded = (run: Run | undefined): boolean => run !== undefined && (run.nested.hasEnded || hasEnded(run.parent))

/** Runs an agent as a part of the run around it, which waits for it when it ends. */
export const partOf = <A, E, R>(
  parent: Run | undefined,
  name: string,
  effect: Effect.Effect<A, E, R>,
  isOver: boolean
): Effect.Effect<A, E, R> =>
  parent === undefined ? effect : Effect.withFiber((fiber) => {
    // Abandoned runs are compensated while the outer runs end.
    if (!isOver && hasEnded(parent)) {
      return Effect.die(
        new ConfigurationError({
          subject: `Agent "${name}"`,
          problem: `it was started within a run of "${parent.path[0]}" that has ended: wait for it before that run ends`
        })
      )
    }
    return Effect.onExitPrimitive(
      Effect.suspend(() => {
        parent.nested.began(fiber)
        return effect
      }),
      (exit) => {
        if (Exit.isFailure(exit)) noteForeignDefects(exit.cause)
        parent.nested.ended(fiber)
        return undefined
      }
    )
  })

/** Ends a run: interrupts and awaits the work that it has started and that still runs. */
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
