/** Run of a program: its parts one by one, each in its own time, with the context that they share. */
import { Cause, type Context, Effect, Exit, Option, Random } from "effect"
import type { LanguageModel, Prompt } from "effect/ai"
import { RunRecord, StoreTimeout } from "@recourse/core"
import { type Approver, type Pause, run as runToEnd } from "../faults/approver.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import type { Asked } from "./asked.ts"
import { build, type Built } from "./build.ts"
import { Chat, type Turn } from "./chat.ts"
import type { Part } from "./observed.ts"
import type { Program } from "./program.ts"
import type { ProgramRecorder } from "./programRecorder.ts"
import type { World } from "./world.ts"

/**
 * Options of a program's run.
 *
 * @category options
 * @since 0.2.0
 */
export interface ObserveOptions {
  /** True if models stream their answers. Default: false. */
  readonly streaming?: boolean | undefined
  /** The operation before which the first run is interrupted; of a chat, the operation of all its runs before which one is. */
  readonly interruptAt?: number | undefined
}

/** A program to run, and its surroundings. */
export interface Scene {
  readonly program: Program
  readonly world: World
  readonly recorder: ProgramRecorder
  /** The program, built for its first run. */
  readonly first: Built
  readonly context: Context.Context<never>
}

const recordOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined

/** Options of the time of a program. */
const timeOf = ({ decisions, order, store }: Program): VirtualTime.Options => ({
  limit: decisions.includes("late") ? Infinity : undefined,
  // A store's late answer is released in the background, within the time of one more operation.
  settle: store.some(({ fault }) => fault === "hangs")
    ? StoreTimeout.CurrentStoreTimeout.defaultValue()
    : undefined,
  order: order === 0 ? undefined : order,
  steps: 50_000
})

/** One program in execution. */
export class ProgramRun {
  readonly parts: Array<Part> = []
  private readonly scene: Scene
  private readonly options: ObserveOptions

  constructor(scene: Scene, options: ObserveOptions) {
    this.scene = scene
    this.options = options
  }

  /** Runs the program as often as it says, and resumes its first run if that is interrupted in a pause. */
  runAll(): Effect.Effect<undefined> {
    const { program, recorder: { pauses } } = this.scene
    return Effect.gen({ self: this }, function*() {
      for (let nth = 0; nth < program.runs; nth++) {
        const { exit, stopped } = yield* this.runPart(nth)
        const isInterrupted = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
        const pause = pauses.at(-1)
        if (program.again && stopped === undefined && nth === 0 && isInterrupted && pause?.snapshot !== undefined) {
          yield* this.runPart(nth, pause)
        }
        if (stopped !== undefined || isInterrupted) break
      }
      return undefined
    })
  }

  /** Plays the chat of the program; returns the model's prompt of it in another turn. */
  playChat(): Effect.Effect<Exit.Exit<Prompt.Prompt, unknown> | undefined> {
    const { first: { agent }, program, recorder } = this.scene
    const { interruptAt = 0, streaming = false } = this.options
    return Effect.gen({ self: this }, function*() {
      const { events, requests } = recorder.progress
      const chat = new Chat({ program, agent, streaming, events, requests, onPause: recorder.onAsked })
      let operations = 0
      for (const step of ["say", ...program.chat] as const) {
        const turns: Array<Turn> = []
        const { waited } = recorder.mark
        const remaining = interruptAt - operations
        const ended = yield* this.inTime(chat.step(step, (turn) => turns.push(turn)), {
          startAt: this.timeUsed,
          ...(remaining > 0 ? { interruptAt: remaining } : undefined)
        })
        operations += ended.operations
        this.addTurns(turns, ended, recorder.mark.waited - waited)
        if (ended.stopped !== undefined) return undefined
      }
      return (yield* this.inTime(chat.left, { startAt: this.timeUsed })).exit
    })
  }

  private get timeUsed(): number {
    return this.parts.reduce((sum, { elapsed }) => sum + elapsed, 0)
  }

  /** Runs one part in its time. */
  private inTime<A>(
    run: Effect.Effect<A, unknown, any>,
    more: Pick<VirtualTime.Options, "startAt" | "interruptAt">
  ) {
    const { context, program } = this.scene
    const provided = run.pipe(
      Effect.provideContext(context as Context.Context<LanguageModel.LanguageModel | Approver>),
      Random.withSeed(this.parts.length + 1)
    ) as Effect.Effect<A, unknown>
    return VirtualTime.run(provided, { ...timeOf(program), identity: this.parts.length, ...more })
  }

  /** Runs the program once from its start, or from a pause. */
  private runPart(nth: number, resumed?: Asked) {
    const { first, program, recorder, world } = this.scene
    return Effect.gen({ self: this }, function*() {
      const before = this.parts.at(-1)?.record?.transcript
      const { agent } = nth === 0 ? first : build(program, world, recorder.progress, before)
      const from = recorder.mark
      let record: RunRecord.RunRecord | undefined
      const run = runToEnd(agent, "Do it", {
        streaming: this.options.streaming,
        from: resumed as Pause | undefined,
        onRecord: (ended) => {
          record = ended
        },
        onPause: recorder.onAsked
      })
      const { interruptAt } = this.options
      const ended = yield* this.inTime(
        run,
        resumed !== undefined ? { startAt: this.timeUsed } : nth === 0 ? { interruptAt } : {}
      )
      const to = recorder.mark
      this.parts.push({
        ...endOf(ended),
        record: record ?? recordOf(ended.exit),
        waited: to.waited - from.waited,
        events: [from.events, to.events],
        requests: [from.requests, to.requests],
        ...(resumed === undefined ? undefined : { resumed: true })
      })
      return ended
    })
  }

  /** Adds a part for each turn of a step; the first that has started has the step's time and operations. */
  private addTurns(turns: ReadonlyArray<Turn>, ended: VirtualTime.Ended<unknown, unknown>, waited: number): void {
    // Turns that did not start are reported behind the one that did.
    const began = turns.toSorted((a, b) => Number(a.record === undefined) - Number(b.record === undefined))
    for (const [nth, { says, waiting, ...turn }] of began.entries()) {
      const time = nth === 0
        ? { ...endOf(ended), waited }
        : { elapsed: 0, waited: 0, stopped: undefined, fibers: 0, operations: 0 }
      this.parts.push({ ...time, ...turn, record: turn.record ?? recordOf(turn.exit), turn: { says, waiting } })
    }
  }
}

const endOf = <A>({ elapsed, exit, fibers, operations, stopped }: VirtualTime.Ended<A, unknown>) => ({
  elapsed,
  exit,
  fibers,
  operations,
  stopped
})
