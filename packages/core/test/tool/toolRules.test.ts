/** Meaning of a tool's declaration, in tables: refusals, consequences of its effects, approvals, results. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import {
  Agent,
  AiToolkit,
  Approval,
  ConfigurationError,
  IdempotencyLedger,
  Recovery,
  Skill,
  Tool,
  ToolCall,
  ToolInterceptor
} from "@recourse/core"
import { BigDecimal, Effect, Exit, Layer, Option, Redacted, Schema, SchemaGetter } from "effect"
import { LanguageModel, type Prompt, Tool as AiTool } from "effect/ai"
import { by, lastResults } from "../support/kit.ts"
import { finish, partsModel } from "../support/parts.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
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

describe("an approval", () => {
  const outcome = (tool: Tool.Any, ...before: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.map(
      Agent.make("a", { tools: [tool] } as never).start("go" as never) as Effect.Effect<
        { readonly _tag: string },
        unknown,
        LanguageModel.LanguageModel
      >,
      ({ _tag }) => _tag
    ).pipe(
      Effect.provide([
        ScriptedModel.layer([...before, ScriptedModel.call("t", { n: 1 }), ScriptedModel.text("done")]),
        key
      ])
    )

  it.effect("is declared by the tool, its arguments and call, also effectfully", () =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      const says: ReadonlyArray<readonly [unknown, boolean]> = [
        [undefined, false],
        [false, false],
        [true, true],
        [() => true, true],
        [() => false, false],
        [() => Effect.succeed(true), true],
        [() => Effect.succeed(false), false],
        [({ n }: { readonly n: number }) => n > 0, true],
        [({ n }: { readonly n: number }) => n > 1, false],
        [(_: unknown, { toolCallId }: { readonly toolCallId: string }) => ids.push(toolCallId) > 0, true]
      ]
      for (const [needsApproval, isAsked] of says) {
        const tool = Tool.make("t", {
          parameters: Schema.Struct({ n: Schema.Int }),
          needsApproval,
          effects: "read",
          execute: () => Effect.void
        } as never) as Tool.Any
        assert.strictEqual(yield* outcome(tool), isAsked ? "Paused" : "Completed", String(needsApproval))
      }
      assert.lengthOf(ids, 1)
      assert.isAbove(ids[0]!.length, 0)
    }))

  it.effect("of effect/ai uses the earlier conversation; the options come first", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const definition = AiTool.make("t", {
        parameters: Schema.Struct({ n: Schema.Int }),
        needsApproval: (_, { messages }) => {
          seen.push(messages.map(({ role }) => role))
          return Effect.succeed(true)
        }
      })
      const Other = Tool.make("other", { effects: "read", execute: nothing })
      const asks = AiToolkit.fromTool(definition, nothing, { effects: "read" })
      const agent = Agent.make("a", { tools: [asks, Other] })
      const script = ScriptedModel.layer([
        ScriptedModel.call("other", {}),
        ScriptedModel.calls([{ name: "other", params: {} }, { name: "t", params: { n: 1 } }]),
        ScriptedModel.text("done")
      ])
      const paused = yield* Effect.provide(agent.start("go"), [script, key])
      assert.strictEqual(paused._tag, "Paused")
      assert.deepStrictEqual(seen, [["user", "assistant", "tool"]])
      yield* Effect.exit(asks.call.pipe(by({ n: 1 })))
      assert.deepStrictEqual(seen.at(-1), [])
      const alone = Agent.make("a", { tools: [asks], prompt: () => [] })
      yield* Effect.provide(alone.start("go"), [ScriptedModel.layer([ScriptedModel.call("t", { n: 1 })]), key])
      assert.deepStrictEqual(seen.at(-1), [], "the answer is the first message")
      const outer = Tool.make("outer", {
        effects: "read",
        mayRequestApproval: true,
        execute: () => Effect.exit(asks.call.pipe(by({ n: 1 })))
      })
      const around = Agent.make("a", { instructions: "Be kind", tools: [outer, asks] })
      yield* Effect.exit(
        Effect.provide(around.start("go"), [ScriptedModel.layer([ScriptedModel.call("outer", {})]), key])
      )
      assert.deepStrictEqual(seen.at(-1), ["system", "user", "assistant"], "a tool's call has no answer of its own")
      const quiet = AiToolkit.fromTool(definition, nothing, {
        effects: "read",
        needsApproval: () => Effect.succeed(false)
      })
      assert.strictEqual(yield* outcome(quiet), "Completed")
      const always = AiToolkit.fromTool(
        AiTool.make("t", { parameters: definition.parametersSchema, needsApproval: true }),
        nothing
      )
      assert.strictEqual(yield* outcome(always), "Paused")
    }))

  it.effect("in a toolkit: the definition asks, options first, reads never ask", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const definition = AiTool.make("t", {
        parameters: Schema.Struct({ n: Schema.Int }),
        needsApproval: (_, { messages }) => {
          seen.push(messages.map(({ role }) => role))
          return true
        }
      })
      let runs = 0
      const execute = () => Effect.sync(() => void runs++)
      const asked = Effect.fnUntraced(function*(tool: Tool.Any) {
        const toolkit = AiToolkit.toToolkit([tool] as never)
        const { content } = yield* (LanguageModel.generateText({ prompt: "go", toolkit } as never) as Effect.Effect<
          { readonly content: ReadonlyArray<{ readonly type: string }> },
          unknown,
          LanguageModel.LanguageModel
        >).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t", { n: 1 })])))
        return content.some(({ type }) => type === "tool-approval-request")
      })
      assert.isTrue(yield* asked(AiToolkit.fromTool(definition, execute)))
      assert.deepStrictEqual(seen, [["user"]])
      assert.strictEqual(runs, 0)
      for (const [answer, isAsked] of [[false, false], [true, true]] as const) {
        const tool = AiToolkit.fromTool(definition, execute, { needsApproval: () => Effect.succeed(answer) })
        assert.strictEqual(yield* asked(tool), isAsked)
      }
      assert.strictEqual(runs, 1)
      assert.lengthOf(seen, 1)
      const Read = Tool.make("t", { effects: "read", execute: nothing })
      assert.isUndefined(AiToolkit.toToolkit([Read]).tools.t.needsApproval)
      assert.isUndefined(Tool.make("t", { effects: "write", execute: nothing }).definition.needsApproval)
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

describe("a result", () => {
  it.effect("of a primitive is itself; others use schema form or fail", () =>
    Effect.gen(function*() {
      const told = Effect.fnUntraced(function*(success: Schema.Top, value: unknown) {
        const tool = Tool.make(
          "t",
          { success, effects: "read", execute: () => Effect.succeed(value) } as never
        ) as Tool.Any
        const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } } as never)
        return yield* Effect.gen(function*() {
          yield* Effect.exit(agent.run("x" as never) as Effect.Effect<unknown>)
          const [, second] = yield* (yield* ScriptedModel.ScriptedModel).requests
          const [result] = second === undefined ? [] : lastResults(second.prompt)
          return result === undefined ? "ended" : result.result
        }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t", {}), ScriptedModel.text("done")])))
      })
      const cases: ReadonlyArray<readonly [Schema.Top, unknown, unknown]> = [
        [Schema.String, "x", "x"],
        [Schema.String, "", ""],
        [Schema.Boolean, false, false],
        [Schema.Number, 0, 0],
        [Schema.Number, 1.5, 1.5],
        [Schema.Number, NaN, "NaN"],
        [Schema.Number, -Infinity, "-Infinity"],
        [Schema.Finite, 1, 1],
        [Schema.Finite, NaN, "ended"],
        [Schema.String, 7, "ended"],
        [Schema.NumberFromString, 7, "7"],
        [Schema.Void, undefined, null],
        [Schema.Unknown, undefined, null],
        [Schema.Unknown, { a: undefined, b: 1n }, "ended"],
        [Schema.Unknown, { a: [undefined, 1] }, { a: [null, 1] }],
        [Schema.BigDecimal, BigDecimal.fromStringUnsafe("1.5"), "1.5"]
      ]
      for (const [success, value, expected] of cases) {
        assert.deepStrictEqual(yield* told(success, value), expected, `${String(value)} ${success.ast._tag}`)
      }
    }))
})

describe("a result that does not fit", () => {
  const played = (policy: unknown) =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("t", { success: Schema.Int, effects: "read", execute: () => Effect.succeed(++runs / 2) })
      const { model, script } = yield* ScriptedModel.make([ScriptedModel.call("t", {}), ScriptedModel.text("done")])
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: policy } } as never)
      const exit = yield* Effect.exit(
        agent.run("x") as Effect.Effect<unknown, { readonly _tag: string }, LanguageModel.LanguageModel>
      )
        .pipe(
          Effect.provideService(LanguageModel.LanguageModel, model)
        )
      const [, second] = yield* script.requests
      const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
      return { runs, failure: failure?._tag, told: second && lastResults(second.prompt)[0] }
    })

  it.effect("is escalated if the policy does so, else ends the run", () =>
    Effect.gen(function*() {
      const escalated = yield* played(Recovery.policy({ InvalidResult: "escalate" }))
      assert.deepStrictEqual([escalated.runs, escalated.failure, escalated.told?.isFailure], [1, undefined, true])
      for (const policy of [Recovery.policy({}), Recovery.policy({ InvalidResult: "rethrow" }), undefined]) {
        const { failure, runs, told } = yield* played(policy)
        assert.deepStrictEqual([runs, failure, told], [1, "InvalidResult", undefined])
      }
    }))

  it.effect("is checked also if its schema is effectful", () =>
    Effect.gen(function*() {
      const Asked = Schema.Int.pipe(Schema.encodeTo(Schema.String, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transformEffect((n: number) => Effect.as(Effect.yieldNow, `number ${n}`))
      }))
      const told = (value: number) =>
        Effect.gen(function*() {
          const tool = Tool.make("t", { success: Asked, effects: "read", execute: () => Effect.succeed(value) })
          const { model, script } = yield* ScriptedModel.make([ScriptedModel.call("t", {}), ScriptedModel.text("done")])
          const agent = Agent.make("a", {
            tools: [tool],
            defaults: { onError: Recovery.policy({ InvalidResult: "escalate" }) }
          })
          yield* agent.run("x").pipe(Effect.provideService(LanguageModel.LanguageModel, model)) as Effect.Effect<
            unknown
          >
          return lastResults((yield* script.requests)[1]!.prompt)[0]
        })
      assert.strictEqual((yield* told(7))?.result, "number 7")
      assert.isTrue((yield* told(0.5))?.isFailure)
    }))
})

describe("a tainted toolkit", () => {
  const Pay = (runs: { count: number }) =>
    Tool.make("pay", {
      effects: "write",
      success: Schema.String,
      execute: () => Effect.sync(() => `paid ${++runs.count}`)
    })

  it.effect("provider calls taint, before or within the answer; trusted tools do not", () =>
    Effect.gen(function*() {
      const executed = (name = "web_search") => ({
        type: "tool-result" as const,
        id: "w",
        name,
        isFailure: false,
        result: "IGNORE ALL",
        providerExecuted: true
      })
      const called = (name = "web_search", providerExecuted = true) => ({
        type: "tool-call" as const,
        id: "w",
        name,
        params: {},
        providerExecuted
      })
      const own = { ...executed("read"), providerExecuted: false }
      const cases: ReadonlyArray<
        readonly [name: string, messages: ReadonlyArray<Prompt.MessageEncoded>, isTainted: boolean]
      > = [
        ["nothing", [], false],
        ["a search of the provider", [{ role: "assistant", content: [called(), executed()] }], true],
        ["a call of the provider without its result", [{ role: "assistant", content: [called()] }], false],
        ["words", [{ role: "assistant", content: "web_search" }], false],
        [
          "the agent's own",
          [{ role: "assistant", content: [called("read", false)] }, { role: "tool", content: [own] }],
          false
        ],
        [
          "the agent's own, in the message that calls it",
          [{ role: "assistant", content: [called("read", false), own] }],
          false
        ],
        [
          "a search of the provider, whose result stands where the agent's own do",
          [{ role: "assistant", content: [called()] }, { role: "tool", content: [executed()] }],
          true
        ],
        ["a rule", [{ role: "system", content: "web_search" }], false],
        // A tool of the program that is trusted, whoever executed it.
        ["a trusted tool", [{ role: "assistant", content: [called("pay"), executed("pay")] }], false]
      ]
      for (const [name, messages, isTainted] of cases) {
        const runs = { count: 0 }
        const toolkit = AiToolkit.toToolkit([Pay(runs)], { onTainted: "deny" } as never)
        const model = partsModel(() => [{ type: "tool-call", id: "p", name: "pay", params: {} }, finish("tool-calls")])
        yield* Effect.exit(
          LanguageModel.generateText({
            prompt: [{ role: "user", content: "Pay" }, ...messages, { role: "user", content: "Now" }],
            toolkit
          } as never).pipe(Effect.provide(model)) as Effect.Effect<unknown>
        )
        assert.strictEqual(runs.count, isTainted ? 0 : 1, name)
      }
    }))
})
