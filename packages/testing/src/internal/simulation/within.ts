/** Within: the surroundings of a side effect, known to its fiber. */
import { Context } from "effect"

/** Current work. */
export interface Within {
  /** The executions of tools, the outermost first: their places in the executions of the run. */
  readonly executions: ReadonlyArray<number>
  /** The compensated call. */
  readonly compensates?: { readonly tool: string; readonly callId: string } | undefined
}

export const CurrentWithin: Context.Reference<Within | undefined> = Context.Reference<Within | undefined>(
  "@recourse/testing/Within",
  { defaultValue: () => undefined }
)
