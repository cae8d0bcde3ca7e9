/** Runs a program once, in virtual time, and observes everything about it. */
import { Cause, Clock, Context, Effect, Exit, Layer, Logger, Option, Random, Redacted } from "effect"
import type { LanguageModel } from "effect/ai"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import { AgentEvent, Approval, Audit, IdempotencyLedger, RunRecord } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import * as TestTracer from "../../TestTracer.ts"
import { Approver, type Pause, run as runToEnd } from "../faults/approver.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import { faulty, SharedStores } from "../world/stores.ts"
import { build, type Built } from "./build.ts"
import type { Program } from "./program.ts"
import { type Deed, type Undone, World } from "./world.ts"

/** An entry of the ledger, as it is stored. */
export interface Entry {
  readonly tool: string
  readonly callId: string
  readonly finished: boolean
}

/** One run of the conversation. */
export interface Part {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly record: RunRecord.RunRecord | undefined
  readonly elapsed: number
  readonly waited: number
  readonly stopped: VirtualTime.Ended<unknown, unknown>["stopped"]
  readonly fibers: number
  readonly operations: number
  /** Where its events, requests and deeds begin. */
  readonly events: readonly [from: number, to: number]
  readonly requests: readonly [from: number, to: number]
  /** Whether it goes on from the pause of the part before, which was interrupted while it did. */
  readonly resumed?: true | undefined
}

/** A pause, and how many events and requests there were before the run went on. */
export interface Waited extends Pause {
  readonly after: number
  readonly requests: number
}

/** Everything that can be observed of a program. */
export interface Observed {
  readonly program: Program
  readonly tools: Built["tools"]
  readonly parts: ReadonlyArray<Part>
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly requests: ReadonlyArray<ScriptedModel.Request>
  readonly deeds: ReadonlyArray<Deed>
  /** What was undone, or was tried to be. */
  readonly undone: ReadonlyArray<Undone>
  readonly audit: ReadonlyArray<Audit.AuditRecord>
  readonly entries: ReadonlyArray<Entry>
  /** How often the store of resumptions gave no answer to a claim: then a run ends with a defect. */
  readonly unansweredClaims: number
  readonly pauses: ReadonlyArray<Waited>
  /** Names of the spans that were not ended. */
  readonly open: ReadonlyArray<string>
  readonly interrupted: boolean
}

/** How a program is run. */
export interface Options {
  readonly streaming?: boolean | undefined
  /** The operation before which the first run is interrupted. */
  readonly interruptAt?: number | undefined
}

const storeError = new KeyValueStore.KeyValueStoreError({ method: "drawn", message: "The store is not there" })

interface Ledger {
  readonly layer: Layer.Layer<IdempotencyLedger.IdempotencyLedger>
  readonly all: () => ReadonlyArray<Entry>
}

const entryOf = ({ callId, outcome, tool }: { callId: string; tool: string; outcome?: unknown }): Entry => ({
  callId,
  tool,
  finished: outcome !== undefined
})

/** A ledger over a store of texts, which can only be read and written. */
const textLedger = ({ store }: Program): Ledger => {
  const entries = new Map<string, string>()
  const operation = faulty("ledger", store)
  const at = <A>(change: () => A) => operation(Effect.sync(change), () => storeError)
  const texts = KeyValueStore.makeStringOnly({
    get: (key: string) => at(() => entries.get(key)),
    set: (key: string, value: string) => at(() => void entries.set(key, value)),
    remove: (key: string) => at(() => void entries.delete(key)),
    clear: Effect.sync(() => entries.clear()),
    size: Effect.sync(() => entries.size)
  } as never)
  return {
    layer: Layer.provide(
      IdempotencyLedger.layerKeyValueStore(),
      Layer.succeed(KeyValueStore.KeyValueStore, texts)
    ),
    all: () => [...entries.values()].map((text) => entryOf(JSON.parse(text)))
  }
}

/** The stores of a program, which fail as it says. */
const storesOf = (program: Program) => {
  const shared = new SharedStores()
  const ledger: Ledger = program.ledger === "texts"
    ? textLedger(program)
    : { layer: shared.layerLedger(program.store), all: () => shared.all().map(entryOf) }
  return {
    all: ledger.all,
    unansweredClaims: () => shared.unansweredClaims,
    layer: Layer.merge(ledger.layer, shared.layerResumptions(program.store))
  }
}

/** A person who decides as the program says, and approves after that. */
const person = (program: Program, onWaited: (millis: number) => void) => {
  let nth = 0
  const sleep = (millis: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (start) =>
      Effect.onExit(
        Effect.sleep(millis),
        () => Effect.map(Clock.currentTimeMillis, (end) => onWaited(end - start))
      ))
  return Layer.succeed(Approver, {
    decide: (pending) =>
      Effect.gen(function*() {
        const decisions: Array<Approval.Decision> = []
        for (const call of pending) {
          switch (program.decisions[nth++] ?? "approve") {
            case "later":
              break
            case "reject":
              decisions.push(Approval.reject(call, "no"))
              break
            case "edit":
              decisions.push(Approval.edit(call, { order: "edited" }))
              break
            case "late": {
              const now = yield* Clock.currentTimeMillis
              yield* sleep(Math.max(0, call.expiresAt + 1 - now))
              decisions.push(Approval.approve(call))
              break
            }
            default:
              decisions.push(Approval.approve(call))
          }
        }
        return decisions
      })
  })
}

