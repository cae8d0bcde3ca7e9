/**
 * Failed model calls: their counts and events in a run, also if an execution ends between two of them and the next one
 * replays them from its journal.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentEvent, Journal, ModelError, ModelProvider, TransportRetry } from "@recourse/core"
import { Drive } from "@recourse/testing"
import { Duration, Effect, Exit, Schedule, Stream } from "effect"
import { AiError, LanguageModel, type Response } from "effect/ai"
import { type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"

const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } }
const finish: Response.FinishPartEncoded = { type: "finish", reason: "stop", usage }

const rateLimited = (retryAfter?: Duration.Duration) =>
  AiError.make({
    module: "Test",
    method: "generateText",
    reason: new AiError.RateLimitError({ ...(retryAfter === undefined ? undefined : { retryAfter }) })
  })

/** A request that is sent again by the transport. */
const sentAgain = (failure: TransportRetry.Failure, attempt = 1) =>
  Effect.flatMap(TransportRetry.Observer, (observe) =>
    observe({
      attempt,
      maxAttempts: 3,
      delay: Duration.millis(250),
      failure,
      retryAfter: undefined,
      method: "POST",
      host: "models.test:8080"
    }))

describe("requests that the transport sends again", () => {
  const model = (...failures: ReadonlyArray<TransportRetry.Failure>) =>
    ModelProvider.make({
      generateText: () =>
        Effect.as(
          Effect.forEach(failures, (failure, index) => sentAgain(failure, index + 1)),
          [{ type: "text", text: "done" }, finish]
        ),
      streamText: () => Stream.die("not streamed")
    })

  it.effect("are emitted with the turn, and counted; outer listeners receive them later", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const heard: Array<readonly [attempt: number, told: number]> = []
      const report = yield* Agent.make("mayRequestApproval", {}).report("go").pipe(
        Effect.provideServiceEffect(
          LanguageModel.LanguageModel,
          model({ _tag: "Status", status: 503 }, { _tag: "Transport", code: "ECONNRESET" }, {
            _tag: "Transport",
            code: undefined
          })
        ),
        Effect.provideService(
          TransportRetry.Observer,
          ({ attempt }) =>
            Effect.sync(() => heard.push([attempt, events.filter(({ _tag }) => _tag === "TransportRetry").length]))
        ),
        Effect.provide(layer)
      )
      const told = events.flatMap((event) =>
        event._tag === "TransportRetry"
          ? [{ turn: event.turn, retry: event.retry, delay: event.delay, error: event.error, host: event.host }]
          : []
      )
      const of = { turn: 1, delay: 250, host: "models.test:8080" }
      assert.deepStrictEqual(told, [
        { ...of, retry: 1, error: "503" },
        { ...of, retry: 2, error: "ECONNRESET" },
        { ...of, retry: 3, error: "connection" }
      ])
      assert.deepStrictEqual(heard, [[1, 1], [2, 2], [3, 3]])
      assert.strictEqual(report.usage.transportRetries, 3)
    }))

  it.effect("end the run on an exhausted budget, before emission and sending", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const heard: Array<number> = []
      const status = { _tag: "Status", status: 503 } as const
      const report = yield* Agent.make("mayRequestApproval", { budget: { transportRetries: 1 } }).report("go").pipe(
        Effect.provideServiceEffect(LanguageModel.LanguageModel, model(status, status)),
        Effect.provideService(TransportRetry.Observer, ({ attempt }) => Effect.sync(() => heard.push(attempt))),
        Effect.provide(layer)
      )
      const [failure] = Exit.isFailure(report.exit) ? report.exit.cause.reasons : []
      const error = failure?._tag === "Fail" ? failure.error : undefined
      assert.strictEqual(error?._tag === "BudgetExceeded" ? error.reason : undefined, "transportRetries")
      assert.deepStrictEqual(heard, [1])
      assert.strictEqual(events.filter(({ _tag }) => _tag === "TransportRetry").length, 1)
      assert.strictEqual(report.usage.transportRetries, 1)
    }))
})

