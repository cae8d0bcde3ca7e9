/** The desk works through the tickets, with a model that plays a script. */
import { ScriptedModel, SideEffects, VirtualTime } from "@recourse/testing"
import { Effect, Layer } from "effect"
import type { ErrorProjection } from "@recourse/core"
import { ask } from "./desk.ts"
import * as Double from "./double.ts"

const isFailure = (result: unknown): result is ErrorProjection.ToolFailure =>
  typeof result === "object" && result !== null && "status" in result && result.status === "error"

/** The model's results in the last message of a request. */
const told = ({ prompt }: ScriptedModel.Request): ReadonlyArray<string> => {
  const message = prompt.content.at(-1)
  return (message?.role === "tool" ? message.content : []).map((part) =>
    part.type !== "tool-result"
      ? ""
      : isFailure(part.result)
      ? `${part.result.code}: ${part.result.message_for_model}`
      : JSON.stringify(part.result)
  )
}

const play = (title: string, turn: ScriptedModel.Turn) =>
  Effect.gen(function*() {
    const { exit } = yield* VirtualTime.run(ask("Close the ticket"))
    const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
    const closed = (yield* (yield* SideEffects.SideEffects).all).length
    return [
      `${title}:`,
      `  the model ${
        requests.length === 1 ? "is asked no more" : `is told   ${requests.slice(1).flatMap(told).join("; ")}`
      }`,
      `  the user is told    ${yield* exit}`,
      `  tickets closed      ${closed}`
    ].join("\n")
  }).pipe(
    Effect.provide(
      Double.layer.pipe(
        Layer.provideMerge(SideEffects.layer),
        Layer.merge(ScriptedModel.layer([turn, ScriptedModel.text("(the model's answer)")]))
      )
    )
  )

const close = (params: unknown) => ScriptedModel.call("close_ticket", params)

/** A paragraph for each. */
export const program = Effect.all([
  play("It works", close({ id: "T-1" })),
  play("Not found", close({ id: "T-9" })),
  play("Bad arguments", close({ ticket: 1 })),
  play("A read that is slow", ScriptedModel.call("get_ticket", { id: "T-4" })),
  play("A write that is slow", close({ id: "T-4" })),
  play("An unknown tool", ScriptedModel.call("delete_ticket", { id: "T-1" })),
  play("Not allowed", close({ id: "T-2" })),
  play("Our credentials are refused", close({ id: "T-3" }))
])
