/** Steps of runs in SQL. */
import type { Parts } from "./sqlParts.ts"
import { sqlStepReads } from "./sqlStepReads.ts"
import { sqlStepWrites } from "./sqlStepWrites.ts"

/** The operations about steps, and the parts that others use. */
export const sqlSteps = (parts: Parts) => ({ ...sqlStepReads(parts), ...sqlStepWrites(parts) })
