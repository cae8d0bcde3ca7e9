/** Messages with blank texts: pages send one next to files, and a server of a model refuses it in each later request of the thread. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { serve } from "../support/kit.ts"

type Content = ReadonlyArray<string | { readonly file: string }>

const png = { file: "data:image/png;base64,aGk=" }

/** Contents of messages, with the parts that the model reads; none if the message is refused. */
const contents: Readonly<Record<string, readonly [content: Content, read: ReadonlyArray<string>]>> = {
  "no part": [[], []],
  "an empty text": [[""], []],
  "blanks": [[" ", "\n"], []],
  "a file and an empty text": [[png, ""], ["file"]],
  "two texts, one of them empty": [["Hi", ""], ["Hi"]],
  "a text with blanks": [[" Hi\n"], [" Hi\n"]]
}

/** The routes with messages, by the request that has this content. */
const routes: Readonly<Record<string, readonly [path: string, body: (content: Content) => unknown]>> = {
  "useChat": ["/agents/clerk/chat", (content) => ({
    id: "t1",
    trigger: "submit-message",
    messages: [{
      id: "m1",
      role: "user",
      parts: content.map((part) =>
        typeof part === "string"
          ? { type: "text", text: part }
          : { type: "file", mediaType: "image/png", url: part.file }
      )
    }]
  })],
  "AG-UI": ["/agents/clerk/ag-ui", (content) => ({
    threadId: "t1",
    runId: "r1",
    messages: [{
      id: "m1",
      role: "user",
      content: content.map((part) =>
        typeof part === "string"
          ? { type: "text", text: part }
          : { type: "binary", mimeType: "image/png", data: part.file }
      )
    }],
    tools: [],
    context: []
  })],
  "OpenAI": ["/v1/chat/completions", (content) => ({
    model: "clerk",
    messages: [{
      role: "user",
      content: content.map((part) =>
        typeof part === "string" ? { type: "text", text: part } : { type: "image_url", image_url: { url: part.file } }
      )
    }]
  })]
}

describe.each(Object.keys(routes))("a message of a request of %s", (route) => {
  const [path, bodyOf] = routes[route]!
  for (const [name, [content, read]] of Object.entries(contents)) {
    it.live(`with ${name} is ${read.length === 0 ? "refused" : "read without blank texts"}`, () =>
      Effect.gen(function*() {
        const server = yield* serve([ScriptedModel.text("Seen.")])
        const { status } = yield* server.post(path, bodyOf(content))
        assert.strictEqual(status, read.length === 0 ? 400 : 200)
        if (read.length === 0) return assert.deepStrictEqual(yield* server.runs.list(), [])
        const { prompt } = yield* server.model.lastRequest
        const [message] = prompt.content
        const parts = message?.role === "user" ? message.content : []
        assert.deepStrictEqual(parts.map((part) => part.type === "text" ? part.text : part.type), read)
      }))
  }
})

describe("a blank message of a chat completion's history", () => {
  for (const role of ["system", "developer", "user", "assistant"]) {
    for (const content of ["", " ", [], [{ type: "text", text: "" }], ...(role === "assistant" ? [null] : [])]) {
      it.live(`of the ${role} is left out: ${JSON.stringify(content)}`, () =>
        Effect.gen(function*() {
          const server = yield* serve([ScriptedModel.text("Seen.")])
          const messages = [{ role, content }, { role: "assistant", content: "Yes?" }, { role: "user", content: "Hi" }]
          const { status } = yield* server.post("/v1/chat/completions", { model: "clerk", messages })
          assert.strictEqual(status, 200)
          const { prompt } = yield* server.model.lastRequest
          assert.deepStrictEqual(prompt.content.map(({ role }) => role), ["assistant", "user"])
        }))
    }
  }

  it.live("is refused as the last one", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.text("Seen.")])
      const messages = [{ role: "user", content: "Hi" }, { role: "user", content: " " }]
      const { status } = yield* server.post("/v1/chat/completions", { model: "clerk", messages })
      assert.strictEqual(status, 400)
    }))
})
