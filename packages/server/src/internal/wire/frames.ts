/**
 * Frames: what a wire makes of the events of a run, made once for all its readers. A log of frames begins with its first reader,
 * and is kept for a while behind its last one, as a page that is loaded again comes back.
 */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import type * as Pull from "effect/Pull"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { RunsService } from "@recourse/core/Runs"
import { questionId } from "../chat/questions.ts"
import { beat, open } from "../http/sse.ts"
import { Log } from "../runs/log.ts"

/** Turns the events of one run, in order, into the texts of a wire. */
export interface Mapper {
  readonly next: (event: AgentEvent, number: number) => ReadonlyArray<string>
  /** The end of a run whose events stop before theirs: the process that ran it is gone. */
  readonly cut: (at: number) => ReadonlyArray<string>
}

/** A wire: how it is named, and who maps the events of a run to it. */
export interface Wire {
  /** Two wires of one name map the same events to the same texts. */
  readonly name: string
  /** `questionOf` gives the id of a question about a call that waits. */
  readonly mapper: (questionOf: (callId: string) => string) => Mapper
}

/** What of a run a reader wants. */
export interface Wanted {
  readonly runId: string
  /** Only what was told behind so many pauses, up to the next one. Default: all, up to the pause that the run waits in. */
  readonly segment?: number | undefined
  /** Only events with this number or a later one. Default: 0. */
  readonly from?: number | undefined
  /** Goes on behind a pause, to the end of the run. */
  readonly untilOver?: boolean | undefined
}

/** What a response has besides the frames of the run. */
export interface Around {
  readonly before?: string | undefined
  readonly behind?: string | undefined
}

const encoder = new TextEncoder()

/** What one event is on a wire. */
interface Frame {
  readonly number: number
  readonly segment: number
  readonly text: string
  readonly ends: "pause" | "run" | undefined
}

class Key implements Equal.Equal {
  readonly runId: string
  readonly wire: Wire

  constructor(runId: string, wire: Wire) {
    this.runId = runId
    this.wire = wire
  }

  [Equal.symbol](that: unknown): boolean {
    return that instanceof Key && that.runId === this.runId && that.wire.name === this.wire.name
  }

  [Hash.symbol](): number {
    return Hash.string(`${this.runId} ${this.wire.name}`)
  }
}

const endOf = (event: AgentEvent): Frame["ends"] =>
  event._tag !== "RunFinished" ? undefined : event.outcome === "paused" ? "pause" : "run"

/** The frames of a server's runs. */
export class Frames {
  private readonly logs: RcMap.RcMap<Key, Log<Frame>>
  private readonly runs: RunsService

  private constructor(logs: RcMap.RcMap<Key, Log<Frame>>, runs: RunsService) {
    this.logs = logs
    this.runs = runs
  }

  /** `settled`: done when what a run said is stored. Its end is told then. */
  static make(
    runs: RunsService,
    settled: (runId: string) => Effect.Effect<void>,
    options: { readonly heartbeat: Duration.Duration; readonly keepFor: Duration.Input }
  ): Effect.Effect<Frames, never, Scope.Scope> {
    return Effect.gen(function*() {
      const open = new Set<Log<Frame>>()
      const logs: RcMap.RcMap<Key, Log<Frame>> = yield* RcMap.make({
        lookup: (key: Key) => {
          const log = new Log<Frame>()
          const kept = Effect.acquireRelease(
            Effect.sync(() => open.add(log)),
            () => Effect.sync(() => open.delete(log))
          )
          const mapped = Effect.onExit(
            Effect.suspend(() => map(runs, settled, key, log)),
            (exit) => {
              log.close(Exit.asVoid(exit))
              // Whoever comes next finds a log that begins anew.
              return Exit.isFailure(exit) ? RcMap.invalidate(logs, key) : Effect.void
            }
          )
          return Effect.as(Effect.andThen(kept, Effect.forkScoped(Effect.ignoreCause(mapped))), log)
        },
        idleTimeToLive: options.keepFor
      })
      const beats = Effect.sync(() => {
        for (const log of open) log.beat()
      })
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(options.heartbeat), beats)))
      return new Frames(logs, runs)
    })
  }

  /**
   * The frames of a run on a wire, and comments while nothing comes. Headers leave with the first piece, at once; what is there at
   * the same time leaves in one piece.
   */
  of(wire: Wire, wanted: Wanted, around: Around = {}): Stream.Stream<Uint8Array> {
    const log = RcMap.get(this.logs, new Key(wanted.runId, wire))
    return Stream.unwrap(Effect.map(log, (log) => Stream.fromPull(Effect.sync(() => this.reader(log, wanted, around)))))
  }

  private reader(
    log: Log<Frame>,
    { from = 0, runId, segment, untilOver = false }: Wanted,
    { behind = "", before = "" }: Around
  ): Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>> {
    let position = 0
    let isOpen = false
    let isOver = false
    /** Whether the reader has read everything behind this frame. */
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
    const read = (frames: Arr.NonEmptyReadonlyArray<Frame> | "beat") => {
      if (frames === "beat") return leave(beat)
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
      if (isOpen) return Effect.flatMap(log.next(position), read)
      isOpen = true
      return leave(open + before)
    })
    return pull
  }
}

/** Maps the events of a run into a log, as long as they come. */
const map = (
  runs: RunsService,
  settled: (runId: string) => Effect.Effect<void>,
  { runId, wire }: Key,
  log: Log<Frame>
): Effect.Effect<void> => {
  let segment = 0
  let isOver = false
  let at = 0
  let last = -1
  const mapper = wire.mapper((callId) => questionId({ runId, segment, callId }))
  const add = (event: AgentEvent, number: number): void => {
    at = Math.trunc(event.at)
    last = number
    const ends = endOf(event)
    isOver = ends === "run"
    log.append({ number, segment, text: mapper.next(event, number).join(""), ends })
    // A run that another process takes over starts again, in the same segment.
    if (ends === "pause") segment++
  }
  const told = Stream.runForEachArray(runs.events(runId), (events) => {
    const plain = events.findIndex(({ event }) => event._tag === "RunFinished")
    if (plain === -1) {
      for (const { event, number } of events) add(event, number)
      return Effect.void
    }
    return Effect.forEach(events, ({ event, number }) =>
      Effect.andThen(
        event._tag === "RunFinished" ? settled(runId) : Effect.void,
        Effect.sync(() => add(event, number))
      ), { discard: true })
  })
  const ended = Effect.sync(() => {
    if (isOver) return
    log.append({ number: last + 1, segment, text: mapper.cut(at).join(""), ends: "run" })
  })
  return Effect.orDie(Effect.andThen(told, ended))
}
