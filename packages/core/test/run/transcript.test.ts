/** The transcript of a run. */

import { assert, describe, it } from "@effect/vitest"
import { Prompt } from "effect/ai"

const run = new URL("../../src/internal/run/", import.meta.url)

const load = async (name: string): Promise<never> => await import(new URL(name, run).href) as never

interface Transcript {
  readonly length: number
  readonly cutOff: (text: string, taintedBy: ReadonlyArray<string>) => void
  readonly forgetCutOff: () => void
  readonly resumable: () => Prompt.Prompt
  readonly snapshot: (length?: number) => Prompt.Prompt
  readonly user: (text: string) => void
  readonly synthetic: (text: string) => void
  readonly retractAnswer: () => void
  readonly prompt: (prompt: Prompt.Prompt) => void
  readonly undone: (callId: string, tool: string, mark: "undone" | "may_be_undone") => void
  readonly hasPending: (tool: string) => boolean
  readonly clear: () => void
}

const { Transcript }: { readonly Transcript: new() => Transcript } = await load("transcript.ts")

describe("a transcript", () => {
  const texts = (prompt: Prompt.Prompt) =>
    prompt.content.map(({ content, role }) =>
      typeof content === "string"
        ? content
        : `${role} ${content.map((part) => part.type === "text" ? part.text : part.type).join()}`
    )

  it("resumes without a last interrupted answer", () => {
    const transcript = new Transcript()
    assert.deepStrictEqual(transcript.resumable().content, [])
    transcript.forgetCutOff()
    transcript.user("a")
    transcript.forgetCutOff()
    transcript.cutOff("", [])
    assert.deepStrictEqual(texts(transcript.resumable()), ["user a"])
    transcript.cutOff("half", ["page"])
    assert.deepStrictEqual([texts(transcript.resumable()), texts(transcript.snapshot())], [["user a"], [
      "user a",
      "assistant half"
    ]])
    assert.deepInclude(transcript.snapshot().content[1]!.options, { recourse: { cutOff: true, taintedBy: ["page"] } })
    transcript.user("b")
    transcript.forgetCutOff()
    assert.deepStrictEqual(texts(transcript.resumable()), ["user a", "assistant half", "user b"])
    transcript.cutOff("more", [])
    transcript.forgetCutOff()
    assert.deepStrictEqual(texts(transcript.snapshot()), ["user a", "assistant half", "user b"])
    assert.deepStrictEqual([texts(transcript.snapshot(1)), transcript.length], [["user a"], 3])
  })

  it("removes the model's last answers, and marks the program's", () => {
    const transcript = new Transcript()
    transcript.retractAnswer()
    transcript.user("a")
    transcript.synthetic("b")
    assert.deepStrictEqual(texts(transcript.snapshot()), ["user a", "assistant b"])
    assert.deepStrictEqual(transcript.snapshot().content[1]!.options, { recourse: { synthetic: true } })
    transcript.synthetic("c")
    transcript.retractAnswer()
    assert.deepStrictEqual(texts(transcript.snapshot()), ["user a"])
  })

  it("marks a result as compensated, and keeps the others", () => {
    const part = (id: string, result: unknown, isFailure = false) =>
      Prompt.toolResultPart({ id, name: "t", result, isFailure, providerExecuted: false } as never)
    const message = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })
    const transcript = new Transcript()
    const [first, second] = [
      message(part("a", "x"), part("b", null), part("c", { code: "x" }, true)),
      message(part("d", { untrusted: true, content: "x" }))
    ]
    transcript.prompt(Prompt.fromMessages([first, second]))
    for (const id of ["a", "a", "b", "c", "none"]) transcript.undone(id, `undo ${id}`, "undone")
    const { content } = transcript.snapshot()
    assert.strictEqual(content[1], second)
    const results = (content[0] as Prompt.ToolMessage).content.map((one) => one.type === "tool-result" && one.result)
    assert.deepStrictEqual(results, [
      { undone: ["undo a", "undo a"], result: "x" },
      { undone: ["undo b"], result: null },
      { code: "x", undone: ["undo c"] }
    ])
    transcript.undone("d", "u", "undone")
    const [envelope] = (transcript.snapshot().content[1] as Prompt.ToolMessage).content
    assert.deepStrictEqual((envelope as Prompt.ToolResultPart).result, { untrusted: true, content: "x", undone: ["u"] })
  })

  it("marks which writes of a call are compensated, or possibly", () => {
    const transcript = new Transcript()
    const part = { id: "a", name: "t", result: "x", isFailure: false, providerExecuted: false }
    transcript.prompt(Prompt.fromMessages([Prompt.toolMessage({ content: [Prompt.toolResultPart(part as never)] })]))
    transcript.undone("a", "hotel", "may_be_undone")
    transcript.undone("a", "flight", "undone")
    transcript.undone("a", "car", "may_be_undone")
    const [message] = transcript.snapshot().content
    const [only] = (message as Prompt.ToolMessage).content
    assert.deepStrictEqual((only as Prompt.ToolResultPart).result, {
      may_be_undone: ["hotel", "car"],
      undone: ["flight"],
      result: "x"
    })
  })

  it("knows the started tasks until it restarts", () => {
    const pending = Prompt.toolResultPart({
      id: "a",
      name: "t",
      result: 1,
      isFailure: false,
      providerExecuted: false,
      options: { recourse: { pendingOf: "job" } }
    } as never)
    const transcript = new Transcript()
    assert.isFalse(transcript.hasPending("job"))
    transcript.prompt(Prompt.fromMessages([Prompt.toolMessage({ content: [pending] })]))
    assert.deepStrictEqual([transcript.hasPending("job"), transcript.hasPending("other")], [true, false])
    transcript.clear()
    assert.deepStrictEqual([transcript.hasPending("job"), transcript.length], [false, 0])
  })
})
