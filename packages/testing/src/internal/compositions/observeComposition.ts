/** Observation of a composition: all of its executions, each in a process of its own, in virtual time. */
import { Cause, Clock, Effect, Exit, Layer, Logger, Option, Random, type Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { AgentEvent, type Approval, Approval as Approvals, Audit, Journal, RunRecord } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { Approver, type Pause, run as runToEnd } from "../faults/approver.ts"
import type { Operations } from "../faults/storeFaults.ts"
import { SharedStores } from "../faults/stores.ts"
import { snapshotKey } from "../simulation/snapshotKey.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import type { Composition } from "./composition.ts"
import { type Hands, hands as ordinaryHands } from "./executors.ts"
import { callback, failureOf } from "./faultyCallbacks.ts"
import { Payments } from "./payments.ts"
import { agentIn, modelOf, type Process } from "./scene.ts"

/**
 * The end of one execution.
 *
 * @category models
 * @since 0.2.0
 */
export interface Execution {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly record: RunRecord.RunRecord | undefined
  /** Virtual milliseconds from its start to its end, without the time in which a person decided. */
  readonly took: number
  readonly stopped: VirtualTime.Ended<unknown, unknown>["stopped"]
  readonly operations: number
}

/**
 * An event, and the process that emitted it.
 *
 * @category models
 * @since 0.2.0
 */
export interface Emitted {
  readonly process: number
  readonly event: AgentEvent.AgentEvent
}

/**
 * Everything that can be observed of a composition.
 *
 * @category models
 * @since 0.2.0
 */
export interface ObservedComposition {
  readonly composition: Composition
  readonly executions: ReadonlyArray<Execution>
  readonly events: ReadonlyArray<Emitted>
  /** @internal Payments of the banks. */
  readonly payments: Payments
  readonly pauses: ReadonlyArray<Pause & { readonly after: number }>
}

/** The store of journals: the next process reads the entries of the previous one. */
const journalIn = (stored: Map<string, Schema.Json>, isResumed: boolean): Journal.Journal => {
  const earlier = new Map(stored)
  return {
    runId: "r",
    isResumed,
    elapsedBefore: 0,
    find: (kind, key) => earlier.get(`${kind} ${key}`),
    entries: (kind) =>
      [...earlier].flatMap(([key, value]) =>
        key.startsWith(`${kind} `) ? [[key.slice(kind.length + 1), value] as const] : []
      ),
    claim: (entry) => entry.slice(0, 32),
    record: (kind, key, value) =>
      Effect.sync(() => void stored.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)) as Schema.Json))
  }
}

/** A person who decides as the composition says, and approves after that. */
const person = ({ decisions }: Composition) => {
  let nth = 0
  return Layer.succeed(Approver, {
    decide: (pending: ReadonlyArray<Approval.PendingCall>) =>
      Effect.sync(() =>
        pending.map((call) => decisions[nth++] === "reject" ? Approvals.reject(call, "no") : Approvals.approve(call))
      )
  })
}

/** Operations of the ledger: all but the first one fail, if they are to. */
const ledgerOf = (composition: Composition): Operations => {
  const fails = failureOf(composition, "ledger")
  const isTagged = composition.callbacks.some((one) => one.of === "ledger" && one.fails === "fails")
  let operations = 0
  return (operation, error) =>
    fails === undefined || ++operations === 1 ? operation : isTagged ? Effect.fail(error()) : fails()
}

/** State that outlives the processes of one composition, and the observations. */
class Scene {
  readonly events: Array<Emitted> = []
  readonly pauses: Array<Pause & { readonly after: number }> = []
  readonly payments: Payments
  readonly journal = new Map<string, Schema.Json>()
  private readonly stores = new SharedStores()
  readonly composition: Composition

  constructor(composition: Composition) {
    this.composition = composition
    this.payments = new Payments(composition.failures)
  }

