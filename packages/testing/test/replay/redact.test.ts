import { assert, describe, it } from "@effect/vitest"
import { Replay, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Option, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Recovery, Redaction, Tool, ToolCall } from "@recourse/core"

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
const other = "ghp_292c6912E7710c838347Ae178B4a16C7e42F"

/** An agent whose tools answer and fail as configured, and whose model calls them. */
const agentOf = (tools: ReadonlyArray<Tool.Any>) =>
  Agent.make("a", { tools: tools as never, defaults: { onError: Recovery.standard } }) as unknown as Agent.Agent<
    string,
    string,
    unknown,
    never
  >

const recorded = (
  tools: ReadonlyArray<Tool.Any>,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  redact?: Replay.RecordOptions["redact"],
  input = "go"
) =>
  Replay.record(agentOf(tools), input, { tools, redact }).pipe(
    Effect.flatMap(({ recording }) => Replay.stringify(recording)),
    Effect.provide(ScriptedModel.layer(turns))
  )

const differenceOf = (json: string, tools: ReadonlyArray<Tool.Any>) =>
  Effect.flatMap(
    Replay.parse(json),
    (recording) =>
      Effect.map(Replay.run(agentOf(tools), recording, { tools }), ({ difference }) =>
        Option.map(difference, Replay.print))
  )

const look = (success: Schema.Top, answer: unknown, options: object = {}): Tool.Any =>
  Tool.make("look", { success, effects: "read", execute: () => Effect.succeed(answer), ...options } as never) as never

const ends = [ScriptedModel.call("look", {}), ScriptedModel.text("done")]

describe("a text that a field has", () => {
  it.effect("is redacted only under its name if it is short", () =>
    Effect.gen(function*() {
      const Look = look(
        Schema.Struct({
          initials: Schema.String,
          note: Schema.String,
          json: Schema.String,
          of: Schema.Array(Schema.String)
        }),
        { initials: "al", note: "al is all", json: "{\"initials\":\"al\",\"of\":[{\"x\":1},\"al\"]}", of: ["al"] }
      )
      const json = yield* recorded([Look], ends, { fields: ["initials"] })
      const { executions } = yield* Replay.parse(json)
      assert.deepInclude(executions[0]!.outcome, {
        value: {
          initials: "[redacted: initials 1]",
          note: "al is all",
          json: "{\"initials\":\"[redacted: initials 1]\",\"of\":[{\"x\":1},\"al\"]}",
          of: ["al"]
        }
      })
      assert.deepStrictEqual(yield* differenceOf(json, [Look]), Option.none())
    }))

  it.effect("is no reason to change a name or a tag", () =>
    Effect.gen(function*() {
      class Broken extends Data.TaggedError("Broken")<{}> {}
      const Look = look(Schema.Struct({ topic: Schema.Array(Schema.String) }), {
        topic: ["look", "Broken", "tool-call", "success", "assistant", "call_1"]
      })
      const Fail = Tool.make("fail", {
        effects: "read",
        execute: () => Effect.fail(new Broken())
      }) as unknown as Tool.Any
      const calls = [
        ScriptedModel.calls([{ name: "look", params: {} }, { name: "fail", params: {} }]),
        ScriptedModel.text("x")
      ]
      const json = yield* recorded([Look, Fail], calls, { fields: ["topic"] })
      const raw = yield* recorded([Look, Fail], calls, false)
      assert.strictEqual(json.split("\"tool\":\"look\"").length, raw.split("\"tool\":\"look\"").length)
      assert.include(json, "\"reason\":\"Broken\"")
      assert.include(json, "[redacted: topic 6]")
      assert.deepStrictEqual(yield* differenceOf(json, [Look, Fail]), Option.none())
    }))

  it.effect("is none of the library's own words about a result", () =>
    Effect.gen(function*() {
      const own = { source: "a book", instruction: "Read it aloud.", code: "480213" }
      const Look = look(
        Schema.Struct({ source: Schema.String, instruction: Schema.String, code: Schema.String }),
        own,
        {
          trust: "untrusted",
          resultLimit: 20
        }
      )
      const Fail = Tool.make("fail", {
        effects: "read",
        execute: () => ToolCall.escalate({ code: "closed", reason: "It is closed." })
      }) as unknown as Tool.Any
      const calls = [
        ScriptedModel.calls([{ name: "look", params: {} }, { name: "fail", params: {} }]),
        ScriptedModel.text("x")
      ]
      const json = yield* recorded([Look, Fail], calls, { fields: Object.keys(own) })
      for (const secret of Object.values(own)) assert.notInclude(json, secret)
      assert.include(json, "Call again in a way that answers less")
      assert.include(json, "\"code\":\"closed\"")
      assert.deepStrictEqual(yield* differenceOf(json, [Look, Fail]), Option.none())
    }))

  it.effect("is found within texts that are JSON, and below the field", () =>
    Effect.gen(function*() {
      const Look = look(Schema.Struct({ json: Schema.String, customer: Schema.Unknown, deep: Schema.Unknown }), {
        json: "{ \"customer\": {\"iban\": \"DE\\u00e902\", \"n\": 1203} }",
        customer: "{\"street\":\"Main Road\"}",
        deep: { customer: { names: [{ first: "Augusta" }] }, other: "1203" }
      })
      const json = yield* recorded([Look], ends, { fields: ["customer"] })
      for (const secret of ["DE\u00e902", "Main Road", "Augusta"]) assert.notInclude(json, secret)
      assert.include(
        json,
        JSON.stringify(JSON.stringify("{ \"customer\": {\"iban\": \"[redacted: customer 1]\", \"n\": 1203} }")).slice(
          3,
          -3
        )
      )
      assert.deepStrictEqual(yield* differenceOf(json, [Look]), Option.none())
    }))
})

