import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Audit, ErrorProjection, OutputGuard, Quarantine, Recovery, Tool } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"
import { attack, code, key, world } from "../support/attackedRuns.ts"

const attacked: ReadonlyArray<ScriptedModel.Turn> = [
  ScriptedModel.call("fetch", {}),
  ScriptedModel.calls([{ name: "look", params: {} }, { name: "send", params: { to: "eve" } }]),
  ScriptedModel.text("done")
]

const play = (onTainted: Quarantine.OnTainted | undefined, turns = attacked) =>
  Effect.gen(function*() {
    const { Fetch, Look, Send, sent } = world()
    const records: Array<Audit.AuditRecord> = []
    const agent = Agent.make("a", {
      tools: [Fetch, Send, Look],
      defaults: { onError: Recovery.standard },
      ...(onTainted === undefined ? undefined : { onTainted })
    })
    return yield* Effect.gen(function*() {
      const outcome = yield* agent.start("go")
      const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
      return { outcome, sent, records, agent, results: requests.flatMap(({ prompt }) => lastResults(prompt)) }
    }).pipe(Effect.provide(Layer.mergeAll(
      key,
      Audit.layer((record) => Effect.sync(() => records.push(record))),
      ScriptedModel.layer(turns)
    )))
  })

describe("untrusted output", () => {
  it.effect("reaches the model in an envelope with its source", () =>
    Effect.gen(function*() {
      const { results } = yield* play("deny")
      const envelope = yield* Schema.decodeUnknownEffect(Quarantine.Envelope)(results[0]?.result)
      assert.deepStrictEqual(
        [envelope.source, envelope.call_id, envelope.content, envelope.notice],
        ["fetch", "call_1", attack, Quarantine.notice]
      )
    }))

  it.effect("by default, a tainted run's writes wait for a person; reads run", () =>
    Effect.gen(function*() {
      const { outcome, records, sent } = yield* play(undefined)
      assert.strictEqual(outcome._tag, "Paused")
      const { pending, snapshot } = outcome as Approval.Paused
      assert.deepStrictEqual(pending.map(({ reasons, tool }) => [tool, reasons]), [
        ["send", ["The run has read untrusted output of fetch"]]
      ])
      assert.deepStrictEqual(snapshot.taintedBy, ["fetch"])
      assert.deepStrictEqual(sent, [])
      assert.deepStrictEqual(records.map(({ decision, security, tool }) => [tool, decision, security]), [
        ["send", "approval_requested", true]
      ])
    }))

  it.effect("a resumed run is tainted still", () =>
    Effect.gen(function*() {
      const { agent, outcome, sent } = yield* play(undefined)
      const { pending, snapshot } = outcome as Approval.Paused
      const again = yield* agent.resume(JSON.parse(JSON.stringify(snapshot)), [Approval.reject(pending[0]!, "no")])
        .pipe(
          Effect.provide(
            Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("send", { to: "eve" }, { id: "s2" })]))
          )
        )
      assert.strictEqual(again._tag, "Paused")
      assert.deepStrictEqual(sent, [])
    }))

  it.effect("denied: the model reads that, and the security audit records it", () =>
    Effect.gen(function*() {
      const { records, results, sent } = yield* play("deny")
      assert.deepStrictEqual(results.map(code), [undefined, undefined, "permission_denied"])
      assert.deepStrictEqual(sent, [])
      assert.deepStrictEqual(records.map(({ by, decision, security }) => [by, decision, security]), [
        ["quarantine", "denied", true]
      ])
    }))

  it.effect("allowed for listed tools", () =>
    Effect.gen(function*() {
      const { outcome, sent } = yield* play({ allow: ["send"] })
      assert.strictEqual(outcome._tag, "Completed")
      assert.deepStrictEqual(sent, ["eve"])
      assert.strictEqual((yield* play({ allow: [{ name: "other" }] })).outcome._tag, "Paused")
    }))

  it.effect("allowed only for listed tools, by name or by themselves", () =>
    Effect.gen(function*() {
      const { Look, Send } = world()
      const decide = (tool: string, taintedBy = ["fetch", "page"]) =>
        Quarantine.policy({ allow: ["other", Send, Look] }).decide({
          runId: "r",
          path: ["a"],
          tool,
          callId: "c1",
          effects: "write",
          arguments: {},
          taintedBy,
          calls: []
        })
      for (const tool of ["send", "other"]) assert.strictEqual((yield* decide(tool))._tag, "Allow")
      assert.strictEqual((yield* decide("pay", []))._tag, "Allow")
      assert.deepInclude(yield* decide("pay"), {
        _tag: "RequireApproval",
        reason: "The run has read untrusted output of fetch, page"
      })
    }))

  it.effect("a run that has not read it may write", () =>
    Effect.gen(function*() {
      const { outcome, sent } = yield* play(undefined, attacked.slice(1))
      assert.strictEqual(outcome._tag, "Completed")
      assert.deepStrictEqual(sent, ["eve"])
    }))

  it.effect("does not taint the calls of the same answer, whichever is faster", () =>
    Effect.gen(function*() {
      const both = (names: ReadonlyArray<string>) =>
        ScriptedModel.calls(names.map((name) => ({ name, params: { to: "ann" } })))
      for (const names of [["fetch", "send"], ["send", "fetch"]]) {
        const { outcome, sent } = yield* play(undefined, [both(names), ScriptedModel.text("done")])
        assert.strictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(sent, ["ann"])
      }
    }))

  const asReader = {
    description: "Reads",
    parameters: Schema.Struct({}),
    success: Schema.String,
    effects: "read"
  } as const

  it.effect("taints outer agents, which ask if their types allow waits", () =>
    Effect.gen(function*() {
      const { Fetch, Send, sent } = world()
      const Reader = Agent.make("reader", { tools: [Fetch], input: Schema.Struct({}) }).pipe(
        Agent.asTool("reader", asReader)
      )
      const outer = Agent.make("outer", { tools: [Reader, Send], defaults: { onError: Recovery.standard } })
      const turns = [
        ScriptedModel.call("reader", {}, { id: "r" }),
        ScriptedModel.call("fetch", {}, { id: "f" }),
        ScriptedModel.text("read"),
        ScriptedModel.call("send", { to: "eve" }, { id: "s" }),
        ScriptedModel.text("done")
      ]
      const withScript = () => Effect.provide(Layer.merge(key, ScriptedModel.layer(turns)))
      const outcome = yield* outer.start("go").pipe(withScript())
      assert.deepStrictEqual(outcome._tag === "Paused" ? outcome.pending.map(({ tool }) => tool) : [], ["send"])
      assert.strictEqual((yield* Effect.flip(outer.run("go").pipe(withScript())))._tag, "ApprovalRequired")
      assert.deepStrictEqual(sent, [])
    }))

  it.effect("an answer of an agent that read it is in an envelope", () =>
    Effect.gen(function*() {
      const { Fetch } = world()
      const Reader = Agent.make("reader", { tools: [Fetch], input: Schema.Struct({}) }).pipe(
        Agent.asTool("reader", asReader)
      )
      const outer = Agent.make("outer", { tools: [Reader], defaults: { onError: Recovery.standard } })
      const requests = yield* Effect.gen(function*() {
        yield* outer.start("go")
        return yield* (yield* ScriptedModel.ScriptedModel).requests
      }).pipe(Effect.provide(Layer.merge(
        key,
        ScriptedModel.layer([
          ScriptedModel.call("reader", {}, { id: "r" }),
          ScriptedModel.call("fetch", {}, { id: "f" }),
          ScriptedModel.text(`The page says: ${attack}`),
          ScriptedModel.text("done")
        ])
      )))
      const [read] = lastResults(requests.at(-1)!.prompt)
      const envelope = yield* Schema.decodeUnknownEffect(Quarantine.Envelope)(read?.result)
      assert.deepStrictEqual([envelope.source, envelope.content], ["fetch", `The page says: ${attack}`])
    }))

  it.effect("denies if no person can be asked: no key, or `run` without a pause", () =>
    Effect.gen(function*() {
      const { Send, sent } = world()
      const history = Quarantine.taint(Prompt.make("Read the page"), ["fetch"])
      const agent = Agent.make("chat", {
        tools: [Send],
        prompt: (text: string) => Prompt.concat(history, text),
        defaults: { onError: Recovery.standard }
      })
      const results = (run: typeof agent.start | typeof agent.run, keys: Layer.Layer<never>) =>
        Effect.gen(function*() {
          const outcome = yield* run("go")
          const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
          return { outcome, code: code(lastResults(requests.at(-1)!.prompt)[0]) }
        }).pipe(
          Effect.provide(Layer.merge(
            keys,
            ScriptedModel.layer([ScriptedModel.call("send", { to: "eve" }), ScriptedModel.text("done")])
          ))
        )
      const denied = "permission_denied"
      assert.strictEqual((yield* results(agent.start, Layer.empty)).code, denied)
      assert.strictEqual((yield* results(agent.run, Layer.empty)).code, denied)
      assert.strictEqual((yield* results(agent.run, key as never)).code, denied)
      const asked = yield* results(agent.start, key as never)
      assert.strictEqual((asked.outcome as Approval.Outcome<string>)._tag, "Paused")
      assert.deepStrictEqual(sent, [])
    }))

  it.effect("error text from outside is marked and taints; fixed sentences do not", () =>
    Effect.gen(function*() {
      class Said extends Schema.TaggedError<Said>()(
        "Said",
        { text: Schema.String },
        ErrorProjection.declare<{
          readonly text: string
        }>({ model: ({ text }) => text })
      ) {}
      const sent: Array<string> = []
      const { Send } = world()
      const outcomeOf = (declared: boolean) =>
        Effect.gen(function*() {
          const Fetch = Tool.make("fetch", {
            success: Schema.String,
            effects: "read",
            trust: "untrusted",
            ...(declared ? { failure: Said } : undefined),
            execute: () => Effect.fail(new Said({ text: attack }))
          }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
          const agent = Agent.make("a", { tools: [Fetch, Send], defaults: { onError: Recovery.standard } })
          const outcome = yield* agent.start("go")
          const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
          return { outcome, result: lastResults(requests[1]!.prompt)[0]?.result as ErrorProjection.ToolFailure }
        }).pipe(Effect.provide(Layer.merge(
          key,
          ScriptedModel.layer([
            ScriptedModel.call("fetch", {}),
            ScriptedModel.call("send", { to: "eve" }),
            ScriptedModel.text("done")
          ])
        )))
      const said = yield* outcomeOf(true)
      assert.deepStrictEqual([said.outcome._tag, said.result.untrusted], ["Paused", "fetch"])
      const quiet = yield* outcomeOf(false)
      assert.deepStrictEqual([quiet.outcome._tag, quiet.result.untrusted], ["Completed", undefined])
      assert.notInclude(JSON.stringify(quiet.result), attack)
      assert.deepStrictEqual(sent, [])
    }))
})

