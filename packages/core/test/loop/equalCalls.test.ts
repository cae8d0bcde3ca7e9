/** Equal calls of one answer: a write is executed once, and the other calls are reported as duplicates. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Audit, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Redacted, Schema } from "effect"
import { collect, lastResults } from "../support/kit.ts"

interface Options {
  readonly effects?: "read" | "write" | "idempotent"
  readonly allowIdenticalCalls?: boolean
  readonly idempotency?: true | { readonly key: (params: { readonly to: string }) => string }
  readonly needsApproval?: boolean
  readonly fails?: boolean
}

const mailing = ({ fails, ...options }: Options) => {
  const sent: Array<string> = []
  const Mail = Tool.make(
    "mail",
    {
      parameters: Schema.Struct({ to: Schema.String, copy: Schema.optional(Schema.String) }),
      success: Schema.String,
      ...options,
      execute: ({ to }: { readonly to: string }) =>
        Effect.suspend(() => {
          sent.push(to)
          return fails === true ? Effect.fail("down") : Effect.succeed("sent")
        })
    } as never
  ) as Tool.Any
  return { Mail, sent }
}

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** Runs an agent whose model makes these calls in its first answer. */
const play = (options: Options, params: ReadonlyArray<unknown>) => {
  const { Mail, sent } = mailing(options)
  const { events, layer } = collect()
  const audited: Array<Audit.AuditRecord> = []
  const results: Array<unknown> = []
  const agent = Agent.make("a", { tools: [Mail], defaults: { onError: Recovery.keepGoing } }) as any
  const model = ScriptedModel.layer(({ prompt }) => {
    if (lastResults(prompt).length === 0) {
      return ScriptedModel.calls(params.map((params) => ({ name: "mail", params: params as {} })))
    }
    results.push(...lastResults(prompt).map(({ id, result }) => [id, (result as any).code ?? result]))
    return ScriptedModel.text("done")
  })
  const services = Layer.mergeAll(
    model,
    layer,
    key,
    IdempotencyLedger.layerMemory,
    Audit.layer((record) => Effect.sync(() => void audited.push(record)))
  )
  const provide = <A>(effect: Effect.Effect<A, unknown, unknown>) =>
    Effect.provide(effect, services) as Effect.Effect<A>
  return { agent, audited, events, provide, results, sent }
}

const ada = { to: "ada" }

describe("equal calls of one answer", () => {
  for (
    const [title, options] of [
      ["a write", { effects: "write" }],
      ["a write with a key of its call", { effects: "write", idempotency: true }],
      ["a tool without declared effects", {}],
      ["a write that fails", { effects: "write", fails: true }]
    ] as ReadonlyArray<readonly [string, Options]>
  ) {
    it.effect(`execute ${title} once and report the others`, () =>
      Effect.gen(function*() {
        const { agent, audited, events, provide, results, sent } = play(options, [
          ada,
          { to: "bob" },
          ada,
          ada
        ])
        yield* provide(agent.run("x"))
        assert.deepStrictEqual([...sent].sort(), ["ada", "bob"])
        assert.deepStrictEqual(results.map((result: any) => [result[0], result[1] === "duplicate_call"]), [
          ["call_1", false],
          ["call_2", false],
          ["call_3", true],
          ["call_4", true]
        ])
        assert.deepStrictEqual(
          audited.filter(({ decision }) => decision === "duplicate").map(({ callId, reason }) => [callId, reason]),
          ["call_3", "call_4"].map((id) => [id, "The call \"call_1\" of the same answer has the same arguments"])
        )
        const told = events.flatMap((event) =>
          event._tag === "ToolResult" && event.code === "duplicate_call" ? [event.callId] : []
        )
        assert.deepStrictEqual(told, ["call_3", "call_4"])
        assert.isTrue(events.every((event) => event._tag !== "ToolAttempt" || !told.includes(event.callId)))
      }))
  }

  it.effect("are equal if their texts differ in order, spaces or forms of strings", () =>
    Effect.gen(function*() {
      const { agent, provide, results, sent } = play({ effects: "write" }, [
        "{\"to\":\"ada\",\"copy\":\"bob\"}",
        "{ \"copy\": \"bob\", \"to\": \"\\u0061da\" }",
        { to: "ada", copy: "bob" },
        "{\"to\":\"ada\",\"copy\":\"eve\"}"
      ])
      yield* provide(agent.run("x"))
      assert.deepStrictEqual(sent, ["ada", "ada"])
      assert.deepStrictEqual(results.map((result: any) => result[1]), [
        "sent",
        "duplicate_call",
        "duplicate_call",
        "sent"
      ])
    }))

  it.effect("differ if their texts cannot be read, or lose digits as a number", () =>
    Effect.gen(function*() {
      const texts = ["{\"to\":9007199254740993}", "{\"to\":9007199254740992}", "{\"to\":", "{ \"to\":"]
      const { agent, provide, results } = play({ effects: "write" }, texts)
      yield* provide(agent.run("x"))
      assert.notInclude(results.map((result: any) => result[1]), "duplicate_call")
    }))

  it.effect("need one approval", () =>
    Effect.gen(function*() {
      const { agent, provide, results, sent } = play({ effects: "write", needsApproval: true }, [ada, ada, ada])
      const paused: any = yield* provide(agent.start("x"))
      assert.deepStrictEqual(paused.pending.map(({ callId }: any) => callId), ["call_1"])
      yield* provide(agent.resume(paused.snapshot, [Approval.approve(paused.pending[0])]))
      assert.deepStrictEqual(sent, ["ada"])
      assert.deepStrictEqual(results, [["call_1", "sent"], ["call_2", "duplicate_call"], ["call_3", "duplicate_call"]])
    }))

  for (
    const [title, options, times] of [
      ["each if the tool polls", { effects: "write", allowIdenticalCalls: true }, 3],
      ["each if the tool is idempotent", { effects: "idempotent" }, 3],
      ["each if the tool is a read", { effects: "read" }, 3],
      ["by the ledger if their key is made of arguments", {
        effects: "write",
        idempotency: { key: ({ to }: { readonly to: string }) => to }
      }, 1]
    ] as ReadonlyArray<readonly [string, Options, number]>
  ) {
    it.effect(`are executed ${title}`, () =>
      Effect.gen(function*() {
        const { agent, provide, results, sent } = play(options, [ada, ada, ada])
        yield* provide(agent.run("x"))
        assert.lengthOf(sent, times)
        assert.deepStrictEqual(results.map((result: any) => result[1]), ["sent", "sent", "sent"])
      }))
  }

  it.effect("of two answers are both executed", () =>
    Effect.gen(function*() {
      const { Mail, sent } = mailing({ effects: "write" })
      yield* (Agent.make("a", { tools: [Mail], defaults: { onError: Recovery.keepGoing } }) as any).run("x").pipe(
        Effect.provide(
          ScriptedModel.layer([
            ScriptedModel.call("mail", ada),
            ScriptedModel.call("mail", ada),
            ScriptedModel.text("done")
          ])
        )
      ) as Effect.Effect<unknown>
      assert.deepStrictEqual(sent, ["ada", "ada"])
    }))
})
