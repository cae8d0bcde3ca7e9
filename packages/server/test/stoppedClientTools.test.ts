/** Calls of client tools whose run is stopped, or overtaken by a message, over the server: the model of the next turn reads their outcome. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { MemoryRuns } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { type Options, serve } from "./kit.ts"

const clerk = (effects: "read" | "write") =>
  Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [Tool.client("pay", { parameters: Schema.Struct({ order: Schema.Int }), success: Schema.String, effects })],
    defaults: { onError: Recovery.standard }
  })

const kinds: Readonly<Record<string, (effects: "read" | "write") => NonNullable<Options["runs"]>>> = {
  memory: (effects) => () => MemoryRuns.layer({ agents: [clerk(effects)] }),
  durable: (effects) => () =>
    Durable.layer([Durable.make(clerk(effects), { input: Prompt.Prompt })], { poll: "20 millis" }).pipe(
      Layer.provide(RunStore.layerMemory)
    )
}

const codesIn = (prompt: Prompt.Prompt) =>
  prompt.content.flatMap((message) =>
    message.role !== "tool" ?
      [] :
      message.content.flatMap((part) =>
        part.type === "tool-result" ? [(part.result as { readonly code?: string }).code] : []
      )
  )

const ends = {
  "is stopped": (runId: string) => (server: Effect.Success<ReturnType<typeof serve>>) =>
    server.post(`/runs/${runId}/stop`, {}, { who: "bob" }),
  "is overtaken by a message": () => () => Effect.void
}

describe.each(Object.entries(kinds))("a call at the page of a run in %s", (_, runs) => {
  it.live.each(
    Object.entries(ends).flatMap(([name, end]) =>
      (["read", "write"] as const).map((effects) => ({ name, effects, end }))
    )
  )("that $name: $effects", ({ effects, end }) =>
    Effect.gen(function*() {
      const server = yield* serve(
        [ScriptedModel.call("pay", { order: 7 }), ScriptedModel.text("I cannot tell.")],
        { runs: runs(effects), server: { onBusy: "interrupt" } }
      )
      const say = (message: string) => server.post("/runs", { agent: "clerk", threadId: "t1", message }, { who: "bob" })
      const { runId } = (yield* say("Pay order 7")).json() as { runId: string }
      for (;;) {
        const { status } = yield* server.runs.get(runId)
        if (status === "waiting") break
        yield* Effect.sleep("5 millis")
      }
      yield* end(runId)(server)
      const next = (yield* say("Well?")).json() as { runId: string }
      assert.strictEqual((yield* server.runs.wait(next.runId)).status, "completed")
      // A read that was stopped leaves nothing that the model has to know.
      const codes = codesIn((yield* server.model.lastRequest).prompt)
      assert.deepStrictEqual(codes, effects === "write" ? ["outcome_unknown"] : [])
    }))

  it.live.each(["read", "write"] as const)(
    "that a chat completion cannot answer ends with 422: %s",
    (effects) =>
      Effect.gen(function*() {
        const server = yield* serve([ScriptedModel.call("pay", { order: 7 })], { runs: runs(effects) })
        const request = { model: "clerk", messages: [{ role: "user", content: "Pay order 7" }] }
        const answer = yield* server.post("/v1/chat/completions", request, { who: "bob" })
        const { error }: { readonly error: { readonly code: string; readonly type: string } } = answer.json()
        assert.deepStrictEqual([answer.status, error.code], [422, "client_tool"])
        assert.notStrictEqual(error.type, "server_error")
        for (;;) {
          const [run] = yield* server.runs.list()
          if (run?.status === "cancelled") return
          yield* Effect.sleep("5 millis")
        }
      })
  )
})
