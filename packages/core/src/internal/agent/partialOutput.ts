/** Partial outputs: the known part of a structured answer while the model writes it. */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { partialJson } from "../foundation/json/partialJson.ts"

/**
 * A value of which parts may not be known yet. Texts may be their beginnings.
 *
 * @category utility types
 * @since 0.2.0
 */
export type PartialOutput<T> = T extends ReadonlyArray<infer Item> ? ReadonlyArray<PartialOutput<Item>>
  : T extends object ? { readonly [K in keyof T]?: PartialOutput<T[K]> }
  : T

/** Returns the value that a text starts; `undefined` while none is known. */
const valueOf = (text: string, isObject: boolean): unknown => {
  const start = text.indexOf("{")
  if (start < 0) return undefined
  // It begins with a brace: an object, if it is known.
  const value = partialJson(text, start) as { readonly answer?: unknown } | undefined
  return isObject ? value : value?.answer
}

/**
 * Returns the growing values of an agent's answer, for an agent with this `output` schema, from the events of its
 * `stream`. Each is the known part in encoded form: fields may be missing, texts may be cut, and no value is checked.
 * An answer that restarts restarts here too. The whole and checked value is the agent's output.
 *
 * If the schema is no object, only answers in the provider's structured output are emitted.
 *
 * **Example** (A ticket as it is written)
 *
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { Agent } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Ticket = Schema.Struct({ title: Schema.String, open: Schema.Boolean })
 * const triage = Agent.make("triage", { output: Ticket })
 *
 * await Effect.runPromise(
 *   triage.stream("The shop is down").pipe(
 *     Agent.partialOutput(Ticket),
 *     Stream.runCollect,
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.text(`{ "title": "Shop down", "open": true }`)]))
 *   )
 * ) // => [{}, { title: "Shop " }, { title: "Shop down" }, { title: "Shop down", open: true }]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const partialOutput = <Output extends Schema.Top>(output: Output) =>
<E, R>(
  events: Stream.Stream<AgentEvent, E, R>
): Stream.Stream<PartialOutput<Output["Encoded"]>, E, R> => {
  const isObject = SchemaAST.isObjects(Schema.toEncoded(output).ast)
  return Stream.suspend(() => {
    let text = ""
    let last = ""
    return events.pipe(
      Stream.mapArray((events) => {
        const values: Array<PartialOutput<Output["Encoded"]>> = []
        for (const event of events) {
          if (event.parent !== undefined) continue
          if (event._tag === "ModelTurnStarted" || event._tag === "AnswerRestarted") text = last = ""
          if (event._tag !== "TextDelta") continue
          text += event.delta
          const value = valueOf(text, isObject)
          const written = value === undefined ? last : JSON.stringify(value)
          if (written !== last) values.push(value as PartialOutput<Output["Encoded"]>)
          last = written
        }
        return values as never
      })
    )
  })
}
