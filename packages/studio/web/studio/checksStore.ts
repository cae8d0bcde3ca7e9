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

export interface LedgerEntry {
  readonly id: string
  readonly tool: string
  readonly callId: string
  readonly startedAt: number
  readonly leasedUntil: number
}

/** Entries of the idempotency ledger whose outcome is unknown, and that no run of the list names. */
export class LedgerStore extends Polled {
  entries: ReadonlyArray<LedgerEntry> = []

  constructor() {
    super(refreshAfter)
  }

  protected async load(signal: AbortSignal): Promise<void> {
    this.entries = (await get<{ readonly entries: ReadonlyArray<LedgerEntry> }>("operator/ledger", signal)).entries
  }
}

export const useLedger = (): LedgerStore => useStore(useMemo(() => new LedgerStore(), []))

/** The outcomes of a run, those that were checked as well. */
export const useOutcomesOf = (runId: string): ChecksStore =>
  useStore(useMemo(() => new ChecksStore(`operator/runs/${encodeURIComponent(runId)}/outcomes`), [runId]))
