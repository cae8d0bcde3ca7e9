/** The run that has started another one. A compensation is stored with the run of its write as parent, and is no child of it. */
import * as Compensation from "@recourse/core/Compensation"
import type { StoredRun } from "./store.ts"

/** The id of the run that has started a run, if one has: the run is cancelled with that one. */
export const startedBy = ({ agent, parent }: StoredRun): string | undefined =>
  Compensation.isName(agent) ? undefined : parent
