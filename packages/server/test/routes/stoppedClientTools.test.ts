/** Calls of client tools whose run is stopped, or overtaken by a message, over the server: the model of the next turn reads their outcome. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, type Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { MemoryRuns } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { type Options, serve } from "../support/kit.ts"

type Kind = "read" | "write" | "approval"

const parameters = Schema.Struct({ order: Schema.Int })

const common = {
  input: Prompt.Prompt,
  prompt: (conversation: Prompt.Prompt) => conversation,
  defaults: { onError: Recovery.standard }
}

/** The tool of a page. */
const clerk = (effects: "read" | "write") =>
  Agent.make("clerk", {
    ...common,
    tools: [Tool.client("pay", { parameters, success: Schema.String, effects })]
  })

/** A tool whose call waits for an approval. */
const careful = Agent.make("clerk", {
  ...common,
  tools: [
    Tool.make("pay", {
      parameters,
      success: Schema.String,
      effects: "write",
      needsApproval: true,
      execute: () => Effect.die("not approved")
    })
  ]
})

const durably = <R>(layer: Layer.Layer<Runs.Runs, unknown, R | RunStore.RunStore>) =>
  Layer.provide(layer, RunStore.layerMemory)

const kinds: Readonly<Record<string, (kind: Kind) => NonNullable<Options["runs"]>>> = {
  memory: (kind) => () =>
    kind === "approval" ? MemoryRuns.layer({ agents: [careful] }) : MemoryRuns.layer({ agents: [clerk(kind)] }),
  durable: (kind) => () =>
    durably(
      kind === "approval"
        ? Durable.layer([Durable.make(careful, { input: Prompt.Prompt })], { poll: "20 millis" })
        : Durable.layer([Durable.make(clerk(kind), { input: Prompt.Prompt })], { poll: "20 millis" })
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
      (["read", "write", "approval"] as const).map((kind) => ({ name, kind, end }))
    )
  )("that $name: $kind", ({ kind, end }) =>
    Effect.gen(function*() {
      const server = yield* serve(
        [ScriptedModel.call("pay", { order: 7 }), ScriptedModel.text("I cannot tell.")],
        { runs: runs(kind), server: { onBusy: "interrupt" } }
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
      // A stopped read, and an unapproved call, leave no facts for the model.
      const codes = codesIn((yield* server.model.lastRequest).prompt)
      assert.deepStrictEqual(codes, kind === "write" ? ["outcome_unknown"] : [])
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
