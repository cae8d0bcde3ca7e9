/** Runs a program once, in virtual time, and observes everything about it. */
import { Cause, Context, Effect, Exit, Layer, Logger, Option, Random } from "effect"
import type { LanguageModel, Prompt } from "effect/ai"
import { AgentEvent, Audit, Conversation, RunRecord, StoreTimeout } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import * as TestTracer from "../../TestTracer.ts"
import { type Approver, type Pause, run as runToEnd } from "../faults/approver.ts"
import { snapshotKey } from "../simulation/snapshotKey.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import type { Asked } from "./asked.ts"
import { build, type Built } from "./build.ts"
import { Chat, type Turn } from "./chat.ts"
import type { Program } from "./program.ts"
import { type Entry, observer, person, storesOf } from "./surroundings.ts"
import { type Deed, type Undone, World } from "./world.ts"

/** One run of the conversation; of a chat, a message or a decision. */
export interface Part {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly record: RunRecord.RunRecord | undefined
  readonly elapsed: number
  readonly waited: number
  readonly stopped: VirtualTime.Ended<unknown, unknown>["stopped"]
  readonly fibers: number
  readonly operations: number
  /** Start of its events, requests and effects. */
  readonly events: readonly [from: number, to: number]
  readonly requests: readonly [from: number, to: number]
  /** True if it resumes the pause of the part before, which was interrupted during its resumption. */
  readonly resumed?: true | undefined
  /** Its content in a chat, and whether a run waited in the thread before it, if no other event is simultaneous. */
  readonly turn?: Pick<Turn, "says" | "waiting"> | undefined
}

/** A question, and the number of events and requests before the run resumed. */
export interface Waited extends Asked {
  readonly after: number
  readonly requests: number
}

/**
 * Everything that can be observed of a program.
 *
 * @category models
 * @since 0.2.0
 */
export interface Observed {
  readonly program: Program
  readonly tools: Built["tools"]
  readonly parts: ReadonlyArray<Part>
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly requests: ReadonlyArray<ScriptedModel.Request>
  readonly deeds: ReadonlyArray<Deed>
  /** Compensated calls, including failed compensations. */
  readonly undone: ReadonlyArray<Undone>
  readonly audit: ReadonlyArray<Audit.AuditRecord>
  readonly entries: ReadonlyArray<Entry>
  /** Number of unanswered claims of the store of resumptions: a run ends with a defect then. */
  readonly unansweredClaims: number
  readonly pauses: ReadonlyArray<Waited>
  /** Names of the spans that were not ended. */
  readonly open: ReadonlyArray<string>
  readonly interrupted: boolean
  /** The model's prompt of a chat in another turn; a failure, if no other can start. */
  readonly left?: Exit.Exit<Prompt.Prompt, unknown> | undefined
}

/** Options of a program's run. */
export interface Options {
  readonly streaming?: boolean | undefined
  /** The operation before which the first run is interrupted; of a chat, the operation of all its runs before which one is. */
  readonly interruptAt?: number | undefined
}

