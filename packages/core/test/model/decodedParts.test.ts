/** Decoding of the parts of an answer. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Response, Tool, Toolkit } from "effect/ai"
import { finish } from "../support/parts.ts"
import { answerOf, asked, form, type Parts, prompt, said } from "../support/requestForms.ts"

describe("parts", () => {
  it.effect("are equal through and past LanguageModel, as far as agents read", () =>
    Effect.gen(function*() {
      const metadata = { p: { k: 1 } }
      const shared: ReadonlyArray<Response.PartEncoded> = [
        { type: "response-metadata", id: "r", modelId: "m", timestamp: undefined },
        { type: "tool-call", id: "c1", name: "echo", params: { text: "x" } },
        { type: "tool-call", id: "c2", name: "echo", params: { text: "x" }, providerExecuted: true, metadata },
        { type: "tool-result", id: "c2", name: "echo", result: "x", isFailure: false, providerExecuted: true },
        { type: "tool-result", id: "c2", name: "echo", result: "x", isFailure: false, preliminary: true, metadata },
        { type: "file", mediaType: "image/png", data: "AQID" },
        { type: "file", mediaType: "image/png", data: "", metadata },
        { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T" },
        finish("stop")
      ]
      const keys = [
        "type",
        "id",
        "name",
        "params",
        "providerExecuted",
        "preliminary",
        "isFailure",
        "result",
        "encodedResult",
        "data",
        "mediaType",
        "metadata",
        "reason",
        "text",
        "delta"
      ]
      const looked = (parts: ReadonlyArray<Response.AnyPart>) =>
        parts.map((part) =>
          Object.fromEntries(
            keys.flatMap((key) => {
              const value = (part as unknown as Readonly<Record<string, unknown>>)[key]
              return value === undefined ? [] : [[key, value]]
            })
          )
        )
      const own: Readonly<Record<string, ReadonlyArray<unknown>>> = {
        whole: [{ type: "text", text: "t", metadata }, { type: "reasoning", text: "r" }],
        streamed: [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "x" },
          { type: "text-end", id: "t", metadata }
        ]
      }
      const Searched = Tool.make("echo", {
        parameters: Schema.Struct({ text: Schema.String }),
        success: Schema.String,
        failure: Schema.String
      })
      for (const streamed of [false, true]) {
        const parts = [...own[streamed ? "streamed" : "whole"]!, ...shared] as Parts
        const { model } = yield* asked(() => Effect.succeed(parts))
        const request = { prompt, toolkit: Toolkit.make(Searched) }
        const [past, through] = [
          yield* answerOf(model, request, { streamed }),
          yield* answerOf(model, request, { streamed, direct: false })
        ]
        assert.deepStrictEqual(looked(past), looked(through))
      }
      const { model } = yield* asked(() =>
        Effect.succeed([{ type: "file", mediaType: "image/png", data: "no base64!" }, finish("stop")])
      )
      const [file] = yield* answerOf(model, { prompt, toolkit: Toolkit.empty })
      assert.deepStrictEqual(file?.type === "file" && file.data, new Uint8Array())
    }))

  it.effect("an unfit object through LanguageModel is the original text, ended", () =>
    Effect.gen(function*() {
      for (const text of [`{"title":"t"}`, "no object"]) {
        const { model } = yield* asked(() => Effect.succeed(said(text)))
        const parts = yield* answerOf(
          model,
          { prompt, toolkit: Toolkit.empty, format: form("format") },
          { direct: false }
        )
        assert.deepStrictEqual(
          parts.map((part) => part.type === "text" ? part.text : part.type === "finish" ? part.reason : part.type),
          [text, "stop"]
        )
      }
    }))
})
