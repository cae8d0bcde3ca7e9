/** Runs of a travel agency, with and without findings. */

import type { Simulation } from "@recourse/testing"

export type Run = Simulation.Observation

/** The events of a run, with some of them changed, or left out. */
export const events = (run: Run, change: (event: Run["events"][number]) => object | undefined): Partial<Run> => ({
  events: run.events.flatMap((event) => {
    const changed = change(event)
    return changed === undefined ? [] : [changed as Run["events"][number]]
  })
})

export const without = (tag: string) => (run: Run) => events(run, (event) => event._tag === tag ? undefined : event)
