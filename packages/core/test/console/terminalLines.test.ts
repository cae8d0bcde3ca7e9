/** Lines on a terminal, each part by its own interface: escaped characters, the width of a text, its breaks. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { type Cause, Effect, Layer, Queue, Terminal } from "effect"
import { TestConsole } from "effect/testing"
import { Agent, AgentEvent, Approval, Tool } from "@recourse/core"

const { breakText, coloured, columnsOf, harmless }: {
  readonly breakText: (text: string, first: number, others: number) => ReadonlyArray<string>
  readonly coloured: (text: string, tone: string) => string
  readonly columnsOf: (text: string) => number
  readonly harmless: (text: string) => string
} = await import(new URL("../../src/internal/console/layout.ts", import.meta.url).href) as never

describe("a text on a terminal", () => {
  it.each([
    ["begin", 34],
    ["quiet", 2],
    ["call", 36],
    ["failure", 31],
    ["warning", 33],
    ["decision", 35],
    ["success", 32]
  ])("has a colour of its tone: %s", (tone, colour) => {
    assert.strictEqual(coloured("x", tone), `\u001B[${colour}mx\u001B[0m`)
  })

  it.each([
    ["a line break, in one way", "a\r\nb\nc", "a\nb\nc"],
    ["a tab, as two spaces", "a\tb", "a  b"],
    [
      "what a terminal obeys, spelled",
      "\u0000\u0009\u000B\u001B[2J\u007F\u009B",
      "\\u0000  \\u000b\\u001b[2J\\u007f\\u009b"
    ],
    ["a return that is no line break, spelled", "a\rb", "a\\u000db"],
    [
      "what turns text around, spelled",
      "\u200E\u200F\u202A\u202E\u2066\u2069",
      "\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069"
    ],
    ["all else as it is", "ü 漢 👍 ~ \u00A0", "ü 漢 👍 ~ \u00A0"]
  ])("has %s", (_, text, shown) => {
    assert.strictEqual(harmless(text), shown)
  })

  it.each([
    ["", 0],
    ["abc ~", 5],
    ["ü", 1],
    ["u\u0308", 1],
    ["漢字", 4],
    ["a漢", 3],
    ["かカ한", 6],
    ["👍", 2],
    ["👨‍👩‍👧", 2],
    ["、", 2],
    ["！", 2],
    ["￥", 2],
    ["\u0007", 1]
  ])("takes as many columns as it is shown in: %j, %i", (text, columns) => {
    assert.strictEqual(columnsOf(text), columns)
  })

  it.each<readonly [string, string, number, number, ReadonlyArray<string>]>([
    ["between words", "one two three", 7, 7, ["one two", "three"]],
    ["at the width, and not before it", "one two", 6, 7, ["one", "two"]],
    ["not where it fits", "one two", 7, 1, ["one two"]],
    ["with fewer columns in the first line", "one two three", 3, 9, ["one", "two three"]],
    ["after no word, where the first does not fit", "three two", 3, 5, ["thr", "ee", "two"]],
    ["within a word that is longer than a line, which begins where the line is", "a bcdefgh i", 4, 4, [
      "a bc",
      "defg",
      "h i"
    ]],
    ["before a word that fits in a line of its own", "abc defg", 6, 4, ["abc", "defg"]],
    ["between letters of two columns", "漢字漢", 3, 3, ["漢", "字", "漢"]],
    ["after at least one letter", "漢字", 1, 1, ["漢", "字"]],
    ["where it has line breaks, each with the room of the others", "ab\ncde", 2, 3, ["ab", "cde"]],
    ["and keeps empty lines", "a\n\nb", 2, 2, ["a", "", "b"]],
    ["without what is empty at its end", "a \n\n", 2, 2, ["a"]],
    ["without a line of nothing behind a full one", "abc \nb", 3, 3, ["abc", "b"]],
    ["and keeps spaces within", "a  b", 9, 9, ["a  b"]],
    ["of an empty text is an empty line", "", 2, 2, [""]]
  ])("breaks %s", (_, text, first, others, lines) => {
    assert.deepStrictEqual(breakText(text, first, others), lines)
  })
})

describe("a person who is asked at the terminal", () => {
  const pending: Approval.PendingCall = {
    callId: "c1",
    path: ["clerk"],
    tool: "refund",
    arguments: { euros: 3, to: "Ada" },
    argumentsHash: "h",
    code: "approval_required",
    reasons: [],
    requestedAt: 0,
    expiresAt: 9
  } as never

  /** The output and the decision for the typed lines. */
  const ask = (more: object, ...lines: ReadonlyArray<string>) => {
    const shown: Array<string> = []
    const left = [...lines]
    const terminal = Terminal.make({
      columns: Effect.succeed(44),
      rows: Effect.succeed(20),
      size: Effect.flatMap(Queue.unbounded<Terminal.Size, Cause.Done>(), (queue) => Effect.succeed(queue)),
      readInput: Effect.flatMap(Queue.unbounded<Terminal.UserInput, Cause.Done>(), (queue) => Effect.succeed(queue)),
      readLine: Effect.sync(() => left.shift() ?? "n"),
      display: (text) => Effect.sync(() => void shown.push(text))
    })
    return Approval.terminal({ by: "Bob" })({ ...pending, ...more }).pipe(
      Effect.provideService(Terminal.Terminal, terminal),
      Effect.map((decision) => ({ decision, shown: shown.join("") }))
    )
  }

  it.effect("reads the call, its arguments' author, and reasons in fitting lines", () =>
    Effect.gen(function*() {
      const { shown } = yield* ask({
        code: "approval_expired",
        fixedBy: "fixer",
        reasons: ["the amount is above what the desk may refund", "late"]
      }, "y")
      assert.deepStrictEqual(shown.split("\n"), [
        "",
        "The approval came too late.",
        "  May refund be called with these arguments?",
        "  They are not the model's, but of fixer.",
        "  Why you are asked: the amount is above what",
        "  the desk may refund",
        "  Why you are asked: late",
        "  euros: 3",
        "  to: \"Ada\"",
        "[y]es, [n]o, [e]dit? "
      ])
      assert.deepStrictEqual((yield* ask({}, "y")).shown.split("\n").slice(0, 3), [
        "",
        "May refund be called with these arguments?",
        "  euros: 3"
      ])
    }))

  it.effect.each<readonly [ReadonlyArray<string>, object]>([
    [["y"], Approval.approve(pending, { by: "Bob" })],
    [[" YES "], Approval.approve(pending, { by: "Bob" })],
    [["maybe", "yes"], Approval.approve(pending, { by: "Bob" })],
    [["no", " too much "], Approval.reject(pending, "too much", { by: "Bob" })],
    [["n", "  "], Approval.reject(pending, "A person refused it.", { by: "Bob" })],
    [["e", "{\"euros\":1}"], Approval.edit(pending, { euros: 1 }, { by: "Bob" })],
    [["edit", "[1]", "edit", "{\"euros\":2}"], Approval.edit(pending, { euros: 2 }, { by: "Bob" })]
  ])("decides by what is typed: %j", ([lines, decision]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask({}, ...lines)).decision as object, decision)
    }))
})

