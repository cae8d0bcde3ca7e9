/** Shortened conversations: cut, trimmed and summarised random conversations, against their specification. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, History, Quarantine } from "@recourse/core"
import { Effect, Exit } from "effect"
import { Prompt } from "effect/ai"
import { random } from "../support/kit.ts"

const text = (said: string) => Prompt.textPart({ text: said })
const system = (content: string) => Prompt.systemMessage({ content })
const user = (said: string) => Prompt.userMessage({ content: [text(said)] })
const assistant = (...content: ReadonlyArray<Prompt.AssistantMessagePart>) => Prompt.assistantMessage({ content })
const tool = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })
const call = (id: string, params: unknown = {}) =>
  Prompt.toolCallPart({ id, name: "find", params, providerExecuted: false })
const result = (id: string, said: unknown, more: Partial<Prompt.ToolResultPart> = {}) =>
  Prompt.toolResultPart({ id, name: "find", isFailure: false, result: said, providerExecuted: false, ...more })
const prompt = (...messages: ReadonlyArray<Prompt.Message>) => Prompt.fromMessages(messages)

const one: Readonly<Record<string, (n: number) => Prompt.Message>> = {
  s: (n) => system(`s${n} `.repeat(1 + n % 5)),
  u: (n) => user(`u${n} `.repeat(1 + n % 7)),
  a: (n) => n % 2 === 0 ? assistant(text(`a${n}`)) : assistant(call(`c${n}`)),
  t: (n) => tool(result(`c${n - 1}`, `t${n} `.repeat(1 + n % 40)))
}
const ofRoles = (roles: string): Prompt.Prompt => prompt(...[...roles].map((role, n) => one[role]!(n)))

/** All short conversations by their roles, and some longer ones. */
const conversations = ((): ReadonlyArray<string> => {
  const next = random(7)
  const drawn = Array.from(
    { length: 120 },
    () => Array.from({ length: 5 + Math.floor(next() * 8) }, () => "suaattu"[Math.floor(next() * 7)]).join("")
  )
  const longer = (all: ReadonlyArray<string>) =>
    all.flatMap((roles) => ["s", "u", "a", "t"].map((role) => roles + role))
  const [one, two, three] = [longer([""]), longer(longer([""])), longer(longer(longer([""])))]
  return ["", ...one, ...two, ...three, ...longer(three), ...drawn]
})()

/** The messages at the beginning that are the system's, and how many messages each unit behind them has. */
const unitsOf = (roles: string): { readonly system: number; readonly units: ReadonlyArray<string> } => {
  const [beginning] = roles.match(/^s*/)!
  return { system: beginning.length, units: roles.slice(beginning.length).match(/[ua][st]*|^[t]+[st]*/g) ?? [] }
}

/** The places of the messages that are left when the last `count` units are: a sentence of the documentation each. */
const leftOf = (roles: string, count: number): ReadonlyArray<number> => {
  const { system, units } = unitsOf(roles)
  let place = system
  const placed = units.map((unit) => [...unit].map(() => place++))
  const isUser = (index: number) => units[index]!.startsWith("u")
  const all = [...roles].map((_, index) => index)
  if (count >= units.length) return all
  const last = units.findLastIndex((_, index) => isUser(index))
  const from = units.length - count
  const staying = new Set(Array.from({ length: count }, (_, index) => from + index))
  // The rest starts with a user's message, and the last message of a user stays.
  const begins = [...staying].find(isUser)
  const kept = begins !== undefined
    ? [...staying].filter((index) => index >= begins)
    : last >= 0
    ? [last, ...[...staying].filter((index) => index > last)]
    : [...staying]
  return [...all.slice(0, system), ...kept.flatMap((index) => placed[index]!)]
}

const placesIn = (whole: Prompt.Prompt, left: Prompt.Prompt): ReadonlyArray<number> =>
  left.content.map((message) => whole.content.indexOf(message))

