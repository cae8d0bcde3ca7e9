/** The calls that wait for a person, in all runs. */
import { useMemo } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import type { RunSummary } from "@recourse/server/RunIndex"
import { get } from "../shared/api.ts"
import { Polled, useStore } from "./store.ts"

export type Run = Pick<RunInfo, "runId" | "agent" | "owner"> & { readonly summary?: RunSummary }

export interface Waiting {
  readonly run: Run
  readonly call: RunInfo["pending"][number]
}

const refreshAfter = 2000

export class ApprovalsStore extends Polled {
  approvals: ReadonlyArray<Waiting> = []

  constructor() {
    super(refreshAfter)
  }

  protected async load(signal: AbortSignal): Promise<void> {
    this.approvals = (await get<{ readonly approvals: ReadonlyArray<Waiting> }>("operator/approvals", signal)).approvals
  }
}

export const useApprovals = (): ApprovalsStore => useStore(useMemo(() => new ApprovalsStore(), []))
