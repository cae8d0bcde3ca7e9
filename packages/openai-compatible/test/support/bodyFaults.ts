/** Faults of bodies and tools below a good status, one a row of `docs/wire-faults.md`. */

import { assert } from "@effect/vitest"
import * as Server from "./server.ts"
import { always, answer, callsIn, type Fault, message, nowCall, textIn } from "./wireFault.ts"

export const bodyFaults: ReadonlyArray<Fault> = [
  // Good statuses over bad bodies
  {
    fault: "200 with HTML",
    replies: always({ headers: { "content-type": "text/html" }, chunks: ["<h1>PROSE-OF-THE-SERVER"] }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "200 with JSON of another protocol",
    replies: always(Server.json({ choices: [{ message: { content: 7 } }], note: "PROSE-OF-THE-SERVER" })),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false,
    check: ({ error }) => assert.include(error?.message, "[\"choices\"][0][\"message\"][\"content\"]")
  },
  {
    fault: "200 with a body that ends cleanly before its end",
    in: "whole",
    replies: always({
      headers: { "content-type": "application/json" },
      chunks: ["{\"choices\":[{\"message\":{\"content\":\"ha"]
    }),
    requests: 1,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "200 with an empty body",
    in: "whole",
    replies: always({ headers: { "content-type": "application/json" } }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "200 with an error of code 429 (OpenRouter)",
    replies: always(Server.json({ error: { code: 429, message: Server.prose } })),
    requests: 1,
    reason: "RateLimitError",
    retryable: true
  },
  {
    fault: "200 that ends with `finish_reason: \"error\"`",
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "half" }, {}, "error")
        : { chunks: [Server.chunk({ content: "half" }), Server.chunk({}, "error"), Server.done] }
    ],
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "unknown `finish_reason`, with the quirk `unknownFinishReason: \"stop\"`",
    does: "accepts the answer as whole",
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "fine" }, {}, "constructor")
        : { chunks: [Server.chunk({ content: "fine" }), Server.chunk({}, "constructor"), Server.done] }
    ],
    options: { quirks: { unknownFinishReason: "stop" } },
    requests: 1,
    check: ({ parts }) => assert.strictEqual(parts.find((part) => part.type === "finish")?.reason, "stop")
  },
  {
    fault: "answer larger than `maxBodySize`",
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "x".repeat(2000) })
        : { chunks: [Server.chunk({ content: "x".repeat(2000) }), Server.chunk({}, "stop"), Server.done] }
    ],
    options: { maxBodySize: 1000 },
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "error event in a stream, code `insufficient_quota`",
    in: "stream",
    replies: always({
      chunks: [
        Server.chunk({ content: "half" }),
        Server.event({ error: { code: "insufficient_quota", message: Server.prose } }),
        Server.done
      ]
    }),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "error event in a stream, status 502 and a choice (OpenRouter)",
    in: "stream",
    replies: always({
      chunks: [
        Server.chunk({ content: "half" }),
        Server.event({
          id: "x",
          error: { code: 502, message: Server.prose },
          choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }]
        })
      ]
    }),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "`event: error` in a stream, overloaded",
    in: "stream",
    replies: always({
      chunks: [
        Server.chunk({ content: "half" }),
        `event: error\ndata: ${JSON.stringify({ type: "overloaded_error", message: Server.prose })}\n\n`
      ]
    }),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "`event: error` in a stream, in prose",
    in: "stream",
    replies: always({ chunks: [`event: error\ndata: ${Server.prose}\n\n`] }),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "event of a stream that is not JSON",
    in: "stream",
    replies: always({ chunks: [Server.event("PROSE-OF-THE-SERVER"), Server.done] }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "event stream of another protocol",
    in: "stream",
    replies: always({ chunks: [Server.event({ type: "message_start" }), Server.event({ type: "message_stop" })] }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "`choices: null`, a whole `message` in place of a delta, and `\"[DONE]\"` in quotes",
    in: "stream",
    does: "reads them",
    replies: always({
      chunks: [
        Server.event({ id: "x", choices: null }),
        Server.event({ id: "x", choices: [{ index: "0", message: { content: "fine" }, finish_reason: "stop" }] }),
        Server.event("\"[DONE]\"")
      ]
    }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "`[DONE]` without a `finish_reason`",
    in: "stream",
    does: "accepts the answer as whole, unless arguments of a call are cut off",
    replies: always({ chunks: [Server.chunk({ content: "fine" }), Server.done] }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "an event stream in answer to a request without `stream`",
    in: "whole",
    does: "reads it",
    replies: always({ chunks: [Server.chunk({ content: "fine" }), Server.chunk({}, "stop"), Server.done] }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "lines of JSON (NDJSON) in place of events",
    in: "stream",
    does: "reads them",
    replies: always({
      headers: { "content-type": "application/x-ndjson" },
      chunks: [Server.chunk({ content: "fine" }), Server.chunk({}, "stop")].map((event) =>
        event.replace("data: ", "").replace("\n\n", "\n")
      )
    }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "an error on a line of its own between events",
    in: "stream",
    replies: always({
      chunks: [Server.chunk({ content: "half" }), `{"error":{"code":"insufficient_quota"}}\n\n`]
    }),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "an empty error next to a choice",
    does: "reads the choice",
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "fine" }, { error: {} })
        : { chunks: [Server.event({ choices: [{ delta: { content: "fine" } }], error: {} }), Server.chunk({}, "stop")] }
    ],
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "thoughts between tags at the beginning of the text",
    does: "reads them as reasoning",
    replies: message({ content: "<think>Hm.</think>\n\nfine" }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "half of a surrogate pair in the text",
    does: "replaces it with `\ufffd`, and sends none back",
    replies: message({ content: "a\ud83d" }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "a\ufffd")
  },
  // Tools
  {
    fault: "a call that is reported twice",
    does: "passes it on once; other arguments under one id are two calls",
    replies: message({ tool_calls: [nowCall(), nowCall()] }, "tool_calls"),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(callsIn(parts).length, 1)
  },
  {
    fault: "a call that the server left in the text, with tools offered",
    replies: message({ content: "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>" }),
    requests: 1,
    reason: "InvalidOutputError",
    retryable: true,
    check: ({ parts }) => assert.isEmpty(callsIn(parts))
  },
  {
    fault: "an empty object before the arguments of a call",
    does: "passes on the arguments",
    replies: message({ tool_calls: [nowCall("{}{\"n\":1}")] }, "tool_calls"),
    requests: 1,
    check: ({ parts }) => assert.deepStrictEqual(callsIn(parts).map(({ params }) => params), [{ n: 1 }])
  },
  {
    fault: "a call with its name and arguments in itself",
    does: "reads it",
    replies: message({ tool_calls: [{ index: 0, id: "a", name: "now", arguments: "{\"n\":1}" }] }, "tool_calls"),
    requests: 1,
    check: ({ parts }) =>
      assert.deepStrictEqual(callsIn(parts).map(({ name, params }) => [name, params]), [["now", { n: 1 }]])
  },
  {
    fault: "control tokens behind the name of a called tool",
    does: "reads the name",
    replies: message(
      { tool_calls: [{ ...nowCall(), function: { name: "now<|channel|>json", arguments: "{}" } }] },
      "tool_calls"
    ),
    requests: 1,
    check: ({ parts }) => assert.deepStrictEqual(callsIn(parts).map(({ name }) => name), ["now"])
  },
  {
    fault: "a number in arguments that parsing changes",
    does: "passes them on as text: that one call fails its tool's check",
    replies: message({ tool_calls: [nowCall("{\"n\":2512292042121000001}")] }, "tool_calls"),
    requests: 1,
    check: ({ parts }) =>
      assert.deepStrictEqual(callsIn(parts).map(({ params }) => params), ["{\"n\":2512292042121000001}"])
  },
  {
    fault: "native tools refused by code",
    does: "repeats the request with inline tools, and remembers it for the model",
    replies: (mode) => [Server.error(400, { code: "unsupported_parameter", param: "tools" }), answer(mode)],
    requests: 2,
    check: ({ bodies }) => {
      assert.property(bodies[0], "tools")
      assert.notProperty(bodies[1], "tools")
    }
  },
  {
    fault: "arguments of a call that are not JSON",
    does: "passes them on as text: that one call fails its tool's check",
    replies: (mode) => {
      const tool_calls = [{ index: 0, id: "a", function: { name: "parse", arguments: "{json: 1" } }]
      return [
        mode === "whole"
          ? Server.completion({ content: null, tool_calls }, {}, "tool_calls")
          : { chunks: [Server.chunk({ tool_calls }), Server.chunk({}, "tool_calls"), Server.done] }
      ]
    },
    requests: 1,
    check: ({ parts }) => assert.strictEqual(parts.find((part) => part.type === "tool-call")?.params, "{json: 1")
  },
  {
    fault: "a call without a name",
    replies: (mode) => {
      const tool_calls = [{ index: 0, id: "a", function: { arguments: "{}" } }]
      return [
        mode === "whole"
          ? Server.completion({ content: null, tool_calls }, {}, "tool_calls")
          : { chunks: [Server.chunk({ tool_calls }), Server.chunk({}, "tool_calls"), Server.done] }
      ]
    },
    requests: 1,
    reason: "InvalidOutputError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "tool-call"))
  }
]