describe("cut conversations", () => {
  it("keepLast: keeps the last units up to a count, at least one", () => {
    for (const roles of conversations) {
      const whole = ofRoles(roles)
      const { units } = unitsOf(roles)
      for (const count of [1, 2, 3, 5, 20]) {
        let number = 0
        let messages = 0
        while (number < units.length && (number === 0 || messages + units.at(-1 - number)!.length <= count)) {
          messages += units.at(-1 - number++)!.length
        }
        const left = History.keepLast(count)(whole)
        assert.deepStrictEqual(placesIn(whole, left), leftOf(roles, number), `${roles} ${count}`)
      }
    }
  })

  it.effect("withinTokens: keeps the last units that fit with system messages", () =>
    Effect.gen(function*() {
      for (const roles of conversations.slice(-160)) {
        const whole = ofRoles(roles)
        const { system, units } = unitsOf(roles)
        const size = (messages: ReadonlyArray<Prompt.Message>) => Effect.runSync(History.countTokens(messages))
        let at = whole.content.length
        const sizes = units.toReversed().map((unit) => size(whole.content.slice(at -= unit.length, at + unit.length)))
        const total = size(whole.content)
        // The exact size of some units, one less, and limits that fit no units or all.
        const sums = sizes.map((_, index) =>
          size(whole.content.slice(0, system)) + sizes.slice(0, index + 1).reduce((one, other) => one + other)
        )
        for (
          const limit of new Set([1, ...sums, ...sums.map((sum) => sum - 1), total, total - 1].filter((n) => n > 0))
        ) {
          const fitting = sums.filter((sum) => sum <= limit).length
          const number = total <= limit ? units.length : Math.max(1, fitting)
          const left = yield* History.withinTokens(limit)(whole)
          assert.deepStrictEqual(placesIn(whole, left), leftOf(roles, number), `${roles} ${limit}`)
        }
      }
    }))

  it("a tainted conversation stays tainted; invalid counts are refused", () => {
    const tainted = result("c", "x", { options: { recourse: { taintedBy: ["find"] } } })
    const left = History.keepLast(1)(prompt(user("a"), assistant(call("c")), tool(tainted), user("b")))
    assert.deepStrictEqual(left.content.map(({ role }) => role), ["user"])
    assert.deepStrictEqual(Quarantine.taintedBy(left), ["find"])
    const again = History.keepLast(3)(prompt(user("0"), user("a"), assistant(call("c")), tool(tainted)))
    assert.deepStrictEqual(Quarantine.taintedBy(again), ["find"])
    for (const count of [0, -1, 1.5, NaN, Infinity]) {
      assert.throws(() => History.keepLast(count), /History.keepLast: it takes an integer/)
      assert.throws(() => History.withinTokens(count), /History.withinTokens: it takes an integer/)
      assert.throws(
        () => History.summarised(Agent.fromFunction("s", Effect.succeed<string>), { keep: count }),
        /summarised/
      )
    }
  })
})

describe("trimResults", () => {
  const modelOutput = [{ type: "text" as const, text: "y".repeat(2_000) }]
  const [short, long] = ["x".repeat(998), "x".repeat(999)]
  const whole = prompt(
    user("a".repeat(3_000)),
    assistant(call("1"), call("2")),
    Prompt.toolMessage({
      content: [result("1", long, { options: { p: { k: 1 } } }), result("2", short)],
      options: { q: { k: 2 } }
    }),
    assistant(call("3"), call("4"), result("in", long)),
    tool(
      result("3", long, { isFailure: true }),
      result("4", "short", { modelOutput } as never),
      Prompt.toolApprovalResponsePart({ approvalId: "x".repeat(2_000), approved: true, reason: undefined }) as never
    ),
    assistant(call("5"), call("6")),
    tool(result("5", undefined), result("6", { long }))
  )
  const left = (cut: Prompt.Prompt) =>
    cut.content.flatMap(({ content, role }) =>
      role !== "tool" ?
        [] :
        content.flatMap((part) =>
          part.type === "tool-result" && JSON.stringify(part.result ?? null).includes("left_out") ? [part.id] : []
        )
    )
  const cases: ReadonlyArray<
    readonly [Parameters<typeof History.trimResults>[0], ids: ReadonlyArray<string>]
  > = [
    [{ keep: 0 }, ["1", "4", "6"]],
    [{ keep: 1 }, ["1", "4"]],
    [undefined, ["1"]],
    [{ keep: 6 }, []],
    [{ keep: 0, characters: 999 }, ["1", "2", "4", "6"]],
    [{ keep: 0, characters: 1_001 }, ["4", "6"]],
    [{ keep: 0, characters: 3_000 }, []]
  ]
  for (const [options, ids] of cases) {
    it(`${JSON.stringify(options) ?? "by default"} leaves out ${ids.join(", ") || "nothing"}`, () => {
      const cut = History.trimResults(options)(whole)
      assert.deepStrictEqual(left(cut), ids)
      if (ids.length === 0) return assert.strictEqual(cut, whole)
      // All else is as it was.
      assert.deepStrictEqual(cut.content.map(({ role }) => role), whole.content.map(({ role }) => role))
      for (const [index, message] of cut.content.entries()) {
        const before = whole.content[index]!
        if (message.role !== "tool" || before.role !== "tool") {
          assert.strictEqual(message, before)
          continue
        }
        assert.deepStrictEqual(message.options, before.options)
        for (const [at, part] of message.content.entries()) {
          const former = before.content[at]!
          if (part.type !== "tool-result" || !ids.includes(part.id)) assert.strictEqual(part, former)
          else assert.deepStrictEqual([part.name, part.isFailure, part.options], ["find", false, former.options])
        }
      }
    })
  }

  it("keeps the taint of removed results", () => {
    const tainted = result("1", long, { options: { recourse: { taintedBy: ["find"] } } })
    const cut = History.trimResults({ keep: 0 })(prompt(assistant(call("1")), tool(tainted)))
    assert.deepStrictEqual(Quarantine.taintedBy(cut), ["find"])
  })
})