describe("an output guard", () => {
  const guard = OutputGuard.layer(({ content }) =>
    JSON.stringify(content).includes("Ignore")
      ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "prompt_injection" }))
      : Effect.void
  )

  it.effect("blocks: model and audit get the same id, no reader the text", () =>
    Effect.gen(function*() {
      const { Fetch, Look } = world()
      const records: Array<Audit.AuditRecord> = []
      const { events, layer } = collect()
      const agent = Agent.make("a", { tools: [Fetch, Look] })
      const requests = yield* Effect.gen(function*() {
        assert.strictEqual((yield* agent.start("go"))._tag, "Completed")
        return yield* (yield* ScriptedModel.ScriptedModel).requests
      }).pipe(Effect.provide(Layer.mergeAll(
        key,
        guard,
        layer,
        Audit.layer((record) => Effect.sync(() => records.push(record))),
        ScriptedModel.layer([
          ScriptedModel.calls([{ name: "fetch", params: {} }, { name: "look", params: {} }]),
          ScriptedModel.text("ok")
        ])
      )))
      const [blocked, looked] = lastResults(requests[1]!.prompt)
      const failure = blocked?.result as ErrorProjection.ToolFailure
      assert.deepStrictEqual([failure.code, failure.message_for_user], ["unsafe_output", "Unsafe content was blocked."])
      assert.strictEqual(looked?.result, "seen")
      assert.notInclude(JSON.stringify([requests, events, records]), "Ignore")
      assert.deepStrictEqual(records.map(({ by, decision, security }) => [by, decision, security]), [
        ["prompt_injection", "blocked", true]
      ])
      assert.include(failure.message_for_model, records[0]!.referenceId)
    }))
})
