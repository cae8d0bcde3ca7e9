import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, TestTracer } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Option, Schema, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import {
  Agent,
  Catalogue,
  ErrorProjection,
  Recovery,
  Redaction,
  RunRecord,
  Telemetry,
  Tool,
  ToolError
} from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"

/** Planted undeclared secrets: the first one has no detectable format. */
const planted = ["correct-horse", "ghp_0123456789abcdefghijABCDEFGHIJ456789", "postgres://root:hunter2@10.0.0.7/crm"]
const leaky = planted.join(" and ")

class Refused extends Schema.TaggedError<Refused>()(
  "Refused",
  {
    order: Schema.String,
    internal: Schema.String
  },
  ErrorProjection.declare<{ readonly order: string }>({
    code: "not_found",
    model: ({ order }) => `There is no order ${order}.`,
    user: ({ order }) => ({ en: `I could not find order ${order}.`, zh: `未找到订单 ${order}。` })
  })
) {}

class Busy extends Schema.TaggedError<Busy>()(
  "Busy",
  { internal: Schema.String },
  ErrorProjection.declare({
    code: "rate_limited",
    retryAfter: () => "30 seconds"
  })
) {}

class Undeclared extends Schema.TaggedError<Undeclared>()("Undeclared", { internal: Schema.String }) {
  override get message(): string {
    return this.internal
  }
}

const tool = (fail: () => Effect.Effect<string, unknown>) =>
  Tool.make("find", {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    effects: "read",
    failure: Schema.Union([Refused, Busy, Undeclared]),
    execute: fail
  }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))

/** Everything that a model, a user or an observer gets of a run. */
const sinks = (fail: () => Effect.Effect<string, unknown>, layer: Layer.Layer<never> = Layer.empty) =>
  Effect.gen(function*() {
    const { events, layer: listening } = collect()
    const agent = Agent.make("a", { tools: [tool(fail)] })
    return yield* Effect.gen(function*() {
      const exit = yield* Effect.exit(Stream.runCollect(agent.stream("go")))
      const script = yield* ScriptedModel.ScriptedModel
      const { spans } = yield* TestTracer.TestTracer
      const requests = yield* script.requests
      const all = (yield* spans).map((span) => ({
        attributes: [...span.attributes],
        events: span.events,
        status: span.status._tag === "Ended" && Exit.isFailure(span.status.exit)
          ? Cause.pretty(span.status.exit.cause)
          : ""
      }))
      const record = Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined
      return {
        exit,
        requests: JSON.stringify(requests.map(({ prompt }) => prompt)),
        events: JSON.stringify(events),
        spans: JSON.stringify(all, (_, value) => typeof value === "bigint" ? String(value) : value),
        history: JSON.stringify(record?.transcript ?? []),
        results: requests.flatMap(({ prompt }) => lastResults(prompt)).map(({ result }) => result)
      }
    }).pipe(
      Effect.provideService(Telemetry.CaptureContent, true),
      Effect.provide(Layer.mergeAll(
        listening,
        layer,
        TestTracer.layer,
        ScriptedModel.layer([ScriptedModel.call("find", { order: "A-7" }), ScriptedModel.text("ok")])
      ))
    )
  })

const assertNoLeak = (seen: Effect.Success<ReturnType<typeof sinks>>) => {
  for (const sink of ["requests", "events", "spans", "history"] as const) {
    for (const secret of planted) assert.notInclude(seen[sink], secret, sink)
  }
}