const observer = (program: Program): Effect.Effect<void> =>
  program.observers === "die"
    ? Effect.die(new Error("injected"))
    : program.observers === "hang"
    ? Effect.never
    : Effect.void

/** Runs a program. Does not fail: what went wrong is in what was observed. */
// oxlint-disable-next-line max-lines-per-function -- one program is run, cut off and gone on with: the parts share what was seen
export const observe = (program: Program, options?: Options): Effect.Effect<Observed> =>
  // oxlint-disable-next-line max-lines-per-function -- one program is run, cut off and gone on with: the parts share what was seen
  Effect.suspend(() => {
    const world = new World()
    const events: Array<AgentEvent.AgentEvent> = []
    const audit: Array<Audit.AuditRecord> = []
    const pauses: Array<Waited> = []
    const parts: Array<Part> = []
    const { all, layer: stores, unansweredClaims } = storesOf(program)
    let agents = 0
    let requests = 0
    let waited = 0
    let watching = false
    const listener = (event: AgentEvent.AgentEvent) =>
      Effect.suspend(() => {
        events.push(event)
        if (event._tag === "AgentStarted" || event._tag === "RunStarted") agents++
        // Listeners fail in the middle of a run, so that its beginning and its end are seen.
        watching ||= event._tag === "ToolCallStarted"
        return watching && event._tag === "ToolAttempt" ? observer(program) : Effect.void
      })
    const progress = { events: () => events.length, agents: () => agents, requests: () => requests }
    const first = build(program, world, progress)
    const services = ScriptedModel.layer((request, index) => {
      requests++
      return first.model(request, index)
    }).pipe(Layer.provideMerge(Layer.mergeAll(
      TestTracer.layer,
      Logger.layer([]),
      AgentEvent.listen(listener),
      person(program, (millis) => {
        waited += millis
      }),
      Audit.layer((record) => Effect.sync(() => void audit.push(record))),
      Approval.layerKey(Redacted.make("a key for programs of thirty-two bytes or more")),
      stores
    )))

    const part = (context: Context.Context<never>, nth: number, resumed?: Pause) =>
      Effect.gen(function*() {
        const before = parts.at(-1)?.record?.transcript
        const { agent } = nth === 0 ? first : build(program, world, progress, before)
        const from = [events.length, requests] as const
        const waitedBefore = waited
        let record: RunRecord.RunRecord | undefined
        const run = runToEnd(agent, "Do it", {
          streaming: options?.streaming,
          from: resumed,
          onRecord: (ended) => {
            record = ended
          },
          onPause: (pause) => pauses.push({ ...pause, after: events.length, requests })
        }).pipe(
          Effect.provideContext(context as Context.Context<LanguageModel.LanguageModel | Approver>),
          Random.withSeed(parts.length + 1)
        )
        const ended = yield* VirtualTime.run(run as Effect.Effect<unknown, unknown>, {
          limit: program.decisions.includes("late") ? Infinity : undefined,
          order: program.order === 0 ? undefined : program.order,
          steps: 50_000,
          identity: parts.length,
          ...(resumed !== undefined
            ? { startAt: parts.reduce((sum, { elapsed }) => sum + elapsed, 0) }
            : nth === 0
            ? { interruptAt: options?.interruptAt }
            : undefined)
        })
        parts.push({
          exit: ended.exit,
          record: record ?? (Exit.isFailure(ended.exit)
            ? Option.getOrUndefined(RunRecord.fromCause(ended.exit.cause))
            : undefined),
          elapsed: ended.elapsed,
          waited: waited - waitedBefore,
          stopped: ended.stopped,
          fibers: ended.fibers,
          operations: ended.operations,
          events: [from[0], events.length],
          requests: [from[1], requests],
          ...(resumed === undefined ? undefined : { resumed: true })
        })
        return ended
      })

    return Effect.scoped(Effect.flatMap(Layer.build(services), (context) =>
      Effect.gen(function*() {
        for (let nth = 0; nth < program.runs; nth++) {
          const { exit, stopped } = yield* part(context as Context.Context<never>, nth)
          const isInterrupted = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
          const pause = pauses.at(-1)
          if (program.again && stopped === undefined && nth === 0 && isInterrupted && pause !== undefined) {
            yield* part(context as Context.Context<never>, nth, pause)
          }
          if (stopped !== undefined || isInterrupted) break
        }
        const spans = yield* Context.get(context, TestTracer.TestTracer).spans
        return {
          program,
          tools: first.tools,
          parts,
          events,
          requests: yield* Context.get(context, ScriptedModel.ScriptedModel).requests,
          deeds: world.deeds,
          undone: world.undone,
          audit,
          entries: all(),
          unansweredClaims: unansweredClaims(),
          pauses,
          open: spans.filter(({ status }) => status._tag === "Started").map(({ name }) => name),
          interrupted: options?.interruptAt !== undefined
        }
      })))
  })
