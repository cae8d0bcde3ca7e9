/** Replay: a run as it was after each of its events, at the pace at which they came. */
import { useEffect, useState } from "react"
import * as RunTimeline from "@recourse/server/RunTimeline"
import type { RunFeed } from "./runFeed.ts"

/** The longest time between two events of a replay, in milliseconds: long waits of a run are shortened. */
const longestGap = 2000

/** The shortest time between two steps of a replay: events of one frame come together. */
const frame = 16

/** The timeline at a past event: continues from its position, and restarts for an earlier event. */
class Past {
  private timeline = RunTimeline.make()

  at(events: ReadonlyArray<RunTimeline.Event>, position: number): RunTimeline.RunTimeline {
    if (this.timeline.count > position) this.timeline = RunTimeline.make()
    for (let number = this.timeline.count; number < position; number++) this.timeline.next(events[number]!, number)
    return this.timeline
  }
}

export interface Replay {
  /** Number of shown events. */
  readonly position: number
  /** True if all events are shown, including future ones. */
  readonly isLive: boolean
  readonly isPlaying: boolean
  readonly speed: number
  readonly timeline: RunTimeline.RunTimeline
  readonly seek: (position: number) => void
  readonly toLive: () => void
  readonly play: () => void
  readonly pause: () => void
  readonly setSpeed: (speed: number) => void
}

/** Wait until the next step, and the event at its end. */
const step = (events: ReadonlyArray<RunTimeline.Event>, position: number, speed: number) => {
  const next = events[position]!
  const gap = Math.min(Math.max(0, next.at - (events[position - 1]?.at ?? next.at)), longestGap) / speed
  let to = position + 1
  while (to < events.length && events[to]!.at - next.at < frame * speed) to++
  return { gap: Math.max(frame, gap), to }
}

export const useReplay = ({ events, timeline }: RunFeed): Replay => {
  const [position, setPosition] = useState<number>()
  const [isOn, setOn] = useState(false)
  const [speed, setSpeed] = useState(1)
  const [past] = useState(() => new Past())
  const isPlaying = isOn && position !== undefined && position < events.length

  useEffect(() => {
    if (!isPlaying) return
    const { gap, to } = step(events, position, speed)
    const timer = setTimeout(() => setPosition(to), gap)
    return () => clearTimeout(timer)
  }, [events, isPlaying, position, speed])

  return {
    position: position ?? events.length,
    isLive: position === undefined,
    isPlaying,
    speed,
    timeline: position === undefined ? timeline : past.at(events, position),
    seek: (position) => {
      setOn(false)
      setPosition(position)
    },
    toLive: () => {
      setOn(false)
      setPosition(undefined)
    },
    play: () => {
      if (position === undefined || position >= events.length) setPosition(0)
      setOn(true)
    },
    pause: () => setOn(false),
    setSpeed
  }
}