describe("projections", () => {
  const cases: Record<string, () => Effect.Effect<string, unknown>> = {
    "an undeclared error": () => Effect.fail(new Undeclared({ internal: leaky })),
    "an Error with a cause": () => Effect.fail(new Error(leaky, { cause: new Error(leaky) })),
    "a string": () => Effect.fail(leaky),
    "a declared error's other fields": () => Effect.fail(new Refused({ order: "A-7", internal: leaky })),
    "a defect": () => Effect.die(new Error(leaky, { cause: leaky }))
  }
  for (const [name, fail] of Object.entries(cases)) {
    it.effect(`planted secrets reach no sink: ${name}`, () =>
      Effect.gen(function*() {
        const seen = yield* sinks(fail)
        assertNoLeak(seen)
        const user = Exit.isFailure(seen.exit)
          ? yield* ErrorProjection.forUser(Cause.squash(seen.exit.cause), "r")
          : undefined
        for (const secret of planted) assert.notInclude(JSON.stringify(user ?? {}), secret)
      }))
  }

  it.effect("an untrusted tag is redacted in events and spans, recovered or not", () =>
    Effect.gen(function*() {
      const foreign = JSON.parse(JSON.stringify({ _tag: `down: ${planted[2]} ${planted[1]}` })) as {
        readonly _tag: string
      }
      const escalated = yield* sinks(() => Effect.fail(foreign))
      assert.notInclude(JSON.stringify(escalated), planted[1]!)
      const { events, layer } = collect()
      const spans = yield* Effect.gen(function*() {
        const find = Tool.make("find", { effects: "read", execute: () => Effect.fail(foreign) }).pipe(
          Tool.onError((call) => Effect.catchTag(call, "ExecutionError", (error) => Effect.fail(error.reason)))
        )
        const agent = Agent.make("a", {
          tools: [find],
          defaults: { onError: Recovery.policy({ InvalidArgs: "escalate" }) }
        })
        yield* Effect.exit(agent.run("go") as Effect.Effect<string, unknown, LanguageModel.LanguageModel>)
        return yield* (yield* TestTracer.TestTracer).spans
      }).pipe(Effect.provide(Layer.mergeAll(
        layer,
        TestTracer.layer,
        ScriptedModel.layer([ScriptedModel.call("find", {}), ScriptedModel.text("ok")])
      )))
      const seen = JSON.stringify([
        events,
        spans.map((span) => [
          span.name,
          [...span.attributes],
          span.events.map((event) => event[2]),
          span.status._tag === "Ended" && Exit.isFailure(span.status.exit) ? Cause.pretty(span.status.exit.cause) : ""
        ])
      ])
      for (const secret of planted.slice(1)) assert.notInclude(seen, secret)
      assert.include(seen, "[redacted: github token]")
      const told = ErrorProjection.forOperator(Cause.fail(foreign), "r")
      assert.notInclude(told.error, planted[1]!)
    }))

  it.effect("a declared text is redacted once on its way to each reader", () =>
    Effect.gen(function*() {
      // Whoever passes twice is marked twice.
      const marking = Redaction.layer({ results: false, text: (text) => `<${text}>` })
      const { events, results } = yield* sinks(
        () => Effect.fail(new Refused({ order: "A-7", internal: leaky })),
        marking
      )
      const [failure] = results as ReadonlyArray<ErrorProjection.ToolFailure>
      assert.strictEqual(failure?.message_for_model, "<There is no order A-7.>")
      assert.strictEqual(failure?.message_for_user, "<I could not find order A-7.>")
      assert.notInclude(events, "<<")
      const user = yield* Effect.provide(
        ErrorProjection.forUser(
          new ToolError.ExecutionError({
            tool: "find",
            callId: "c1",
            attempt: 1,
            causes: [],
            reason: "x",
            declared: { code: "not_found", user: "There is none.", repeatable: false }
          }),
          "r"
        ),
        marking
      )
      assert.strictEqual(user.message, "<There is none.>")
    }))

  it.effect("only declared text reaches the model and the user", () =>
    Effect.gen(function*() {
      const { results } = yield* sinks(cases["a declared error's other fields"]!)
      const result = results[0] as ErrorProjection.ToolFailure
      assert.strictEqual(result.code, "not_found")
      assert.strictEqual(result.message_for_model, "There is no order A-7.")
      assert.strictEqual(result.message_for_user, "I could not find order A-7.")
      const [undeclared] = (yield* sinks(cases["an undeclared error"]!)).results as Array<ErrorProjection.ToolFailure>
      assert.deepStrictEqual([undeclared?.code, undeclared?.message_for_model], [
        "execution_error",
        "Tool execution failed."
      ])
    }))

  it.effect("the user's text is in the user's language, declared or not", () =>
    Effect.gen(function*() {
      const zh = Catalogue.layerLocale("zh-CN")
      const [declared] = (yield* sinks(cases["a declared error's other fields"]!, zh)).results
      assert.strictEqual((declared as ErrorProjection.ToolFailure).message_for_user, "未找到订单 A-7。")
      const [plain] = (yield* sinks(cases["a string"]!, zh)).results
      assert.strictEqual((plain as ErrorProjection.ToolFailure).message_for_user, "出现问题，请稍后再试。")
      assert.strictEqual((plain as ErrorProjection.ToolFailure).message_for_model, "Tool execution failed.")
    }))

  it.effect("a declared code has the table's sentences and the retry time", () =>
    Effect.gen(function*() {
      const [busy] = (yield* sinks(() => Effect.fail(new Busy({ internal: leaky })))).results
      const failure = busy as ErrorProjection.ToolFailure
      assert.deepStrictEqual(
        [failure.code, failure.retry_after_ms, failure.safe_to_retry, failure.message_for_user],
        ["rate_limited", 30_000, true, "There are too many requests at the moment. Please try again later."]
      )
    }))

  it.effect("declared text with secrets is redacted before every sink", () =>
    Effect.gen(function*() {
      class Careless extends Schema.TaggedError<Careless>()(
        "Careless",
        { text: Schema.String },
        ErrorProjection.declare<{
          readonly text: string
        }>({ model: ({ text }) => text, user: ({ text }) => text })
      ) {}
      const secrets = planted.slice(1)
      const careless = Tool.make("find", {
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        failure: Careless,
        execute: () => Effect.fail(new Careless({ text: `no: ${secrets.join(" ")}` }))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const { events, layer } = collect()
      const request = yield* Effect.gen(function*() {
        yield* Agent.make("a", { tools: [careless] }).run("go")
        return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      }).pipe(Effect.provide(
        Layer.merge(
          layer,
          ScriptedModel.layer([ScriptedModel.call("find", { order: "A" }), ScriptedModel.text("ok")])
        )
      ))
      for (const secret of secrets) {
        assert.notInclude(JSON.stringify(request.prompt), secret)
        assert.notInclude(JSON.stringify(events), secret)
      }
      assert.include(JSON.stringify(request.prompt), "[redacted: github token]")
    }))

  it.effect("results are redacted on request only, before every sink", () =>
    Effect.gen(function*() {
      const found = () => Effect.succeed(`see ${planted[1]}`)
      assert.include((yield* sinks(found)).requests, planted[1]!)
      const seen = yield* sinks(found, Redaction.layer(Redaction.make({ results: true })))
      assertNoLeak(seen)
      assert.deepStrictEqual(seen.results, ["see [redacted: github token]"])
    }))

  it("the operator's has the original cause, and its redacted text", () => {
    const error = new Undeclared({ internal: leaky })
    const projection = ErrorProjection.forOperator(Cause.fail(error), "run-1")
    assert.strictEqual(Cause.squash(projection.cause), error)
    assert.strictEqual(projection.error, "Undeclared")
    assert.include(projection.text, "correct-horse")
    assert.notInclude(projection.text, "hunter2")
    assert.notInclude(projection.text, planted[1]!)
  })
})

describe("redaction", () => {
  const { text } = Redaction.make()
  const taken: ReadonlyArray<readonly [string, string]> = [
    ["AKIAIOSFODNN7EXAMPLE", "aws key"],
    ["ghp_0123456789abcdefghijABCDEFGHIJ456789", "github token"],
    ["glpat-0123456789abcdefghij", "gitlab token"],
    ["xoxb-123456789012-abcdefghijkl", "slack token"],
    ["sk_live_0123456789abcdefghij", "stripe key"],
    ["sk-ant-api03-abcdefghijklmnop", "api key"],
    ["AIzaSyA-0123456789abcdefghijklmnopqrstu", "google key"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "token"],
    ["Bearer abcdefgh12345678", "token"],
    ["postgres://root:hunter2@db/crm", "credentials"],
    ["password=hunter2", "secret"],
    ["\"api_key\": \"abc123\"", "secret"],
    ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "secret"],
    ["Zm9vYmFyMTIzNDU2Nzg5MHF3ZXJ0eXVpb3BBU0RGR0g", "secret"],
    ["10.1.2.3:5432", "address"],
    ["192.168.0.1", "address"],
    ["172.20.1.1", "address"],
    ["fd12:3456::1", "address"],
    ["db.prod.internal", "address"],
    ["localhost:8080", "address"],
    ["SELECT name FROM users WHERE id = 7", "sql"],
    ["delete from users", "sql"],
    ["    at connect (/srv/app/db.js:10:5)", "stack"],
    ["  File \"/srv/app.py\", line 10, in main", "stack"],
    ["/home/ada/.ssh/id_rsa", "path"],
    ["C:\\Users\\ada\\key.pem", "path"],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "private key"]
  ]
  for (const [secret, kind] of taken) {
    it(`takes out ${kind}: ${secret.slice(0, 12)}`, () => {
      const out = text(`before ${secret.startsWith(" ") ? `\n${secret}\n` : secret} after`)
      assert.include(out, `[redacted: ${kind}]`)
      assert.notInclude(out, secret.trim())
    })
  }

  it("leaves ordinary text alone", () => {
    for (
      const line of [
        "There is no order A-4711.",
        "Select a date from the calendar.",
        "The file report.pdf has 3 pages; see https://example.com/a/b",
        "Customer 8.8.8.8 at 10:30",
        "未找到订单 7。",
        "run 123e4567-e89b-12d3-a456-426614174000 ended and/or was stopped"
      ]
    ) assert.strictEqual(text(line), line)
  })

  it("takes time in proportion to the text", () => {
    const start = performance.now()
    for (const part of ["a.", "at a ", "[](", "passwor", "a:b@", "/a", "select x "]) text(part.repeat(20_000))
    assert.isBelow(performance.now() - start, 5_000)
  })
})