describe("summarised", () => {
  /** The summarising agent's input, and the result. */
  const summed = (whole: Prompt.Prompt, keep?: number) => {
    const read: Array<string> = []
    const agent = Agent.fromFunction("s", (transcript: string) => {
      read.push(transcript)
      return Effect.succeed("in short")
    })
    return Effect.map(
      History.summarised(agent, keep === undefined ? undefined : { keep })(whole),
      (left) => ({ left, read })
    )
  }

  it.effect("summarises each removed part as a line, except reasoning", () =>
    Effect.gen(function*() {
      const { read } = yield* summed(
        prompt(
          user("Hi"),
          Prompt.userMessage({
            content: [
              text("See"),
              Prompt.filePart({ mediaType: "image/png", data: new Uint8Array([1]), fileName: undefined })
            ]
          }),
          assistant(
            Prompt.reasoningPart({ text: "hm" }),
            text("I look"),
            call("1", { q: 1 }),
            call("2", "{"),
            Prompt.toolCallPart({ ...call("3"), params: undefined })
          ),
          tool(
            result("1", { hits: 1 }),
            result("2", "no", { isFailure: true }),
            result("3", undefined)
          ),
          system("Be brief"),
          user("Well?")
        ),
        1
      )
      assert.deepStrictEqual(read, [[
        "user: Hi",
        "user: See",
        "user: [a file of type image/png]",
        "assistant: I look",
        `assistant calls find: {"q":1}`,
        "assistant calls find: {",
        "assistant calls find: ",
        `find answers: {"hits":1}`,
        "find failed: no",
        "find answers: ",
        "system: Be brief"
      ].join("\n")])
    }))

  it.effect("places a marked summary between system messages and kept ones", () =>
    Effect.gen(function*() {
      for (const roles of conversations.slice(-120)) {
        const whole = ofRoles(roles)
        for (const keep of [1, 3, undefined]) {
          const { left, read } = yield* summed(whole, keep)
          const cut = History.keepLast(keep ?? 6)(whole)
          if (cut === whole || cut.content.length === whole.content.length) {
            assert.strictEqual(left, whole)
            assert.lengthOf(read, 0)
            continue
          }
          const { system } = unitsOf(roles)
          const [summary] = left.content.slice(system)
          assert.deepStrictEqual([...left.content.slice(0, system), ...left.content.slice(system + 1)], cut.content)
          assert.deepStrictEqual(summary?.options, { recourse: { summary: true } })
          const said = summary?.role === "user" && summary.content[0]?.type === "text" ? summary.content[0].text : ""
          assert.match(said, /^Summary of the conversation.*not by the user:\nin short$/s)
          // Each message that went is read, and none that stays.
          assert.lengthOf(read, 1)
          const messages = [...roles].length - cut.content.length
          assert.lengthOf(read[0]!.match(/^(?:user|system|assistant|find)/gm)!, messages)
        }
      }
    }))

  it.effect("stays tainted, and fails as the agent that sums up fails", () =>
    Effect.gen(function*() {
      const tainted = result("c", "x", { options: { recourse: { taintedBy: ["find"] } } })
      const whole = prompt(user("a"), assistant(call("c")), tool(tainted), user("b"))
      assert.deepStrictEqual(Quarantine.taintedBy((yield* summed(whole, 1)).left), ["find"])
      const failing = Agent.fromFunction("s", (_: string) => Effect.fail("down" as const))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(History.summarised(failing, { keep: 1 })(whole))))
    }))
})

describe("countTokens", () => {
  it.effect("estimates a quarter of the characters, plus flat sums", () =>
    Effect.gen(function*() {
      const file = Prompt.filePart({ mediaType: "image/png", data: new Uint8Array(9_000), fileName: undefined })
      const cases: ReadonlyArray<readonly [ReadonlyArray<Prompt.Message>, number]> = [
        [[], 0],
        [[system("12345678")], 6],
        [[user("12345678"), user("1234")], 11],
        [[user("1")], 5],
        [[Prompt.userMessage({ content: [file] })], 1_004],
        [[assistant(Prompt.reasoningPart({ text: "1234" }), call("a", { q: 1 }))], 4 + 1 + 3],
        [[tool(result("a", "1234567890"))], 7],
        [[tool(result("a", "x".repeat(400), { modelOutput: [] } as never))], 5],
        [[tool(result("a", undefined))], 4],
        [[assistant(Prompt.toolApprovalRequestPart({ approvalId: "x".repeat(90), toolCallId: "c" }) as never)], 5]
      ]
      for (const [messages, expected] of cases) {
        assert.strictEqual(yield* History.countTokens(messages), expected)
      }
    }))
})

