/** Final events of streams at the shutdown of their server. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Server } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Prompt } from "effect/ai"
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { headersOf, type Options, serve } from "../support/kit.ts"

const message = (thread: string, text: string) => ({
  id: thread,
  trigger: "submit-message",
  messages: [{ id: `m ${thread}`, role: "user", parts: [{ type: "text", text }] }]
})

/** The process, its address, and when it has ended. */
const started = (within: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<{ readonly child: ChildProcess; readonly url: string; readonly ended: Promise<number | null> }>(
        (resolve, reject) => {
          const child = fork(join(import.meta.dirname, "../support/slowServer.ts"), [within])
          const ended = new Promise<number | null>((end) => child.once("exit", end))
          child.once("message", (url) => resolve({ child, url: String(url), ended }))
          void ended.then(() => reject(new Error("The server has ended")))
        }
      )
    ),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  )

const post = (url: string, thread: string, words: number) =>
  fetch(`${url}/agents/clerk/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message(thread, String(words)))
  })

/** A stream, and its content so far. */
const streamed = async (url: string, thread: string, words: number) => {
  const { body } = await post(url, thread, words)
  const stream = { text: "", end: Promise.resolve("open") }
  const first = Promise.withResolvers<void>()
  stream.end = (async () => {
    for await (const part of body!.pipeThrough(new TextDecoderStream())) {
      stream.text += part
      if (part.includes("text-delta")) first.resolve()
    }
    return "ended"
  })().catch(() => "broken")
  await first.promise
  return stream
}

describe("SIGTERM", () => {
  it.live(
    "lets short runs end, interrupts long ones, ends streams in time",
    () =>
      Effect.gen(function*() {
        const server = yield* started("1 second")
        yield* Effect.promise(async () => {
          const { child, ended, url } = server
          const short = await Promise.all(["a", "b"].map((thread) => streamed(url, thread, 10)))
          const long = await Promise.all(["c", "d", "e"].map((thread) => streamed(url, thread, 100_000)))
          const before = Date.now()
          child.kill("SIGTERM")
          // While runs end, new ones are refused.
          for (let n = 0;; n++) {
            const late = await post(url, `late ${n}`, 1)
            await late.text()
            if (late.status === 503) break
          }
          for (const { end } of [...short, ...long]) assert.strictEqual(await end, "ended")
          await ended
          assert.isBelow(Date.now() - before, 8000)
          for (const { text } of short) {
            assert.include(text, "word10 ")
            assert.include(text, "\"finishReason\":\"stop\"")
          }
          for (const { text } of long) assert.include(text, "\"finishReason\":\"interrupted\"")
          for (const { text } of [...short, ...long]) assert.isTrue(text.endsWith("data: [DONE]\n\n"))
        })
      }),
    30_000
  )
})

describe("a server whose runs continue elsewhere", () => {
  it.live(
    "makes its streams reconnect; another server has the rest, once",
    () =>
      Effect.gen(function*() {
        const shared = yield* Layer.build(Layer.merge(RunStore.layerMemory, Conversation.layerMemory))
        const options: Options = {
          runs: (agent) =>
            Durable.layer([Durable.make(agent, { input: Prompt.Prompt })], { poll: "20 millis", grace: "20 millis" })
              .pipe(
                Layer.provide(Layer.succeedContext(Context.pick(RunStore.RunStore)(shared)))
              ),
          conversations: Layer.succeedContext(Context.pick(Conversation.Conversations)(shared)),
          around: Server.drained({ within: "50 millis" })
        }
        const first = yield* Scope.make()
        const one = yield* Scope.provide(
          serve([ScriptedModel.call("slow", {}), ScriptedModel.call("slow", {})], options),
          first
        )
        const { runId } = (yield* one.post("/runs", { agent: "clerk", message: "Do it", key: "k" })).json() as {
          runId: string
        }
        const events = yield* Effect.forkChild(one.get(`/runs/${runId}/events`), { startImmediately: true })
        const chat = yield* Effect.forkChild(one.post("/agents/clerk/chat", message("t1", "Do it")), {
          startImmediately: true
        })
        yield* Effect.sleep("200 millis")
        yield* Scope.close(first, Exit.void)
        const { text } = yield* Fiber.join(events)
        assert.isTrue(text.endsWith("retry: 1000\n\n"))
        assert.notInclude(text, "event: end")
        assert.include((yield* Fiber.join(chat)).text, "The server restarts.")
        const two = yield* serve([ScriptedModel.text("Done."), ScriptedModel.text("Done.")], options)
        yield* two.open
        const ids = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
        const heard = ids(text)
        const rest = yield* Effect.promise(() =>
          fetch(`${two.url}/runs/${runId}/events`, {
            headers: { ...headersOf("ada"), "last-event-id": String(heard.at(-1)) }
          }).then((response) => response.text())
        )
        assert.include(rest, "event: end")
        const all = [...heard, ...ids(rest)]
        assert.deepStrictEqual(all, ids((yield* two.get(`/runs/${runId}/events`)).text))
        assert.strictEqual(new Set(all).size, all.length)
      }),
    30_000
  )
})
