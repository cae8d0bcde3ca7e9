/**
 * Frames: a wire's form of a run's events, made once for all its readers. A log of frames starts with its first reader,
 * and stays for a while behind its last one, because a reloaded page comes back.
 */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RunsService } from "@recourse/core/Runs"
import { beat, open } from "../http/sse.ts"
import { Log } from "../runs/log.ts"
import { type Frame, mapFrames } from "./mapFrames.ts"
import type { Wire } from "./wire.ts"

/** A reader's part of a run. */
export interface Wanted {
  readonly runId: string
  /** Only the events behind so many pauses, up to the next one. Default: all, up to the run's present pause. */
  readonly segment?: number | undefined
  /** Only events with this number or a later one. Default: 0. */
  readonly from?: number | undefined
  /** Continues behind a pause, to the end of the run. */
  readonly untilOver?: boolean | undefined
}

/** Parts of a response besides the frames of the run. */
export interface Around {
  readonly before?: string | undefined
  readonly behind?: string | undefined
}

const encoder = new TextEncoder()

/** Time limit of the last text of a response. */
const lastWords = Duration.seconds(1)

/** Frames of one run on one wire, and how many read them. */
interface StoredFrames {
  readonly log: Log<Frame>
  readonly fiber: Fiber.Fiber<void>
  readers: number
  /** When the last reader went, by the beats of the server. */
  leftAt: number
}

/** Options of stored frames. */
export interface KeepOptions {
  /** Readers without an event for so long receive a comment. */
  readonly heartbeat: Duration.Duration
  /** Unread frames are kept for so long, at least. */
  readonly keepFor: Duration.Duration
}

/** The frames of a server's runs. */
export class Frames {
  private readonly stored = new Map<string, StoredFrames>()
  private readonly runs: RunsService
  private readonly settled: (runId: string) => Effect.Effect<void>
  private readonly scope: Scope.Scope
  private sweeps = 0
  private readers = 0
  private isClosing = false
  /** Wakes the caller that waits for the last reader to leave. */
  private onIdle: (() => void) | undefined

  private constructor(runs: RunsService, settled: (runId: string) => Effect.Effect<void>, scope: Scope.Scope) {
    this.runs = runs
    this.settled = settled
    this.scope = scope
  }