describe("the lines of a run", () => {
  const Look = Tool.make("look", { effects: "read", execute: () => Effect.void })
  const printed = (agent: Agent.Agent<string, string, unknown, never>, options: AgentEvent.ConsoleOptions) =>
    agent.run("who?").pipe(
      Effect.provide(AgentEvent.layerConsole(options)),
      Effect.exit,
      Effect.andThen(TestConsole.logLines),
      Effect.map((lines) => lines.join("\n").split("\n")),
      Effect.provide(Layer.fresh(TestConsole.layer))
    )
  const asking = Agent.make("clerk", { tools: [Look] }).pipe(
    Agent.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("me")]))
  )

  it.effect("name the agent if inner, or their own subject", () =>
    Effect.gen(function*() {
      const lines = (yield* printed(asking as never, { colors: false })).map((line) => line.slice(11))
      assert.deepStrictEqual(lines, [
        "clerk  asked: who?",
        "turn 1  model called",
        "look  {}",
        "look  result for the model: null",
        "turn 2  model called",
        "turn 2  model said: me",
        "clerk  answered: me"
      ])
    }))

  it.effect("are indented by how deep the agent is, up to the middle", () =>
    Effect.gen(function*() {
      const within = (name: string, agent: { readonly run: (text: string) => Effect.Effect<string, unknown> }) =>
        Agent.fromFunction(name, (text: string) => agent.run(text))
      const leaf = Agent.fromFunction("c", (_: string) => Effect.succeed("one two three"))
      const deep = within("a", within("b", leaf) as never) as never
      assert.deepStrictEqual(yield* printed(deep, { colors: false, width: 28 }), [
        "     0 ms  a  asked: who?",
        "     0 ms    b  asked: who?",
        "     0 ms     c  asked: who?",
        "     0 ms     c  answered:",
        "                one two",
        "                three",
        "     0 ms    b  answered:",
        "               one two three",
        "     0 ms  a  answered: one",
        "             two three"
      ])
    }))
})
