/** Replay: goes back to any event of a run, and on from there as it came. */
import { Button, IconButton } from "../shared/Button.tsx"
import { count } from "./format.ts"
import type { Replay } from "./replay.ts"

const speeds = [1, 4, 16, 64]

export const ReplayBar = ({ events, isEnded, replay }: {
  readonly events: number
  readonly isEnded: boolean
  readonly replay: Replay
}) => (
  <div className="replay" role="group" aria-label="Replay">
    <IconButton
      variant="quiet"
      size="small"
      icon={replay.isPlaying ? "stop" : "play"}
      label={replay.isPlaying ? "Pause the replay" : "Play the run again"}
      onClick={replay.isPlaying ? replay.pause : replay.play}
    />
    <input
      type="range"
      min={0}
      max={events}
      value={replay.position}
      aria-label="Event"
      aria-valuetext={`after event ${replay.position} of ${events}`}
      onChange={(event) => replay.seek(Number(event.target.value))}
    />
    <span className="position">{count(replay.position)} / {count(events)}</span>
    <select
      className="field small"
      aria-label="Speed"
      value={replay.speed}
      onChange={(event) => replay.setSpeed(Number(event.target.value))}
    >
      {speeds.map((speed) => <option key={speed} value={speed}>{speed}×</option>)}
    </select>
    <Button
      size="small"
      onClick={replay.toLive}
      aria-pressed={replay.isLive}
    >
      {isEnded ? "End" : "Live"}
    </Button>
  </div>
)