describe("a placeholder", () => {
  const Email = Schema.String.check(Schema.isPattern(/^[\w.]+@[\w.]+$/))
  const Code = Schema.String.check(Schema.isPattern(/^\d{6}$/))
  const Hex = Schema.String.check(Schema.isPattern(/^[0-9a-f]{12}$/))
  const Person = Schema.Struct({ email: Email, code: Code, hex: Hex })
  const person = { email: "ada@example.org", code: "480213", hex: "9f86d081884c" }

  it.effect("has the shape that a tool's schema asks for", () =>
    Effect.gen(function*() {
      const Look = look(Person, person)
      const Send = Tool.make("send", {
        parameters: Person,
        success: Schema.String,
        effects: "write",
        execute: ({ code, email }) => Effect.succeed(`${email} ${code}`)
      }) as unknown as Tool.Any
      const turns = [
        ScriptedModel.call("look", {}),
        ScriptedModel.call("send", person),
        ScriptedModel.text(`${person.email} has ${person.code}`)
      ]
      const json = yield* recorded([Look, Send], turns, { fields: ["email", "code", "hex"] })
      for (const secret of Object.values(person)) assert.notInclude(json, secret)
      for (const shape of ["xxx@xxxxxxx.xxy", "000001", "0a00a000000b"]) assert.include(json, shape)
      assert.deepStrictEqual(yield* differenceOf(json, [Look, Send]), Option.none())
    }))

  it.effect("fits a person's answers, and arguments without results", () =>
    Effect.gen(function*() {
      const tool = (name: string) =>
        Tool.make(name, {
          parameters: Schema.Struct({ email: Email }),
          success: Schema.Struct({ code: Code }),
          effects: "write",
          needsApproval: true,
          execute: () => Effect.die("not executed")
        }) as unknown as Tool.Any
      const tools = [tool("respond"), tool("reject")]
      const agent = Agent.make("a", { tools: tools as never, defaults: { onError: Recovery.standard } }).pipe(
        Agent.provide(Approval.layerKey(Redacted.make("a key for tests of thirty-two bytes or more")))
      ) as unknown as Agent.Agent<string, string, unknown, never>
      const { recording } = yield* Replay.record(agent, "go", {
        tools,
        redact: { fields: ["email", "code"] },
        decide: (pending) =>
          Effect.succeed(pending.map((call) =>
            call.tool === "respond" ? Approval.respond(call, { code: "480213" }) : Approval.reject(call, "no")
          ))
      }).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls([
            { name: "respond", params: { email: "ada@example.org" } },
            { name: "reject", params: { email: "b@example.org" } }
          ]),
          ScriptedModel.text("done")
        ]))
      )
      const stored = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
      const replayed = yield* Replay.run(agent, stored, { tools })
      assert.deepStrictEqual(Option.map(replayed.difference, Replay.print), Option.none())
      assert.strictEqual(replayed.exit._tag, "Success")
      assert.include(JSON.stringify(stored.pauses), "000001")
    }))

  it.effect("is the user's if no shape fits, else a difference", () =>
    Effect.gen(function*() {
      const sum = (text: string) => [...text].reduce((sum, digit) => sum + Number(digit), 0)
      const Look = look(Schema.String.check(Schema.makeFilter((text) => sum(text) === 30)), "6664440")
      const Named = look(Schema.Struct({ card: Look.success as Schema.Codec<string> }), { card: "6664440" })
      const json = yield* recorded([Named], ends, { fields: ["card"] })
      assert.notInclude(json, "6664440")
      assert.isTrue(Option.isSome(yield* differenceOf(json, [Named])))
      const made = yield* recorded([Named], ends, {
        fields: ["card"],
        placeholder: ({ kind, number, value }) => {
          assert.deepStrictEqual([kind, number, value], ["card", 1, "6664440"])
          return "7777200"
        }
      })
      assert.include(made, "7777200")
      assert.deepStrictEqual(yield* differenceOf(made, [Named]), Option.none())
    }))

  it.effect("is one for each secret, absent from the recording", () =>
    Effect.gen(function*() {
      const Look = look(Schema.Struct({ a: Schema.String, b: Schema.String, c: Schema.String }), {
        a: token,
        b: other,
        c: `${token} [redacted: github token 2]`
      })
      const json = yield* recorded([Look], ends)
      const { executions } = yield* Replay.parse(json)
      assert.deepInclude(executions[0]!.outcome, {
        value: {
          a: "[redacted: github token 1]",
          b: "[redacted: github token 3]",
          c: "[redacted: github token 1] [redacted: github token 2]"
        }
      })
      // A program that shows another secret is another program.
      const shows = (name: "a" | "b") =>
        look(Look.success, { a: token, b: other, c: "" }, {
          toModelOutput: (
            answer: { readonly a: string; readonly b: string }
          ) => [Prompt.textPart({ text: answer[name] })]
        })
      const shown = yield* recorded([shows("a")], ends)
      assert.deepStrictEqual(yield* differenceOf(shown, [shows("a")]), Option.none())
      assert.isTrue(Option.isSome(yield* differenceOf(shown, [shows("b")])))
    }))
})