/**
 * Runs a program. Does not fail: the observation contains the faults.
 *
 * @category running
 * @since 0.2.0
 */
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
    const onAsked = (asked: Asked) => {
      pauses.push({ ...asked, after: events.length, requests })
    }
    const progress = { events: () => events.length, agents: () => agents, requests: () => requests, onAsked }
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
      snapshotKey,
      Conversation.layerMemory,
      stores
    )))

    const timeUsed = () => parts.reduce((sum, { elapsed }) => sum + elapsed, 0)

    /** Runs one part in its time. */
    const inTime = <A>(
      context: Context.Context<never>,
      run: Effect.Effect<A, unknown, any>,
      more: Pick<VirtualTime.Options, "startAt" | "interruptAt">
    ) =>
      VirtualTime.run(
        run.pipe(
          Effect.provideContext(context as Context.Context<LanguageModel.LanguageModel | Approver>),
          Random.withSeed(parts.length + 1)
        ) as Effect.Effect<A, unknown>,
        {
          limit: program.decisions.includes("late") ? Infinity : undefined,
          // A store's late answer is released in the background, within the time of one more operation.
          settle: program.store.some(({ fault }) => fault === "hangs")
            ? StoreTimeout.CurrentStoreTimeout.defaultValue()
            : undefined,
          order: program.order === 0 ? undefined : program.order,
          steps: 50_000,
          identity: parts.length,
          ...more
        }
      )

    const recordOf = (exit: Exit.Exit<unknown, unknown>) =>
      Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined

    const part = (context: Context.Context<never>, nth: number, resumed?: Asked) =>
      Effect.gen(function*() {
        const before = parts.at(-1)?.record?.transcript
        const { agent } = nth === 0 ? first : build(program, world, progress, before)
        const from = [events.length, requests] as const
        const waitedBefore = waited
        let record: RunRecord.RunRecord | undefined
        const run = runToEnd(agent, "Do it", {
          streaming: options?.streaming,
          from: resumed as Pause | undefined,
          onRecord: (ended) => {
            record = ended
          },
          onPause: onAsked
        })
        const ended = yield* inTime(
          context,
          run,
          resumed !== undefined
            ? { startAt: timeUsed() }
            : nth === 0
            ? { interruptAt: options?.interruptAt }
            : {}
        )
        parts.push({
          exit: ended.exit,
          record: record ?? recordOf(ended.exit),
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

    /** Plays a chat; returns the model's prompt of it in another turn. */
    const chat = (context: Context.Context<never>) =>
      Effect.gen(function*() {
        const { agent } = first
        const playing = new Chat({
          program,
          agent,
          streaming: options?.streaming ?? false,
          events: progress.events,
          requests: progress.requests,
          onPause: onAsked
        })
        let operations = 0
        for (const step of ["say", ...program.chat] as const) {
          const turns: Array<Turn> = []
          const waitedBefore = waited
          const interruptAt = (options?.interruptAt ?? 0) - operations
          const ended = yield* inTime(context, playing.step(step, (turn) => turns.push(turn)), {
            startAt: timeUsed(),
            ...(interruptAt > 0 ? { interruptAt } : undefined)
          })
          operations += ended.operations
          // Turns that did not start are reported behind the one that did.
          const began = turns.toSorted((a, b) => Number(a.record === undefined) - Number(b.record === undefined))
          for (const [nth, { says, waiting, ...turn }] of began.entries()) {
            parts.push({
              ...turn,
              record: turn.record ?? recordOf(turn.exit),
              elapsed: nth === 0 ? ended.elapsed : 0,
              waited: nth === 0 ? waited - waitedBefore : 0,
              stopped: nth === 0 ? ended.stopped : undefined,
              fibers: nth === 0 ? ended.fibers : 0,
              operations: nth === 0 ? ended.operations : 0,
              turn: { says, waiting }
            })
          }
          if (ended.stopped !== undefined) return undefined
        }
        return (yield* inTime(context, playing.left, { startAt: timeUsed() })).exit
      })

    const runs = (context: Context.Context<never>) =>
      Effect.gen(function*() {
        for (let nth = 0; nth < program.runs; nth++) {
          const { exit, stopped } = yield* part(context, nth)
          const isInterrupted = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
          const pause = pauses.at(-1)
          if (program.again && stopped === undefined && nth === 0 && isInterrupted && pause?.snapshot !== undefined) {
            yield* part(context, nth, pause)
          }
          if (stopped !== undefined || isInterrupted) break
        }
        return undefined
      })

    return Effect.scoped(Effect.flatMap(Layer.build(services), (context) =>
      Effect.gen(function*() {
        const left = yield* (program.chat.length > 0 ? chat : runs)(context as Context.Context<never>)
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
          interrupted: options?.interruptAt !== undefined,
          left
        }
      })))
  })