describe("mend, in detail", () => {
  const marks = (part: Prompt.Part) => (part.options["recourse"] as { readonly mended?: string } | undefined)?.mended
  const approval = Prompt.toolApprovalResponsePart({ approvalId: "a", approved: true, reason: undefined }) as never

  it("marks only its changes, next to earlier marks", () => {
    const { prompt: left } = History.mend(prompt(
      assistant(
        Prompt.toolCallPart({ ...call("1"), options: { p: { k: 1 } } }),
        Prompt.toolCallPart({ ...call("1"), options: { p: { k: 2 }, recourse: { own: 1 } } }),
        call("2")
      ),
      tool(result("1", "one"), result("1", "two", { options: { recourse: { own: 2 } } })),
      user("and?"),
      tool(result("2", "late", { options: { recourse: [1] as never } }))
    ))
    const parts = left.content.flatMap(({ content }) =>
      typeof content === "string" ? [] : content as ReadonlyArray<Prompt.Part>
    )
    assert.deepStrictEqual(
      parts.map((part) => [part.type, "id" in part && part.id, marks(part)]),
      [
        ["tool-call", "1", undefined],
        ["tool-call", "1_2", "repeated_id"],
        ["tool-call", "2", undefined],
        ["tool-result", "1", undefined],
        ["tool-result", "1_2", "repeated_id"],
        ["tool-result", "2", "result_out_of_place"],
        ["text", false, undefined]
      ]
    )
    assert.deepStrictEqual(parts[1]!.options, { p: { k: 2 }, recourse: { own: 1, mended: "repeated_id" } })
    assert.deepStrictEqual(parts[4]!.options, { recourse: { own: 2, mended: "repeated_id" } })
    assert.deepStrictEqual(parts[5]!.options, { recourse: { mended: "result_out_of_place" } })
    const [, unknown] = History.mend(prompt(assistant(call("1")))).prompt.content
    const made = unknown?.role === "tool" ? unknown.content[0]! : undefined
    assert.deepInclude(made, { id: "1", name: "find", isFailure: true, providerExecuted: false })
    assert.deepStrictEqual(made?.options, { recourse: { mended: "call_without_result" } })
    assert.deepInclude(made?.type === "tool-result" ? made.result as object : {}, {
      status: "error",
      code: "outcome_unknown",
      safe_to_retry: false
    })
  })

  it("keeps approval decisions in place with their messages' options", () => {
    const answers = Prompt.toolMessage({ content: [result("9", "x"), approval], options: { p: { k: 1 } } })
    // Behind no answer at all, and behind one.
    const alone = History.mend(prompt(user("a"), answers, user("b"))).prompt
    assert.deepStrictEqual(alone.content.map(({ content, role }) => [role, content.length]), [
      ["user", 1],
      ["tool", 1],
      [
        "user",
        1
      ]
    ])
    assert.deepStrictEqual(alone.content[1]?.options, { p: { k: 1 } })
    const behind = History.mend(prompt(
      assistant(call("1")),
      answers,
      Prompt.toolMessage({ content: [result("1", "y"), result("8", "z")], options: { q: { k: 2 } } })
    )).prompt
    assert.deepStrictEqual(behind.content.map(({ role }) => role), ["assistant", "tool"])
    assert.deepStrictEqual(behind.content[1]?.options, { p: { k: 1 }, q: { k: 2 } })
    assert.deepStrictEqual(
      behind.content[1]?.role === "tool" && behind.content[1].content.map(({ type }) => type),
      ["tool-result", "tool-approval-response"]
    )
    const gone = History.mend(prompt(user("a"), tool(result("9", "x")), user("b"))).prompt
    assert.deepStrictEqual(gone.content.map(({ role }) => role), ["user", "user"])
    const behindWords = History.mend(prompt(assistant(text("x")), tool(result("9", "x")), user("b"))).prompt
    assert.deepStrictEqual(behindWords.content.map(({ role }) => role), ["assistant", "user"])
  })

  it("leaves messages of others as they are, the very ones", () => {
    const messages = [system("s"), user("a"), assistant(text("b")), assistant(call("1")), user("c")]
    const { prompt: left } = History.mend(prompt(...messages))
    for (const [index, message] of [...left.content.slice(0, 3), left.content[5]].entries()) {
      assert.strictEqual(message, [...messages.slice(0, 3), messages[4]][index])
    }
  })
})
