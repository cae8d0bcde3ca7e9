/** The calls that a person has to check, in all runs. */
import { useMemo } from "react"
import type { OpenOutcome } from "@recourse/server/RunIndex"
import { get } from "../shared/api.ts"
import { Polled, useStore } from "./store.ts"

const refreshAfter = 3000

export class ChecksStore extends Polled {
  outcomes: ReadonlyArray<OpenOutcome> = []
  private readonly path: string

  constructor(path: string) {
    super(refreshAfter)
    this.path = path
  }

  protected async load(signal: AbortSignal): Promise<void> {
    this.outcomes = (await get<{ readonly outcomes: ReadonlyArray<OpenOutcome> }>(this.path, signal)).outcomes
  }
}

export const useChecks = (): ChecksStore => useStore(useMemo(() => new ChecksStore("operator/outcomes"), []))

/** The outcomes of a run, those that were checked as well. */
export const useOutcomesOf = (runId: string): ChecksStore =>
  useStore(useMemo(() => new ChecksStore(`operator/runs/${encodeURIComponent(runId)}/outcomes`), [runId]))