describe("a recording", () => {
  it.effect("has no secrets as names, which come in their order", () =>
    Effect.gen(function*() {
      const Look = look(Schema.Record(Schema.String, Schema.Int), { a: 1, [token]: 2, z: 3 })
      const json = yield* recorded([Look], ends)
      assert.notInclude(json, token)
      assert.deepStrictEqual(yield* differenceOf(json, [Look]), Option.none())
    }))

  it.effect("has one placeholder for a secret that begins with another one", () =>
    Effect.gen(function*() {
      const Look = look(Schema.Struct({ street: Schema.String, address: Schema.String }), {
        street: "Main Road",
        address: "Main Road 12"
      })
      const { executions, input } = yield* Effect.flatMap(
        recorded([Look], ends, { fields: ["street", "address"] }, "to Main Road 12"),
        Replay.parse
      )
      assert.strictEqual(input, "to [redacted: address 1]")
      assert.deepInclude(executions[0]!.outcome, {
        value: { street: "[redacted: street 1]", address: "[redacted: address 1]" }
      })
    }))

  it.effect("is the same as the program's own redactor's", () =>
    Effect.gen(function*() {
      const Look = look(Schema.String, "password=correct-horse, for all")
      const Fail = Tool.make("fail", {
        success: Schema.String,
        effects: "read",
        execute: () => ToolCall.escalate({ code: "closed", reason: `no: password=correct-horse, ${token}` })
      }) as unknown as Tool.Any
      const turns = [
        ScriptedModel.calls([{ name: "look", params: {} }, { name: "fail", params: {} }]),
        ScriptedModel.text("It was correct-horse.")
      ]
      for (const redactor of [Redaction.make(), Redaction.make({ results: true })]) {
        const given = Redaction.layer(redactor)
        const json = yield* Effect.provide(recorded([Look, Fail], turns), given)
        for (const secret of ["correct-horse", token]) assert.notInclude(json, secret)
        assert.include(json, "It was [redacted: secret 1].")
        assert.deepStrictEqual(yield* Effect.provide(differenceOf(json, [Look, Fail]), given), Option.none())
      }
    }))

  it.effect("has no part of a secret cut by a result's limit", () =>
    Effect.gen(function*() {
      const options = { resultLimit: 60 }
      const Look = look(Schema.String, `${"It is written here: ".repeat(2)}${token} and so on`, options)
      const json = yield* recorded([Look], ends)
      assert.include(json, "truncated")
      assert.notInclude(json, "ghp_")
      assert.deepStrictEqual(yield* differenceOf(json, [Look]), Option.none())
    }))

  it.effect("that has been redacted is redacted", () =>
    Effect.gen(function*() {
      const Look = look(Schema.Struct({ password: Schema.String, email: Schema.String }), {
        password: "correct-horse",
        email: "ada@example.org"
      })
      const options = { fields: ["email"], tools: [Look] }
      const once = yield* recorded([Look], ends, options)
      const twice = yield* Replay.parse(once).pipe(
        Effect.flatMap((recording) => Replay.redact(recording, options)),
        Effect.flatMap(Replay.stringify)
      )
      assert.strictEqual(twice, once)
    }))

  it.effect("of a log of events is redacted by the same function", () =>
    Effect.gen(function*() {
      const Look = look(Schema.Struct({ token: Schema.String }), { token })
      const raw = yield* Effect.flatMap(recorded([Look], ends, false, `use ${token}`), Replay.parse)
      assert.include(yield* Replay.stringify(raw), token)
      const made = Replay.fromEvents(raw.events)
      const json = yield* Effect.flatMap(Replay.redact(made, { tools: [Look] }), Replay.stringify)
      assert.notInclude(json, token)
      assert.deepStrictEqual(yield* differenceOf(json, [Look]), Option.none())
    }))

  it.effect("does not contain the path of a defect's program", () =>
    Effect.gen(function*() {
      const Look = look(Schema.String, "", { execute: () => Effect.die(new Error("broken")) })
      const json = yield* recorded([Look], ends)
      assert.include(json, "broken")
      assert.notInclude(json, import.meta.filename)
    }))
})
