/** Model agent: the type of agents of `Agent.make`, with a readable name. */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import type { Agent } from "./agent.ts"
import type { Resumable } from "./resume/resumableRun.ts"

/**
 * An agent that is a model with tools: it can wait for approvals, and resume. `Input` and `Output` are the schemas of
 * its input and output. `E` is its error type without `Pause`, which is `ApprovalRequired` if `run` may have to wait.
 * It needs `R`, and `Key` when it is resumed.
 *
 * @category models
 * @since 0.2.0
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

/**
 * Described input and output of an agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Described<out Input extends Schema.Top, out Output extends Schema.Top> {
  /** The schema of its input. */
  readonly input: Input
  /** The schema of its output. */
  readonly output: Output
  /** @internal Whether it can be asked by text. */
  readonly takesText: TakesText<Input["Type"]>
}

/** True if an agent takes text, so that a text is its input. */
type TakesText<In> = [In] extends [string] ? true : false

/**
 * Described input and output of an agent, if it has them.
 *
 * @category utility types
 * @since 0.2.0
 */
export type DescriptionOf<Self> = Self extends Described<infer Input, infer Output> ? Described<Input, Output> : unknown

/** Describes the input and output of an agent. */
export const described = <Input extends Schema.Top, Output extends Schema.Top>(
  input: Input,
  output: Output
): Described<Input, Output> => ({
  input,
  output,
  takesText: SchemaAST.isString(Schema.toType(input).ast) as TakesText<Input["Type"]>
})

/** Returns the described input and output of an agent: for one made of it with the same types. */
export const descriptionOf = (agent: object): Described<Schema.Top, Schema.Top> | undefined => {
  if (!("takesText" in agent)) return undefined
  const { input, output, takesText } = agent as Described<Schema.Top, Schema.Top>
  return { input, output, takesText }
}