describe("a model call that failed in an earlier execution", () => {
  /** A model that fails twice, the second time in the middle of its answer, and then answers. */
  const world = () => {
    const { kept, life } = journalOf()
    const asked: Array<number> = []
    const consulted: Array<readonly [attempt: number, reason: string]> = []
    const waits = () => [...kept.keys()].filter((key) => key.startsWith("wait ")).length
    const text = (delta: string): ReadonlyArray<Response.StreamPartEncoded> => [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta }
    ]
    const half = Effect.as(sentAgain({ _tag: "Status", status: 502 }), Stream.fail(rateLimited()))
    const model = ModelProvider.make({
      generateText: () => Effect.die("it is streamed"),
      streamText: () =>
        Stream.unwrap(Effect.clockWith((clock) =>
          Effect.sync(() => {
            asked.push(clock.currentTimeMillisUnsafe())
            switch (waits()) {
              case 0:
                return Stream.fail(rateLimited(Duration.seconds(5)))
              case 1:
                return Stream.concat(Stream.fromIterable(text("half an ")), Stream.unwrap(half))
              default:
                return Stream.fromIterable([...text("the whole answer"), { type: "text-end", id: "t" }, finish])
            }
          })
        ))
    })
    const agent = Agent.make("mayRequestApproval", {
      onModelError: (error, { attempt }) => {
        consulted.push([attempt, error.reason._tag])
        return ModelError.retry({ times: 3, schedule: Schedule.spaced("4 seconds"), restart: true })
      }
    })
    const live = (cut?: CutAt) => {
      consulted.length = 0
      return Drive.drive(
        Stream.runCollect(agent.stream("go", { runId: "run_1" })).pipe(
          Effect.provideServiceEffect(LanguageModel.LanguageModel, model),
          Effect.provideService(Journal.CurrentJournal, life(cut).journal),
          Effect.exit
        ),
        { step: "1 second" }
      )
    }
    return { asked, consulted, kept, live }
  }

  const texts = (exit: Exit.Exit<ReadonlyArray<AgentEvent.AgentEvent>, unknown>) => {
    const events = Exit.isSuccess(exit) ? exit.value : []
    const end = events.find((event) => event._tag === "RunFinished")
    const { inputTokens, transportRetries, turns } = end?.usage ?? {}
    return {
      output: end?.output,
      used: { inputTokens, transportRetries, turns },
      restarted: events.flatMap((event) => event._tag === "AnswerRestarted" ? [[event.retry, event.text]] : [])
    }
  }

  const consulted: ReadonlyArray<readonly [attempt: number, reason: string]> = [[1, "RateLimitError"], [
    2,
    "RateLimitError"
  ]]
  const used = { inputTokens: 10, transportRetries: 1, turns: 3 }

  it.effect("is waited for", () =>
    Effect.gen(function*() {
      const whole = world()
      const ended = texts(yield* whole.live())
      assert.deepStrictEqual(ended, { output: "the whole answer", used, restarted: [[2, "half an "]] })
      assert.deepStrictEqual(whole.asked, [0, 5_000, 9_000])
      assert.deepStrictEqual(whole.consulted, [...consulted])
      assert.strictEqual(whole.kept.size, 3)
    }))

  for (const { about, at, behind } of cuts(3)) {
    it.effect(`is not repeated, and its wait continues: interrupted ${about}`, () =>
      Effect.gen(function*() {
        const cut = world()
        const first = yield* cut.live({ at, behind })
        assert.isTrue(Exit.isFailure(first))
        const ended = texts(yield* cut.live())
        assert.deepStrictEqual({ output: ended.output, used: ended.used }, { output: "the whole answer", used })
        // Only unrecorded requests are repeated.
        const asks = [0, 5_000, 9_000]
        assert.deepStrictEqual(cut.asked, behind ? asks : asks.toSpliced(at, 0, asks[at - 1]!))
        // An answer that is recorded has no failures before it any more.
        assert.deepStrictEqual(cut.consulted, behind && at === 3 ? [] : [...consulted])
      }))
  }
})
