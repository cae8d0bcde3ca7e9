import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { ScriptedModel } from "@recourse/testing"
import { live, overStdio, versions } from "../support/helpers.ts"
import { overHttp } from "../servers/overHttp.ts"
import { overSse } from "../servers/overSse.ts"

const changing = { changes: true }

/** Waits until the server can send notifications. */
const heard = (server: { readonly push: unknown }) =>
  Effect.repeat(Effect.sleep("5 millis"), { while: () => server.push === undefined })

const transports = {
  stdio: (version: string) => Effect.succeed({ connect: overStdio({ version, ...changing }), ready: Effect.void }),
  HTTP: (version: string) =>
    Effect.map(
      overHttp({ version, ...changing }),
      ({ server, url }) => ({ connect: Mcp.http(url), ready: heard(server) })
    ),
  SSE: (version: string) =>
    Effect.map(
      overSse({ version, ...changing }),
      ({ server, url }) => ({ connect: Mcp.sse(url), ready: heard(server) })
    )
}

/** The names of the tools that a model is offered in each request of a run. */
const offered = (tools: ReadonlyArray<Mcp.McpTool>, calls: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { model, script } = yield* ScriptedModel.make([
      ...calls.map((name) => ScriptedModel.call(name, {})),
      ScriptedModel.text("done")
    ])
    const agent = Agent.make("a", { tools, defaults: { onError: Recovery.standard } })
    const { executed } = yield* agent.report("go").pipe(Effect.provideService(LanguageModel.LanguageModel, model))
    const requests = yield* script.requests
    return {
      offered: requests.map((request) => request.tools.join()),
      executed: executed.map(({ outcome }) => outcome).join()
    }
  })

describe.each(versions)("a list that changes in a run of %s", (version) => {
  for (const [transport, make] of Object.entries(transports)) {
    live(`is offered to the next turn over ${transport}`, () =>
      Effect.gen(function*() {
        const { connect, ready } = yield* make(version)
        const tools = yield* Mcp.tools({ name: "s", connect: connect as Mcp.Connect<any>, trust: "trusted" })
        yield* ready
        assert.deepStrictEqual(yield* offered(tools, ["s_read", "s_new2"]), {
          offered: ["s_read,s_pay", "s_read,s_pay,s_new2", "s_read,s_pay,s_new2,s_new3"],
          executed: "success,success"
        })
      }))
  }
})

describe("a list that changes in a run", () => {
  const toolsOf = (options: { readonly listChanges?: "ignore" } = {}) =>
    Mcp.tools({ name: "s", connect: overStdio({ version: "2025-11-25", ...changing }), trust: "trusted", ...options })

  live("gives no new tools to an agent that took some of them", () =>
    Effect.gen(function*() {
      const tools = (yield* toolsOf()).filter(({ name }) => name !== "s_pay")
      assert.deepStrictEqual((yield* offered(tools, ["s_read"])).offered, ["s_read", "s_read"])
    }))

  live("is ignored if the program says so", () =>
    Effect.gen(function*() {
      const tools = yield* toolsOf({ listChanges: "ignore" })
      assert.deepStrictEqual((yield* offered(tools, ["s_read"])).offered, ["s_read,s_pay", "s_read,s_pay"])
    }))
})
