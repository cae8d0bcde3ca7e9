/** Pictures in answers: OpenRouter writes them next to the content, LiteLLM among its parts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering, generate, observe, plain, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const png = "iVBORw0KGgo="
const picture = (url: unknown) => ({ type: "image_url", image_url: { url } })
const file = { type: "file", mediaType: "image/png", data: png }

/** Messages with pictures, and the files that come out. */
const messages: Readonly<Record<string, readonly [message: object, files: ReadonlyArray<object>]>> = {
  "next to the content": [{ content: "Hi", images: [picture(`data:image/png;base64,${png}`)] }, [file]],
  "among the parts": [{ content: [{ type: "text", text: "Hi" }, picture(`data:image/png;base64,${png}`)] }, [file]],
  "in both places": [{
    content: ["Hi", picture(`data:image/png;base64,${png}`)],
    images: [picture(`data:image/png;base64,${png}`)]
  }, [file]],
  "as a text": [{ content: "Hi", images: [{ type: "image_url", image_url: `data:image/png;base64,${png}` }] }, [file]],
  "by an address": [{ content: "Hi", images: [picture("https://a.example/a.png")] }, []],
  "that cannot be read": [{ content: "Hi", images: [picture("data:image/png;base64,%%%"), picture(7), null, "x"] }, []],
  "that are no list": [{ content: "Hi", images: "none" }, []]
}

const replies = (message: object): Readonly<Record<"whole" | "streamed", Reply>> => ({
  whole: { body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }) },
  streamed: {
    type: "text/event-stream",
    body: Server.event({ choices: [{ index: 0, delta: message }] }) +
      Server.event({ choices: [{ index: 0, delta: {}, message, finish_reason: "stop" }] }) + Server.done
  }
})

describe("pictures of an answer", () => {
  for (const [name, [message, files]] of Object.entries(messages)) {
    it.effect(`${name} are files`, () =>
      Effect.gen(function*() {
        const { streamed, whole } = replies(message)
        const { content, text } = yield* generate().pipe(Effect.provide(answering(whole)))
        const { error, parts } = yield* observe(stream()).pipe(Effect.provide(answering(streamed)))
        assert.isUndefined(error)
        assert.strictEqual(text, "Hi")
        const filesOf = (parts: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
          parts.filter(({ type }) => type === "file").map(({ data, mediaType, type }) => ({
            type,
            mediaType,
            data: Buffer.from(Object.values(data as object)).toString("base64")
          }))
        assert.deepStrictEqual(filesOf(content.map(plain)), files as never)
        assert.deepStrictEqual(filesOf(parts), files as never)
      }))
  }
})
