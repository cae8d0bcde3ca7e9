/** Feed of a run: its events as they arrive, their timeline, and the run's state. */
import { useMemo } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import * as RunTimeline from "@recourse/server/RunTimeline"
import { address, get, RequestFailed } from "../shared/api.ts"
import { Store, useStore } from "./store.ts"

export type FeedState = "connecting" | "live" | "ended" | "broken"

/** Events that change the state of a run. */
const turning = new Set(["RunStarted", "RunFinished"])

/** The events of a run. */
export class RunFeed extends Store {
  readonly events: Array<RunTimeline.Event> = []
  readonly timeline = RunTimeline.make()
  state: FeedState = "connecting"
  info: RunInfo | undefined
  problem: string | undefined
  /** The server has no run of the id, or none that the reader may see. */
  isUnknown = false
  private readonly runId: string
  private source: EventSource | undefined
  private asking: AbortController | undefined

  constructor(runId: string) {
    super()
    this.runId = runId
  }

  /** Requests the state of the run. */
  readonly refresh = (): void => {
    this.asking?.abort()
    const asking = this.asking = new AbortController()
    get<RunInfo>(`operator/runs/${encodeURIComponent(this.runId)}`, asking.signal).then((info) => {
      this.info = info
      this.problem = undefined
      this.changed()
    }, (error: Error) => {
      if (asking.signal.aborted) return
      this.isUnknown = error instanceof RequestFailed && error.status === 404
      this.problem = error.message
      this.changed()
    })
  }

  protected start(): void {
    this.refresh()
    if (this.state === "ended") return
    const source = this.source = new EventSource(address(`operator/runs/${encodeURIComponent(this.runId)}/events`))
    source.addEventListener("open", () => this.is("live"))
    source.addEventListener("message", ({ data, lastEventId }: MessageEvent<string>) => {
      this.add(JSON.parse(data) as RunTimeline.Event, Number(lastEventId) - 1)
    })
    source.addEventListener("end", () => {
      source.close()
      this.is("ended")
      this.refresh()
    })
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) this.is("broken")
    })
  }

  protected stop(): void {
    this.source?.close()
    this.asking?.abort()
  }

  /** A reconnecting reader receives repeated events: the number identifies them. */
  private add(event: RunTimeline.Event, number: number): void {
    if (number !== this.events.length) return
    this.events.push(event)
    this.timeline.next(event, number)
    if (turning.has(event._tag)) this.refresh()
    this.changed()
  }

  private is(state: FeedState): void {
    this.state = state
    this.changed()
  }
}

/** The feed of a run, as long as the view exists. */
export const useFeed = (runId: string): RunFeed => useStore(useMemo(() => new RunFeed(runId), [runId]))
