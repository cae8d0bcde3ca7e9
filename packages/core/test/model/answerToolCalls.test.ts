/** Calls of the answer tool. */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Response, Toolkit } from "effect/ai"
import { finish } from "../support/parts.ts"
import { answerOf, asked, Echo, form, type Parts, prompt, type Request } from "../support/requestForms.ts"

describe("a call of the answer tool", () => {
  const toolkit = Toolkit.make(Echo)
  const request: Request = { prompt, toolkit, format: form("tools") }
  const call = (id: string, name: string, params: unknown, providerExecuted?: boolean): Response.PartEncoded => ({
    type: "tool-call",
    id,
    name,
    params,
    ...(providerExecuted === undefined ? undefined : { providerExecuted })
  })
  const grows = (
    id: string,
    name: string,
    ...deltas: ReadonlyArray<string>
  ): ReadonlyArray<Response.StreamPartEncoded> => [
    { type: "tool-params-start", id, name },
    ...deltas.map((delta) => ({ type: "tool-params-delta" as const, id, delta })),
    { type: "tool-params-end", id }
  ]
  const brief = (parts: ReadonlyArray<Response.AnyPart>): ReadonlyArray<unknown> =>
    parts.map((part) => {
      switch (part.type) {
        case "text":
          return `text ${part.text}`
        case "text-delta":
        case "tool-params-delta":
          return `${part.type} ${part.id} ${part.delta}`
        case "tool-call":
          return `${part.name} ${part.id}`
        case "finish":
          return part.reason
        default:
          return `${part.type} ${"id" in part ? part.id : ""}`
      }
    })
  const answer = call("a", "answer", { title: "t" })
  const json = `{"title":"t"}`
  const cases: ReadonlyArray<
    readonly [name: string, streamed: boolean, parts: ReadonlyArray<unknown>, read: ReadonlyArray<string>]
  > = [
    ["alone", false, [answer, finish("tool-calls")], [`text ${json}`, "stop"]],
    ["as text", false, [call("a", "answer", json), finish("tool-calls")], [`text ${json}`, "stop"]],
    ["that ended for another reason", false, [answer, finish("length")], [`text ${json}`, "length"]],
    [
      "beside another call",
      false,
      [call("e", "echo", { text: "x" }), answer, finish("tool-calls")],
      ["echo e", `text ${json}`, "tool-calls"]
    ],
    ["of a provider", false, [call("a", "answer", {}, true), finish("tool-calls")], ["answer a", "tool-calls"]],
    ["that is none", false, [call("e", "echo", { text: "x" }), finish("tool-calls")], ["echo e", "tool-calls"]],
    ["that did not come", false, [{ type: "text", text: "no" }, finish("tool-calls")], ["text no", "tool-calls"]],
    [
      "in one piece of a stream",
      true,
      [answer, finish("tool-calls")],
      ["text-start a", `text-delta a ${json}`, "text-end a", "stop"]
    ],
    [
      "that grows",
      true,
      [...grows("a", "answer", `{"title"`, `:"t"}`), answer, finish("tool-calls")],
      ["text-start a", `text-delta a {"title"`, `text-delta a :"t"}`, "text-end a", "stop"]
    ],
    [
      "that grows beside another",
      true,
      [...grows("e", "echo", "{}"), ...grows("a", "answer", "{}"), call("e", "echo", {}), answer, finish("tool-calls")],
      [
        "tool-params-start e",
        "tool-params-delta e {}",
        "tool-params-end e",
        "text-start a",
        "text-delta a {}",
        "text-end a",
        "echo e",
        "tool-calls"
      ]
    ]
  ]
  for (const [name, streamed, parts, read] of cases) {
    it.effect(`${name} is read as the text of the answer`, () =>
      Effect.gen(function*() {
        const { model } = yield* asked(() => Effect.succeed(parts as Parts))
        assert.deepStrictEqual(brief(yield* answerOf(model, request, { streamed })), read)
        // Without a form a tool of that name is any tool.
        const { format: _, ...plain } = request
        const unread = brief(yield* answerOf(model, plain, { streamed }))
        assert.lengthOf(unread, parts.length)
      }))
  }
})
