/** Meaning of a tool's declaration, in tables: refusals, consequences of its effects, approvals, results. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import {
  Agent,
  AiToolkit,
  ConfigurationError,
  IdempotencyLedger,
  Recovery,
  Skill,
  Tool,
  ToolCall,
  ToolInterceptor
} from "@recourse/core"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { LanguageModel, Tool as AiTool } from "effect/ai"
import { by, lastResults } from "../support/kit.ts"

const nothing = () => Effect.void

describe("a declaration", () => {
  const refused: Readonly<Record<string, readonly [options: object, problem: string | undefined]>> = {
    "a timeout of nothing": [{ timeout: 0 }, "timeout must be longer than 0"],
    "a timeout": [{ timeout: 1 }, undefined],
    "a limit of nothing": [{ resultLimit: 0 }, "resultLimit must be more than 0"],
    "a limit": [{ resultLimit: 1 }, undefined],
    "a write that is shared": [{ effects: "write", coalesce: true }, "coalesce is for tools with effects: \"read\""],
    "an undeclared tool that is shared": [{ coalesce: true }, "coalesce is for tools with effects: \"read\""],
    "a read that is shared": [{ effects: "read", coalesce: true }, undefined],
    "a write that is not shared": [{ effects: "write", coalesce: false }, undefined],
    "a read in a transaction": [
      { effects: "read", transaction: true },
      "transaction is for tools with effects: \"write\" and without idempotency"
    ],
    "an idempotent tool in a transaction": [
      { effects: "idempotent", transaction: true },
      "transaction is for tools with effects: \"write\" and without idempotency"
    ],
    "a write with a key in a transaction": [
      { effects: "write", transaction: true, idempotency: true },
      "transaction is for tools with effects: \"write\" and without idempotency"
    ],
    "a write in a transaction": [{ effects: "write", transaction: true }, undefined],
    "a write with a key": [{ effects: "write", transaction: false, idempotency: true }, undefined],
    "a read that is undone": [{ effects: "read", compensate: nothing }, "compensate is for tools that do something"],
    "a write that is undone": [{ effects: "write", compensate: nothing }, undefined]
  }

  for (const [name, [options, problem]] of Object.entries(refused)) {
    it(`${name} is ${problem === undefined ? "taken" : "refused"}`, () => {
      const make = () => Tool.make("pay", { execute: nothing, ...options } as never)
      if (problem === undefined) return make()
      const error = Exit.findErrorOption(Effect.runSyncExit(Effect.try({ try: make, catch: (thrown) => thrown })))
      assert.deepInclude(Option.getOrThrow(error), { subject: `Tool "pay"`, problem })
    })
  }

  it("names: letters, digits, underscores, hyphens, up to 64; a skill has one", () => {
    for (const name of ["a", "A-b_9", "x".repeat(64)]) {
      assert.strictEqual(Tool.make(name, { execute: nothing }).name, name)
    }
    for (const name of ["", "a b", "é", "x".repeat(65), "a.b", "a\n"]) {
      assert.throws(() => Tool.make(name, { execute: nothing }), ConfigurationError.ConfigurationError)
    }
    assert.throws(() => Skill.make("", { description: "x" }), /a skill needs a name/)
    assert.deepStrictEqual(Skill.make("s", { description: "x" }), {
      name: "s",
      description: "x",
      instructions: undefined,
      tools: []
    })
    assert.deepStrictEqual(
      [Tool.make("a", { execute: nothing }), AiTool.make("a"), {}, undefined].map(Tool.isTool),
      [true, false, false, false]
    )
  })

  it("effects become annotations of effect/ai for other programs", () => {
    const hints = (tool: Tool.Any) => {
      const toolkit = AiToolkit.toToolkit([tool as never]) as { readonly tools: Readonly<Record<string, AiTool.Any>> }
      const { annotations } = toolkit.tools["t"]!
      return [AiTool.Readonly, AiTool.Destructive, AiTool.Idempotent].map((hint) =>
        (annotations.mapUnsafe.get(hint.key) as boolean | undefined) ?? "unsaid"
      )
    }
    const made = (effects: Tool.Effects | undefined) =>
      Tool.make("t", { effects, execute: nothing } as never) as Tool.Any
    assert.deepStrictEqual(hints(made("read")), [true, false, true])
    assert.deepStrictEqual(hints(made("idempotent")), [false, false, true])
    assert.deepStrictEqual(hints(made("write")), [false, true, false])
    assert.deepStrictEqual(hints(made(undefined)), ["unsaid", "unsaid", "unsaid"])
  })

  it("a tool with an effect schema has no unchecked parts", () => {
    assert.deepStrictEqual(Tool.make("t", { execute: nothing }).unchecked, [])
  })

  it.effect("its status tool describes its parameters, and takes no key", () =>
    Effect.gen(function*() {
      const keyed: Array<readonly [string, boolean]> = []
      const tool = Tool.make("render", {
        effects: "write",
        success: Schema.String,
        idempotency: { key: () => "k" },
        execute: () => ToolCall.pending("job-1"),
        status: () => Effect.succeed("done")
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { model, script } = yield* ScriptedModel.make([
        ScriptedModel.call("render", {}),
        ScriptedModel.call("render_status", { task_id: "job-1" }),
        ScriptedModel.text("done")
      ])
      yield* agent.run("go").pipe(
        Effect.provideService(LanguageModel.LanguageModel, model),
        Effect.provideService(ToolInterceptor.ToolInterceptor, ({ passesKey, tool }, execute) => {
          keyed.push([tool, passesKey])
          return execute
        }),
        Effect.provide(Layer.fresh(IdempotencyLedger.layerMemory))
      )
      assert.deepStrictEqual(keyed, [["render", true], ["render_status", false]])
      assert.strictEqual(lastResults((yield* script.requests)[2]!.prompt)[0]?.result, "done")
      const offered = AiToolkit.toToolkit([tool]).tools as unknown as Readonly<Record<string, AiTool.Any>>
      assert.deepInclude(AiTool.getJsonSchema(offered["render_status"]!), {
        properties: { task_id: { type: "string", description: "The task_id that the tool answered" } },
        required: ["task_id"]
      })
    }))

  it("annotations define effects unless the program does; external answers are untrusted", () => {
    const definition = AiTool.make("t")
    const from = (tool: AiTool.Any, options?: object) =>
      AiToolkit.fromTool(tool as never, nothing as never, options as never) as Tool.Any
    const dynamic = AiTool.dynamic("t", { parameters: { type: "object" } })
    const cases: ReadonlyArray<readonly [AiTool.Any, object | undefined, Tool.Effects | undefined, Tool.Trust]> = [
      [definition, undefined, undefined, "trusted"],
      [definition.annotate(AiTool.Readonly, true), undefined, "read", "trusted"],
      [definition.annotate(AiTool.Idempotent, true), undefined, "idempotent", "trusted"],
      [definition.annotate(AiTool.Readonly, true).annotate(AiTool.Idempotent, true), undefined, "read", "trusted"],
      [definition.annotate(AiTool.Readonly, true), { effects: "write" }, "write", "trusted"],
      [definition, { trust: "untrusted" }, undefined, "untrusted"],
      [dynamic, undefined, undefined, "untrusted"],
      [dynamic, { trust: "trusted" }, undefined, "trusted"]
    ]
    for (const [tool, options, effects, trust] of cases) {
      const made = from(tool, options)
      assert.deepStrictEqual([made.effects, made.trust], [effects, trust])
    }
  })

  it.effect("writes refuse unknown arguments, others drop them, unless declared otherwise", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ a: Schema.Int })
      for (const effects of ["read", "write", "idempotent", undefined] as const) {
        for (const onUnknownKeys of ["refuse", "drop", undefined] as const) {
          const tool = Tool.make(
            "t",
            { parameters, effects, onUnknownKeys, execute: () => Effect.void } as never
          ) as Tool.Any
          const exit = yield* Effect.exit(tool.call as Effect.Effect<unknown, unknown, ToolCall.ToolCall>).pipe(
            by({ a: 1, b: 2 })
          )
          const isRefused = onUnknownKeys === undefined ? effects === "write" : onUnknownKeys === "refuse"
          assert.strictEqual(Exit.isFailure(exit), isRefused, `${effects} ${onUnknownKeys}`)
        }
      }
    }))
})

describe("built-in tools", () => {
  it.effect("describe their use to the model, and require a reason", () =>
    Effect.gen(function*() {
      const schemas = {
        escalate: AiTool.getJsonSchema(Tool.escalate.definition),
        throwException: AiTool.getJsonSchema(Tool.throwException.definition)
      }
      assert.deepInclude(schemas.escalate, { required: ["reason"] })
      assert.deepInclude(schemas.throwException, { required: ["reason"] })
      const described = (schema: unknown, name: string): unknown =>
        (schema as { readonly properties: Readonly<Record<string, { readonly description?: string }>> })
          .properties[name]
          ?.description
      assert.strictEqual(
        described(schemas.escalate, "reason"),
        "The problem, and everything that is needed to solve it"
      )
      assert.strictEqual(described(schemas.escalate, "severity"), "How urgent it is")
      assert.strictEqual(
        described(schemas.throwException, "reason"),
        "The reason why no further action is possible or useful"
      )
      for (const name of ["escalate", "throwException"]) {
        const { model, script } = yield* ScriptedModel.make([ScriptedModel.call(name, {}), ScriptedModel.text("done")])
        const agent = Agent.make("clerk", { tools: [Tool.escalate, Tool.throwException] })
        assert.strictEqual(
          yield* agent.run("x").pipe(Effect.provideService(LanguageModel.LanguageModel, model)),
          "done"
        )
        const [result] = lastResults((yield* script.requests)[1]!.prompt)
        assert.strictEqual((result?.result as { readonly code: string }).code, "missing_required_field", name)
      }
    }))

  it.effect("name the agent that gave up, if there is one", () =>
    Effect.gen(function*() {
      const ends = (name: string, params: unknown) =>
        Effect.flip(
          Agent.make("clerk", { tools: [Tool.escalate, Tool.throwException] }).run("x").pipe(
            Effect.provide(ScriptedModel.layer([ScriptedModel.call(name, params)]))
          )
        )
      const escalated = yield* ends("escalate", { reason: "stuck", severity: "high" })
      assert.deepInclude(escalated, { _tag: "Escalated", agent: "clerk", reason: "stuck", severity: "high" })
      assert.deepInclude(yield* ends("escalate", { reason: "stuck" }), { severity: "medium" })
      assert.deepInclude(yield* ends("throwException", { reason: "over" }), { _tag: "AgentException", agent: "clerk" })
      const alone = yield* Effect.flip(Tool.escalate.call.pipe(by({ reason: "stuck" })))
      assert.deepInclude(alone, { _tag: "Escalated", agent: "" })
      const within = Agent.fromFunction("office", (text: string) =>
        Agent.make("inner", { tools: [Tool.throwException] }).run(text))
      const inner = yield* Effect.flip(within.run("x")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("throwException", { reason: "over" })]))
      )
      assert.deepInclude(inner, { agent: "inner" })
    }))
})
