/** The writes of a run that has ended. */
import { useMemo } from "react"
import type { RunWrite } from "@recourse/core/Compensation"
import { get, request, RequestFailed } from "../shared/api.ts"
import { Polled, useStore } from "./store.ts"

const refreshAfter = 4000

/** Longer than one compensation may take by default. */
const patience = 120_000

export class WritesStore extends Polled {
  /** `undefined` until they are read, and while the run has not ended. */
  writes: ReadonlyArray<RunWrite> | undefined
  isActive = false
  private readonly path: string

  constructor(runId: string) {
    super(refreshAfter)
    this.path = `operator/runs/${encodeURIComponent(runId)}`
  }

  protected async load(signal: AbortSignal): Promise<void> {
    try {
      this.writes = (await get<{ readonly writes: ReadonlyArray<RunWrite> }>(`${this.path}/writes`, signal)).writes
      this.isActive = false
    } catch (error) {
      this.isActive = error instanceof RequestFailed && error.status === 409
      if (!this.isActive) throw error
    }
  }

  /** Compensates these writes, or all. */
  readonly compensate = async (writes: ReadonlyArray<string> | undefined): Promise<void> => {
    const body = writes === undefined ? {} : { writes }
    await request("POST", `${this.path}/compensations`, { body, patience })
    this.refresh()
  }
}

export const useWrites = (runId: string): WritesStore => useStore(useMemo(() => new WritesStore(runId), [runId]))
