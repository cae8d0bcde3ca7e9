/** Silence of a model's server until its answer counts as broken. */
import { Drive } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect } from "effect"
import { IdleTimeout } from "@recourse/core"

/** A server's message, and the wait before it. */
type Step = readonly [wait: Duration.Input, heard: "content" | "ping" | "pause"]

/** Receives the steps, and then waits forever: returns the fault, and the seconds until then. */
const silent = (options: IdleTimeout.Options | undefined, ...steps: ReadonlyArray<Step>) =>
  Drive.drive(
    Effect.gen(function*() {
      const limits = IdleTimeout.make(options)
      for (const [wait, heard] of steps) {
        yield* limits.wait(Effect.sleep(wait))
        limits.heard(heard)
      }
      return yield* limits.wait(Effect.never)
    }).pipe(
      Effect.flip,
      Effect.flatMap(({ message, of }) =>
        Effect.map(Clock.currentTimeMillis, (now) => [of, message, now / 1000] as const)
      )
    ),
    { step: "1 second", max: 4_000 }
  )

const tenMinutes = "The server sent no content for 10m"
const oneMinute = "The server fell silent in the middle of its answer, for 1m"

describe("a silent server", () => {
  it.effect.each<
    readonly [rule: string, steps: ReadonlyArray<Step>, of: string, message: string, after: number]
  >([
    ["that never began has ten minutes", [], "content", tenMinutes, 600],
    ["has a minute in the middle of its answer", [["1 minute", "content"]], "bytes", oneMinute, 120],
    ["has a minute behind a ping", [["1 minute", "ping"]], "bytes", oneMinute, 120],
    [
      "has what is left for content, if pings have used up the rest",
      [
        ["9 minutes", "pause"],
        ["30 seconds", "ping"]
      ],
      "content",
      tenMinutes,
      600
    ],
    ["has ten minutes to think", [["5 seconds", "content"], ["5 seconds", "pause"]], "content", tenMinutes, 605],
    [
      "begins anew with each content",
      [
        ["9 minutes", "content"],
        ["1 minute", "content"],
        ["1 minute", "pause"]
      ],
      "content",
      tenMinutes,
      9 * 60 + 60 + 600
    ]
  ])("%s", ([, steps, of, message, after]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual<unknown>(yield* silent(undefined, ...steps), [of, message, after])
    }))

  it.effect("may have other limits", () =>
    Effect.gen(function*() {
      const options = { idleTimeout: "2 seconds", contentTimeout: "5 seconds" } as const
      const bytes = "The server fell silent in the middle of its answer, for 2s"
      const content = "The server sent no content for 5s"
      assert.deepStrictEqual<unknown>(yield* silent(options, ["1 second", "content"]), ["bytes", bytes, 3])
      const begun = yield* Clock.currentTimeMillis
      const [of, message, now] = yield* silent(options, ["2 seconds", "ping"], ["1 second", "ping"])
      // Two seconds remain both for bytes and for content: the content was awaited in vain.
      assert.deepStrictEqual<unknown>([of, message, now - begun / 1000], ["content", content, 5])
    }))

  it.effect("that is waited for without a limit may be silent for ever", () =>
    Effect.gen(function*() {
      const limits = IdleTimeout.make({ idleTimeout: "Infinity", contentTimeout: "Infinity" })
      const late = Effect.as(Effect.sleep("2 hours"), "late")
      assert.strictEqual(yield* Drive.drive(limits.wait(late), { step: "10 minutes" }), "late")
      limits.heard("content")
      assert.strictEqual(yield* Drive.drive(limits.wait(late), { step: "10 minutes" }), "late")
    }))

  it.effect("is not one whose reader takes its time", () =>
    Effect.gen(function*() {
      const limits = IdleTimeout.make()
      const answer = Effect.gen(function*() {
        for (let piece = 0; piece < 3; piece++) {
          yield* limits.wait(Effect.sleep("30 seconds"))
          limits.heard("ping")
          yield* Effect.sleep("1 hour")
        }
        return "read"
      })
      assert.strictEqual(yield* Drive.drive(answer, { step: "30 seconds" }), "read")
    }))
})
