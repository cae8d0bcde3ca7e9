/** Frames are made once for all readers of a run. */
import { assert, describe, it } from "@effect/vitest"
import { Runs } from "@recourse/core"
import { MemoryRuns } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Layer, Stream } from "effect"
import { headersOf, type Options, serve } from "../support/kit.ts"

/** Runs in memory, and how often the events of each were asked for. */
const counted = () => {
  const asked: Array<string> = []
  const runs: Options["runs"] = (agent) =>
    Layer.effect(
      Runs.Runs,
      Effect.map(Runs.Runs, (inner) => ({
        ...inner,
        events: (runId, from) => {
          asked.push(runId)
          return inner.events(runId, from)
        }
      }))
    ).pipe(Layer.provide(MemoryRuns.layer({ agents: [agent] })))
  return { asked, options: { runs } satisfies Options }
}

const begin = { agent: "clerk", message: "Do it", key: "k" }

describe("frames", () => {
  it.live("readers of a run share its log; late ones receive all", () =>
    Effect.gen(function*() {
      const { asked, options } = counted()
      const server = yield* serve([ScriptedModel.call("slow", {}), ScriptedModel.text("All done.")], options)
      const { runId } = (yield* server.post("/runs", begin)).json() as { runId: string }
      const readers = yield* Effect.forEach(
        Array.from({ length: 5 }),
        () => Effect.forkChild(server.get(`/runs/${runId}/events`), { startImmediately: true })
      )
      yield* Effect.sleep("20 millis")
      yield* server.open
      const [first, ...others] = (yield* Effect.forEach(readers, Fiber.join)).map(({ text }) => text)
      for (const other of others) assert.strictEqual(other, first)
      assert.include(first, "All done.")
      assert.include(first, "event: end")
      const late = yield* server.get(`/runs/${runId}/events`)
      assert.strictEqual(late.text, first)
      assert.deepStrictEqual(asked, [runId])
    }))

  it.live("a reader continues behind its last event", () =>
    Effect.gen(function*() {
      const { asked, options } = counted()
      const server = yield* serve([ScriptedModel.text("Hello.")], options)
      const { runId } = (yield* server.post("/runs", begin)).json() as { runId: string }
      const all = (yield* server.get(`/runs/${runId}/events`)).text
      const after = yield* Effect.promise(() =>
        fetch(`${server.url}/runs/${runId}/events`, { headers: { ...headersOf("ada"), "last-event-id": "2" } })
          .then((response) => response.text())
      )
      const ids = [...after.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
      assert.deepStrictEqual(ids, [...all.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)).filter((id) => id > 2))
      assert.deepStrictEqual(asked, [runId])
    }))

  it.live("a reader that waits hears comments", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {}), ScriptedModel.text("Done.")], {
        server: { heartbeat: "10 millis" }
      })
      const { runId } = (yield* server.post("/runs", begin)).json() as { runId: string }
      const beats = (text: string) => text.split(": beat\n\n").length - 1
      const text = yield* Effect.promise(async () => {
        const { body } = await fetch(`${server.url}/runs/${runId}/events`, { headers: headersOf("ada") })
        let text = ""
        for await (const part of body!.pipeThrough(new TextDecoderStream())) {
          text += part
          if (beats(text) >= 2) await Effect.runPromise(server.open)
        }
        return text
      })
      assert.isAtLeast(beats(text), 2)
      assert.include(text, "Done.")
    }))

  it.live("a broken log breaks its readers, and the next reader restarts", () =>
    Effect.gen(function*() {
      let broken = 1
      const runs: Options["runs"] = (agent) =>
        Layer.effect(
          Runs.Runs,
          Effect.map(Runs.Runs, (inner) => ({
            ...inner,
            events: (runId, from) =>
              broken-- > 0
                ? Stream.concat(
                  Stream.take(inner.events(runId, from), 1),
                  Stream.fail(new Runs.RunsUnavailable({ operation: "events", reason: new Error("gone") }))
                )
                : inner.events(runId, from)
          }))
        ).pipe(Layer.provide(MemoryRuns.layer({ agents: [agent] })))
      const server = yield* serve([ScriptedModel.text("Hello.")], { runs })
      const { runId } = (yield* server.post("/runs", begin)).json() as { runId: string }
      const path = `${server.url}/runs/${runId}/events`
      const read = Effect.promise(() =>
        fetch(path, { headers: headersOf("ada") }).then((response) => response.text()).catch(() => "broken")
      )
      // A stream that ends cleanly without its end would look complete.
      assert.strictEqual(yield* read, "broken")
      assert.include(yield* read, "event: end")
    }))
})
