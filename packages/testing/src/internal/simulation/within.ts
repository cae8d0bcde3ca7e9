/** Within: what a side effect is done within, as the fiber that does it knows. */
import { Context } from "effect"

/** What is at work. */
export interface Within {
  /** The executions of tools, the outermost first: their places in the executions of the run. */
  readonly executions: ReadonlyArray<number>
  /** The call that is undone. */
  readonly undoes?: { readonly tool: string; readonly callId: string } | undefined
}

export const CurrentWithin: Context.Reference<Within | undefined> = Context.Reference<Within | undefined>(
  "@recourse/testing/Within",
  { defaultValue: () => undefined }
)
