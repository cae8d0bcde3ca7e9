import type { Profile } from "./profile.ts"
import type { WorkloadResult } from "./report.ts"

/** Machine, date and commit of the results. */
export interface Origin {
  readonly date: string
  readonly commit: string
  readonly node: string
  readonly cpu: string
  readonly cpus: number
  /** Processes that ran or waited to run on the machine before the first measurement, on average of a minute. */
  readonly load: number
}

export interface Results extends Origin {
  readonly profiles: ReadonlyArray<Profile>
  readonly measured: ReadonlyArray<WorkloadResult>
}
