/** Model agent: what `Agent.make` answers, by a name that readers are shown. */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import type { Agent } from "./agent.ts"
import type { Resumable } from "./resume/resumableRun.ts"

/**
 * An agent that is a model with tools: it can wait for approvals, and go on where it stopped. `Input` and `Output` are the schemas of
 * what it takes and answers. `E` is what it can fail with, besides `Pause`: `ApprovalRequired` where `run` may have to wait. It needs
 * `R`, and `Key` where it is resumed.
 */
export interface ModelAgent<
  in out Input extends Schema.Top,
  in out Output extends Schema.Top,
  out E,
  out R,
  out Pause = never,
  out Key = SnapshotKey
> extends
  Agent<Input["Type"], Output["Type"], E | Pause, R>,
  Resumable<Input["Type"], Output["Type"], E, R, R | Key>,
  Described<Input, Output>
{}

/** What an agent says of what it takes and answers. */
export interface Described<out Input extends Schema.Top, out Output extends Schema.Top> {
  /** The schema of what it takes. */
  readonly input: Input
  /** The schema of what it answers. */
  readonly output: Output
  /** @internal Whether it can be asked by text. */
  readonly takesText: TakesText<Input["Type"]>
}

/** Whether an agent takes text, so that it can be asked by text. */
type TakesText<In> = [In] extends [string] ? true : false

/** What an agent says of what it takes and answers, if it does. */
export type DescriptionOf<Self> = Self extends Described<infer Input, infer Output> ? Described<Input, Output> : unknown

/** Says what an agent takes and answers. */
export const described = <Input extends Schema.Top, Output extends Schema.Top>(
  input: Input,
  output: Output
): Described<Input, Output> => ({
  input,
  output,
  takesText: SchemaAST.isString(Schema.toType(input).ast) as TakesText<Input["Type"]>
})

/** What an agent says of what it takes and answers: for one that is made of it and takes and answers the same. */
export const descriptionOf = (agent: object): Described<Schema.Top, Schema.Top> | undefined => {
  if (!("takesText" in agent)) return undefined
  const { input, output, takesText } = agent as Described<Schema.Top, Schema.Top>
  return { input, output, takesText }
}
