import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Option, References, Schema, Tracer } from "effect"
import { Agent, Telemetry, Tool } from "@recourse/core"

const tool = Tool.make("double", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ n }) => Effect.withSpan(Effect.succeed(n * 2), "within")
})

const run = Effect.orDie(Agent.make("a", { tools: [tool] }).run("x")).pipe(
  Effect.provide(ScriptedModel.layer([ScriptedModel.call("double", { n: 1 }), ScriptedModel.text("done")]))
)

/** Keeps the spans that are started. `onSpan` is called before a span is given to who starts it. */
const recording = (onSpan: (span: Tracer.Span) => void = () => {}) => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      onSpan(span)
      return span
    }
  })
  return { spans, tracer }
}

const parentOf = (span: Tracer.NativeSpan) =>
  Option.match(span.parent, { onNone: () => undefined, onSome: (parent) => parent._tag === "Span" ? parent.name : "" })

describe("spans of a run", () => {
  it.effect("are effect's: nested, with the context's annotations, links, level, times", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      yield* run.pipe(
        Effect.annotateSpans("tenant", "t1"),
        Effect.withSpan("outer"),
        Effect.provideService(References.TracerTimingEnabled, false),
        Effect.withTracer(tracer)
      )
      assert.deepStrictEqual(spans.map((span) => [span.name, parentOf(span)]), [
        ["outer", undefined],
        ["invoke_agent a", "outer"],
        ["chat unknown", "invoke_agent a"],
        ["execute_tool double", "invoke_agent a"],
        ["within", "execute_tool double"],
        ["chat unknown", "invoke_agent a"]
      ])
      for (const span of spans.slice(1)) {
        assert.strictEqual(span.attributes.get("tenant"), "t1", span.name)
        assert.strictEqual(span.status.startTime, 0n)
        assert.isTrue(span.status._tag === "Ended" && span.status.endTime === 0n, span.name)
      }
    }))

  it.effect.each<readonly [rule: string, capture: boolean | undefined, content: ReadonlyArray<string | undefined>]>([
    ["unless that is said", undefined, [undefined, undefined]],
    ["if it is said that they do not", false, [undefined, undefined]],
    ["not, if it is said that they do", true, ["{\"n\":1}", "2"]]
  ])("hold no arguments and no results, %s", ([, capture, content]) =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      yield* run.pipe(
        (run) => capture === undefined ? run : Effect.provideService(run, Telemetry.CaptureContent, capture),
        Effect.withTracer(tracer)
      )
      const { attributes } = spans.find(({ name }) => name === "execute_tool double")!
      assert.deepStrictEqual<unknown>(
        ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"].map((name) => attributes.get(name)),
        content
      )
    }))

  it.effect("are started as effect starts one in the same context", () =>
    Effect.gen(function*() {
      const external = (disabled: boolean) =>
        Tracer.externalSpan({
          spanId: "s",
          traceId: "t",
          sampled: true,
          annotations: disabled ? Context.make(Tracer.DisablePropagation, true) : Context.empty()
        })
      const within = (options: Tracer.SpanOptionsNoTrace) => Effect.withSpan("outer", options)
      const hidden = within({ annotations: Context.make(Tracer.DisablePropagation, true) })
      type Wrap = (effect: Effect.Effect<void>) => Effect.Effect<void>
      const contexts: Readonly<Record<string, Wrap>> = {
        "none": (effect) => effect,
        "a span": within({}),
        "one that is not sampled": within({ sampled: false }),
        "one that is not propagated": hidden,
        "one that is not propagated, within one that is": (effect) => within({})(hidden(effect)),
        "two that are not propagated": (effect) => hidden(hidden(effect)),
        "an external one": Effect.withParentSpan(external(false)),
        "an external one that is not propagated": Effect.withParentSpan(external(true)),
        "a link": Effect.provideService(References.TracerSpanLinks, [{ span: external(false), attributes: {} }]),
        "a level that is not traced": (effect) =>
          effect.pipe(
            Effect.provideService(Tracer.MinimumTraceLevel, "Error"),
            Effect.provideService(Tracer.CurrentTraceLevel, "Info")
          ),
        "a level that is": (effect) =>
          effect.pipe(
            Effect.provideService(Tracer.MinimumTraceLevel, "Info"),
            Effect.provideService(Tracer.CurrentTraceLevel, "Error")
          ),
        "the level of the least": (effect) =>
          effect.pipe(
            Effect.provideService(Tracer.MinimumTraceLevel, "Info"),
            Effect.provideService(Tracer.CurrentTraceLevel, "Info")
          ),
        "no tracing": Effect.withTracerEnabled(false)
      }
      for (const [name, around] of Object.entries(contexts)) {
        const started: Array<unknown> = []
        const tracer = Tracer.make({
          span: (options) => {
            const { links, name, parent, root, sampled } = options
            if (name !== "outer") {
              started.push([
                name === "probe" ? "invoke_agent a" : name,
                Option.getOrUndefined(parent)?.spanId,
                links.length,
                root,
                sampled
              ])
            }
            return new Tracer.NativeSpan(options)
          }
        })
        yield* around(Effect.andThen(Effect.makeSpan("probe"), Effect.asVoid(run))).pipe(Effect.withTracer(tracer))
        assert.deepStrictEqual(started[1], started[0], name)
        assert.strictEqual(started.length, name === "no tracing" ? 0 : 6)
      }
    }))

  it.effect("are absent if disabled, and unsampled below an unsampled parent", () =>
    Effect.gen(function*() {
      const off = recording()
      yield* run.pipe(Effect.withTracerEnabled(false), Effect.withTracer(off.tracer))
      assert.deepStrictEqual(off.spans, [])
      const unsampled = recording()
      yield* run.pipe(Effect.withSpan("outer", { sampled: false }), Effect.withTracer(unsampled.tracer))
      assert.strictEqual(unsampled.spans.length, 6)
      assert.isTrue(unsampled.spans.every(({ sampled }) => !sampled))
    }))

  it.effect("are empty if disabled, also inner ones", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      const within = Agent.fromFunction("a", () =>
        Effect.all([Effect.currentSpan, Effect.withSpan(Effect.currentSpan, "b")]))
      const found = yield* within.run("x").pipe(Effect.withTracerEnabled(false), Effect.withTracer(tracer))
      const own = yield* Effect.withSpan(Effect.currentSpan, "c").pipe(Effect.withTracerEnabled(false))
      for (const span of found) {
        assert.deepStrictEqual([span.sampled, span.spanId], [own.sampled, own.spanId])
      }
      assert.deepStrictEqual(spans, [])
    }))

  it.effect("are none of a run that is interrupted before it begins", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      const begun = Effect.withFiber((fiber) => {
        fiber.interruptUnsafe()
        return run
      })
      const exit = yield* Fiber.await(yield* Effect.forkChild(Effect.withTracer(begun, tracer)))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(spans.filter(({ status }) => status._tag !== "Ended"), [])
    }))

  it.effect("say which agent runs, and in which run", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      const inner = Agent.fromFunction("inner", (_: string) => Effect.void)
      yield* Agent.fromFunction("outer", (text: string) => inner.run(text)).run("x", { runId: "r" }).pipe(
        Effect.withTracer(tracer)
      )
      for (const name of ["outer", "inner"]) {
        const span = spans.find((span) => span.name === `invoke_agent ${name}`)
        assert.deepStrictEqual(Object.fromEntries(span!.attributes), {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": name,
          "gen_ai.conversation.id": "r"
        })
      }
    }))

  it.effect("have the tag of a run's error only", () =>
    Effect.gen(function*() {
      const ends: Readonly<Record<string, readonly [Effect.Effect<unknown, unknown>, type?: string]>> = {
        "an answer": [Effect.succeed(1)],
        "an error with a tag": [Effect.fail({ _tag: "Down", message: "hunter2" }), "Down"],
        "an error without one": [Effect.fail(new TypeError("hunter2")), "Error"],
        "a defect": [Effect.die(new TypeError("hunter2")), "Defect"],
        "an interruption": [Effect.interrupt, "Interrupted"]
      }
      for (const [what, [effect, type]] of Object.entries(ends)) {
        const { spans, tracer } = recording()
        yield* Effect.exit(Agent.fromFunction("a", () => effect).run("x")).pipe(Effect.withTracer(tracer))
        const [{ attributes, status }] = spans as [Tracer.NativeSpan]
        assert(status._tag === "Ended")
        assert.deepStrictEqual(attributes.get("error.type"), type, what)
        assert.strictEqual(attributes.has("error.type"), type !== undefined, what)
        const { exit } = status
        assert.strictEqual(Exit.isFailure(exit), type !== undefined, what)
        if (!Exit.isFailure(exit)) {
          assert.isUndefined(exit.value)
          continue
        }
        const [reason, ...others] = exit.cause.reasons
        assert.deepStrictEqual(others, [])
        const kinds: Readonly<Record<string, string>> = { Defect: "Die", Interrupted: "Interrupt" }
        assert.strictEqual(reason?._tag, kinds[type!] ?? "Fail", what)
        if (reason?._tag === "Interrupt") continue
        const ended = reason?._tag === "Die" ? reason.defect : reason?.error
        assert.deepInclude(ended, { _tag: type, name: type, message: type, stack: type })
      }
    }))

  it.effect("end, also if an interruption comes at their start", () =>
    Effect.gen(function*() {
      for (const name of ["invoke_agent a", "chat unknown", "execute_tool double"]) {
        let fiber: Fiber.Fiber<unknown, unknown> | undefined
        const { spans, tracer } = recording((span) => span.name === name && fiber?.interruptUnsafe())
        fiber = yield* Effect.forkChild(Effect.withTracer(Effect.andThen(Effect.yieldNow, run), tracer))
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.hasInterrupts(exit), name)
        assert.isTrue(spans.some((span) => span.name === name))
        assert.deepStrictEqual(spans.filter(({ status }) => status._tag !== "Ended").map(({ name }) => name), [])
      }
    }))
})

it("metrics describe their counts for dashboards", () => {
  assert.deepStrictEqual(
    [Telemetry.toolRetries, Telemetry.toolFixes, Telemetry.toolEscalations, Telemetry.modelRetries].map((
      { description, id }
    ) => [id, description]),
    [
      ["recourse_tool_retries", "Attempts of tool calls beyond the first"],
      ["recourse_tool_fixes", "Times that a fixer was asked"],
      ["recourse_tool_escalations", "Failures that were handed to a model"],
      ["recourse_model_retries", "Model calls that were made again"]
    ]
  )
})