  layer(process: number) {
    const { composition, events, payments, stores } = this
    return ScriptedModel.layer(modelOf(composition, payments)).pipe(Layer.provideMerge(Layer.mergeAll(
      Logger.layer([]),
      AgentEvent.listen((event) => Effect.sync(() => void events.push({ process, event }))),
      Audit.layer(callback(composition, "audit", () => Effect.void)),
      person(composition),
      snapshotKey,
      Layer.merge(
        stores.layerLedger(() => ledgerOf(composition)),
        stores.layerResumptions(() => (operation) => operation)
      )
    )))
  }
}

/** End of one process that does not end by itself. */
type Stop = Pick<VirtualTime.Options, "killAt" | "interruptAt">

const stopOf = (composition: Composition, number: number, operations: number): Stop => {
  const within = (at: number) => 1 + at % Math.max(1, operations)
  const { executions, interruptAt } = composition
  const ending = executions[number]
  if (ending !== undefined) return { [ending.how === "killed" ? "killAt" : "interruptAt"]: within(ending.at) }
  return executions.length === 0 && interruptAt > 0 ? { interruptAt: within(interruptAt) } : {}
}

const recordOf = (exit: Exit.Exit<unknown, unknown>): RunRecord.RunRecord | undefined =>
  Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined

/** Time for fibers that an executor has detached. */
const afterwards = Effect.sleep("2 minutes")

const execute = (scene: Scene, process: Process, hands: Hands, startAt: number, stop: Stop) =>
  Effect.gen(function*() {
    const { composition, payments, pauses } = scene
    const agent = agentIn(composition, payments, process, hands)
    let record: RunRecord.RunRecord | undefined
    let exit: Exit.Exit<unknown, unknown> = Exit.interrupt()
    let took = 0
    const journal = composition.deployed === "withoutJournal"
      ? undefined
      : journalIn(scene.journal, process.number > 0)
    const run: Effect.Effect<unknown, unknown, any> = composition.executions.length > 0
      ? Effect.flatMap(agent.report("go", { runId: "r" }), (report) => {
        record = report
        return report.exit
      }).pipe(Effect.provideService(Journal.CurrentJournal, journal))
      : runToEnd(agent, "go", {
        onRecord: (ended) => {
          record = ended
        },
        onPause: (pause) => void pauses.push({ ...pause, after: scene.events.length })
      })
    const timed = Effect.onExit(run, (ended) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        exit = ended
        took = now - startAt
        return afterwards
      }))
    const { operations, stopped } = yield* VirtualTime.run(
      timed.pipe(
        Effect.provide(scene.layer(process.number) as Layer.Layer<LanguageModel.LanguageModel | Approver>),
        Random.withSeed(process.number + 1)
      ) as Effect.Effect<unknown, unknown>,
      {
        steps: 50_000,
        startAt,
        identity: process.number,
        ...(composition.order === 0 ? {} : { order: composition.order }),
        ...stop
      }
    )
    return { exit, record: record ?? recordOf(exit), took, stopped, operations }
  })

/** Runs a composition. `operations` is how many operations there are at which a process can end. */
export const observeComposition = (
  composition: Composition,
  operations = 1,
  hands: Hands = ordinaryHands
): Effect.Effect<ObservedComposition> =>
  Effect.gen(function*() {
    const scene = new Scene(composition)
    const executions: Array<Execution> = []
    for (let number = 0; number <= composition.executions.length; number++) {
      const process: Process = { number, events: () => scene.events.length }
      // The lease of a process that was killed is over.
      const startAt = number * 600_000
      const ended = yield* execute(scene, process, hands, startAt, stopOf(composition, number, operations))
      executions.push(ended)
      if (ended.stopped !== "killed" && !(Exit.isFailure(ended.exit) && Cause.hasInterrupts(ended.exit.cause))) break
    }
    const { events, pauses, payments } = scene
    return { composition, executions, events, payments, pauses }
  })

/** The composition in which no process is stopped. */
export const undisturbed = (composition: Composition): Composition => ({
  ...composition,
  executions: [],
  interruptAt: 0
})
