/** Files of pages: a model reads bytes with a media type, or the request is refused. A broken file in a thread would fail each later request. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { serve } from "../support/kit.ts"

/** Addresses of files, with the address that the model is sent; `undefined` for those that are refused. */
const addresses: Readonly<Record<string, readonly [url: string, sent: string | undefined]>> = {
  "bytes": ["data:image/png;base64,aGk=", "data:image/png;base64,aGk="],
  "bytes without padding": ["data:image/png;base64,aGk", "data:image/png;base64,aGk="],
  "bytes for addresses of pages": ["data:image/png;base64,_-8=", "data:image/png;base64,/+8="],
  "bytes in lines": ["data:image/png;base64,aG\r\nk=", "data:image/png;base64,aGk="],
  "a parameter of the media type": ["data:audio/webm;codecs=opus;base64,aGk=", "data:audio/webm;base64,aGk="],
  "text": ["data:image/svg+xml;utf8,%3Csvg/%3E", "data:image/svg+xml;base64,PHN2Zy8+"],
  "bytes that are no base64": ["data:image/png;base64,%%%", undefined],
  "bytes that are cut": ["data:image/png;base64,aGkhY", undefined],
  "text that is no percent encoding": ["data:text/plain,100%", undefined],
  "no comma": ["data:image/png;base64", undefined],
  "no media type": ["data:;base64,aGk=", undefined],
  "an address of the page": ["blob:https://app.example.com/1", undefined],
  "an address of a file": ["file:///etc/passwd", undefined]
}

/** The routes that take files, with a request that has one. */
const routes: Readonly<Record<string, readonly [path: string, body: (url: string) => unknown]>> = {
  "useChat": ["/agents/clerk/chat", (url) => ({
    id: "t1",
    trigger: "submit-message",
    messages: [{ id: "m1", role: "user", parts: [{ type: "file", mediaType: "", url }] }]
  })],
  "AG-UI": ["/agents/clerk/ag-ui", (url) => ({
    threadId: "t1",
    runId: "r1",
    messages: [{ id: "m1", role: "user", content: [{ type: "binary", mimeType: "", data: url }] }],
    tools: [],
    context: []
  })],
  "OpenAI": ["/v1/chat/completions", (url) => ({
    model: "clerk",
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]
  })]
}

/** Addresses of empty files, with the text that the model is sent. */
const empty: Readonly<Record<string, string>> = {
  "data:image/png;base64,": "[The file is empty: image/png]",
  "data:text/plain,": "[The file is empty: text/plain]",
  "data:;base64,": "[The file is empty]",
  "data:": "[The file is empty]"
}

describe.each(Object.keys(routes))("a file of a request of %s", (route) => {
  const [path, bodyOf] = routes[route]!
  for (const [url, sent] of Object.entries(empty)) {
    it.live(`without bytes is the text that it is empty: ${url}`, () =>
      Effect.gen(function*() {
        const server = yield* serve([ScriptedModel.text("Seen.")])
        assert.strictEqual((yield* server.post(path, bodyOf(url))).status, 200)
        const { prompt } = yield* server.model.lastRequest
        const [message] = prompt.content
        const [part] = message?.role === "user" ? message.content : []
        assert.deepInclude(part, { type: "text", text: sent })
      }))
  }

  for (const [name, [url, sent]] of Object.entries(addresses)) {
    it.live(`with ${name} is ${sent === undefined ? "refused" : "sent"}`, () =>
      Effect.gen(function*() {
        const server = yield* serve([ScriptedModel.text("Seen.")])
        const { status } = yield* server.post(path, bodyOf(url))
        assert.strictEqual(status, sent === undefined ? 400 : 200)
        if (sent === undefined) return assert.deepStrictEqual(yield* server.runs.list(), [])
        const { prompt } = yield* server.model.lastRequest
        const [message] = prompt.content
        const [part] = message?.role === "user" ? message.content : []
        assert.deepInclude(part, { type: "file", data: sent })
        assert.strictEqual(part?.type === "file" && part.mediaType, sent.slice("data:".length).split(";")[0])
      }))
  }
})
