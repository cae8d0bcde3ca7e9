/** State that a server attaches to calls and messages outlives a process: the next one returns it to that server, and to no other. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, type Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { NodeSqliteClient } from "@recourse/sql"
import { VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema, type Scope } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

type Fields = Readonly<Record<string, unknown>>
interface Body {
  readonly messages: ReadonlyArray<Fields>
}

const callOf = (turn: number, name: string) => ({
  id: `call_${turn}`,
  type: "function",
  function: { name, arguments: "{}", provider_state: [turn, null] },
  extra_content: { google: { thought_signature: `c2ln${turn}==` } }
})

const messageOf = (turn: number, name: string): Fields => ({
  role: "assistant",
  content: null,
  tool_calls: [callOf(turn, name)],
  reasoning_details: [{ type: "reasoning.encrypted", data: `secret ${turn}`, id: `r${turn}`, index: 0 }],
  state_of_next_year: { turn }
})

/** The answers of the server, by turn. */
const answers: ReadonlyArray<Fields> = [
  messageOf(0, "look"),
  messageOf(1, "pay"),
  { role: "assistant", content: "done" }
]

const opaque = ["extra_content", "provider_state", "reasoning_details", "state_of_next_year", "c2ln", "secret"]

/** The fields of a message that the server wants back. */
const stateOf = ({ reasoning_details, state_of_next_year, tool_calls }: Fields) => ({
  tool_calls,
  reasoning_details,
  state_of_next_year
})

type Kept = <A, E, R>(
  use: (store: Layer.Layer<RunStore.RunStore>) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>

/** Stores that outlive processes. On SQLite each process has a connection, and its transaction ends with it. */
const stores: Readonly<Record<string, Effect.Effect<Kept, never, Scope.Scope>>> = {
  memory: Effect.map(
    Layer.build(Layer.fresh(RunStore.layerMemory)),
    (kept) => (use) => use(Layer.succeedContext(kept))
  ),
  sqlite: Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ).pipe(Effect.map((directory) => {
    const filename = join(directory, "runs.db")
    const sql = RunStore.layerSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename })), Layer.orDie)
    return (use) =>
      Effect.scoped(Effect.flatMap(Layer.build(Layer.fresh(sql)), (kept) => use(Layer.succeedContext(kept))))
  }))
}

/** A server that answers each request by its turn, and notes it. */
const serverOf = (seen: Array<{ readonly host: string; readonly body: Body }>) =>
  HttpClient.make((request, url) =>
    Effect.sync(() => {
      const text = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
      const body = JSON.parse(text) as Body
      seen.push({ host: url.host, body })
      const message = answers[body.messages.filter(({ role }) => role === "assistant").length]
      const reply = JSON.stringify({ choices: [{ message, finish_reason: "stop" }] })
      return HttpClientResponse.fromWeb(
        request,
        new Response(reply, { headers: { "content-type": "application/json" } })
      )
    })
  )

/** A program whose processes share a store, and the requests that its servers have received. */
const worldOf = (store: Effect.Effect<Kept, never, Scope.Scope>, needsApproval: boolean) =>
  Effect.map(store, (kept) => {
    const seen: Array<{ readonly host: string; readonly body: Body }> = []
    const tool = (name: string, effects: "read" | "write") =>
      Tool.make(name, {
        success: Schema.String,
        effects,
        needsApproval: needsApproval && effects === "write",
        execute: () => Effect.succeed(name)
      })
    const agent = Durable.make(
      Agent.make("clerk", {
        tools: [tool("look", "read"), tool("pay", "write")],
        defaults: { onError: Recovery.standard }
      })
    )
    const client = Layer.succeed(HttpClient.HttpClient, serverOf(seen))
    const process = <A, E>(
      effect: Effect.Effect<A, E, Runs.Runs>,
      options: VirtualTime.Options = {},
      host = "one"
    ) =>
      kept((store) => {
        const model = OpenAiCompatible.layer({ baseUrl: `http://${host}/v1`, model: "m" }).pipe(Layer.provide(client))
        const runs = Durable.layer([agent], { poll: "1 second" }).pipe(Layer.provide([store, model]))
        return VirtualTime.run(Effect.provide(effect, runs), options)
      })
    const person = <A, E>(effect: Effect.Effect<A, E, Runs.Runs>) =>
      kept((store) => Effect.provide(effect, Durable.layerClient([agent]).pipe(Layer.provide(store))))
    return { agent, person, process, seen }
  })

/** Asserts that each message of the server returned as it came. */
const returned = ({ body }: { readonly body: Body }, about: string) =>
  body.messages.filter(({ role }) => role === "assistant").forEach((message, turn) =>
    assert.deepEqual(stateOf(message), stateOf(answers[turn]!), about)
  )

/** Asserts that no state of the server was sent. */
const withheld = ({ body }: { readonly body: Body }, about: string) => {
  for (const name of opaque) assert.notInclude(JSON.stringify(body), name, about)
}

const nexts = [["one", returned, "unchanged"], ["other", withheld, "not to another server"]] as const

describe("the state of a server in a durable run", () => {
  for (const [next, check, expectation] of nexts) {
    for (const [name, store] of Object.entries(stores)) {
      it.live(`returns after a pause and a restart over ${name}: ${expectation}`, () =>
        Effect.gen(function*() {
          const { agent, person, process, seen } = yield* worldOf(store, true)
          yield* person(agent.start("r1", "Pay"))
          yield* process(Effect.timeoutOption(Effect.never, "1 minute"))
          const { pending, status } = yield* person(agent.poll("r1"))
          assert.deepEqual([status, seen.length], ["waiting", 2])
          yield* person(agent.decide("r1", [Approval.approve(pending[0]!)]))
          const { exit } = yield* process(agent.await("r1"), { startAt: 3_600_000, identity: 1 }, next)
          assert.strictEqual(yield* exit, "done")
          assert.deepEqual(seen.slice(2).map(({ host }) => host), [next])
          check(seen[2]!, "after the approval")
        }).pipe(Effect.scoped), 30_000)
    }

    it.live(`returns after a kill: ${expectation}`, () =>
      Effect.gen(function*() {
        const whole = yield* worldOf(stores["memory"]!, false)
        const { operations } = yield* whole.process(whole.agent.run("r1", "Pay"))
        assert.strictEqual(whole.seen.length, 3)
        const turns = new Set<number>()
        for (let killAt = 1; killAt < operations; killAt += Math.ceil(operations / 24)) {
          const { agent, process, seen } = yield* worldOf(stores["memory"]!, false)
          const run = agent.run("r1", "Pay")
          yield* process(run, { killAt })
          const before = seen.length
          const { exit } = yield* process(run, { startAt: 60_000, identity: 1 }, next)
          assert.strictEqual(yield* exit, "done")
          const recovered = seen.slice(before)
          if (recovered.length > 0) turns.add(before)
          // After its first request, a run that has moved holds the state of the other server.
          for (const request of next === "one" ? recovered : recovered.slice(0, 1)) {
            check(request, `killed at ${killAt}`)
          }
        }
        assert.isAbove(turns.size, 2)
      }).pipe(Effect.scoped), 60_000)
  }
})