  /** `settled`: done when the messages of a run are stored. Its end is emitted then. */
  static make(
    runs: RunsService,
    settled: (runId: string) => Effect.Effect<void>,
    { heartbeat, keepFor }: KeepOptions
  ): Effect.Effect<Frames, never, Scope.Scope> {
    return Effect.gen(function*() {
      const frames = new Frames(runs, settled, yield* Effect.scope)
      const every = (time: Duration.Duration, work: () => Effect.Effect<void>) =>
        Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(time), Effect.suspend(work))))
      yield* every(heartbeat, () => {
        for (const { log } of frames.stored.values()) log.beat()
        return Effect.void
      })
      yield* every(keepFor, () => frames.sweep())
      return frames
    })
  }

  /**
   * The frames of a run on a wire, and comments in between. Headers are sent with the first piece, at once;
   * simultaneous frames are sent in one piece.
   */
  of(wire: Wire, wanted: Wanted, around: Around = {}): Stream.Stream<Uint8Array> {
    return Stream.fromChannel(
      Channel.fromTransform((_, scope) =>
        Effect.uninterruptible(Effect.flatMap(this.take(wanted.runId, wire), (stored) =>
          Effect.as(
            Scope.addFinalizer(scope, Effect.sync(() => this.leave(stored))),
            this.reader(stored.log, wire, wanted, around)
          )))
      )
    )
  }

  /** The stored frames, or new ones. */
  private take(runId: string, wire: Wire): Effect.Effect<StoredFrames> {
    return Effect.suspend(() => {
      this.readers++
      const key = `${runId} ${wire.name}`
      const known = this.stored.get(key)
      if (known !== undefined) {
        known.readers++
        return Effect.succeed(known)
      }
      const log = new Log<Frame>()
      const mapped = Effect.onExit(mapFrames(this.runs, this.settled, runId, wire, log), (exit) =>
        Effect.sync(() => {
          log.close(Exit.asVoid(exit))
          // The next reader gets a log that starts again.
          if (Exit.isFailure(exit) && this.stored.get(key)?.log === log) this.stored.delete(key)
        }))
      return Effect.map(Effect.forkIn(Effect.ignoreCause(mapped), this.scope), (fiber) => {
        const made: StoredFrames = { log, fiber, readers: 1, leftAt: 0 }
        this.stored.set(key, made)
        return made
      })
    })
  }

  private leave(stored: StoredFrames): void {
    stored.readers--
    stored.leftAt = this.sweeps
    if (--this.readers === 0) this.onIdle?.()
  }

  /** Done when the last reader has left, or when the time has passed. */
  private idle(within: Duration.Duration): Effect.Effect<unknown> {
    const idle = Effect.callback<void>((resume) => {
      if (this.readers === 0) return resume(Effect.void)
      this.onIdle = () => resume(Effect.void)
    })
    return Effect.timeoutOption(idle, within)
  }

  /** Lets responses end within the time; then the others ask their readers to reconnect, and end. */
  close(within: Duration.Duration): Effect.Effect<void> {
    const restart = Effect.sync(() => {
      this.isClosing = true
      for (const { log } of this.stored.values()) log.beat()
    })
    return Effect.andThen(Effect.andThen(this.idle(within), restart), Effect.asVoid(this.idle(lastWords)))
  }

  /** Deletes logs without a reader since the sweep before the last. */
  private sweep(): Effect.Effect<void> {
    this.sweeps++
    const idle: Array<Fiber.Fiber<void>> = []
    for (const [key, { fiber, leftAt, readers }] of this.stored) {
      if (readers > 0 || this.sweeps - leftAt < 2) continue
      this.stored.delete(key)
      idle.push(fiber)
    }
    return Fiber.interruptAll(idle)
  }

  private reader(
    log: Log<Frame>,
    wire: Wire,
    { from = 0, runId, segment, untilOver = false }: Wanted,
    { behind = "", before = "" }: Around
  ): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>> {
    let position = 0
    let isOpen = false
    let isOver = false
    /** True if the reader has read everything behind this frame. */
    const isLast = (frame: Frame): boolean | "if waiting" =>
      frame.ends === "run"
        ? true
        : frame.ends === undefined || untilOver
        ? false
        : segment === undefined
        ? "if waiting"
        : frame.segment >= segment
    const waits = Effect.match(this.runs.get(runId), {
      onFailure: () => true,
      onSuccess: ({ status }) => status === "waiting"
    })
    const leave = (text: string): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>> => {
      const all = isOver ? text + behind : text
      return all === "" ? pull : Effect.succeed([encoder.encode(all)] as const)
    }
    /** No frame follows this text: the response is not complete. */
    const restart = (): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>> => {
      isOver = true
      return Effect.succeed([encoder.encode(wire.restart)])
    }
    const read = (
      frames: Arr.NonEmptyReadonlyArray<Frame> | "beat"
    ): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>> => {
      if (frames === "beat") return this.isClosing ? restart() : leave(beat)
      let text = ""
      for (const frame of frames) {
        position++
        if (frame.number >= from && (segment === undefined || frame.segment >= segment)) text += frame.text
        const last = isLast(frame)
        if (last === "if waiting") {
          return Effect.flatMap(waits, (waits) => {
            isOver = waits
            return leave(text)
          })
        }
        isOver = last
        if (isOver) break
      }
      return leave(text)
    }
    const pull: Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>> = Effect.suspend(() => {
      if (isOver) return Cause.done()
      if (isOpen) {
        return this.isClosing && !log.has(position) ? restart() : log.next(position, read)
      }
      isOpen = true
      return leave(open + before)
    })
    return pull
  }
}
