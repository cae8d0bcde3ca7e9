/** Mistakes in executors and their recovery: seen when a run calls the tool. */
import { Agent, Recovery, type Tool } from "@recourse/core"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type Evaluate, failureOf, type Mistake } from "./mistake.ts"

type AnyTool = Tool.Tool<"find", never, never, never, never>

/** The end of a run that calls the tool once, and the result that the model has read. */
const run = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const tool = evaluate<AnyTool>()
    const agent = Agent.make(
      "a",
      { tools: [tool], defaults: { onError: Recovery.standard } } as never
    ) as never as Agent.Agent<
      string,
      string,
      unknown,
      never
    >
    const exit = yield* Drive.drive(Effect.exit(agent.run("go")))
    const model = yield* ScriptedModel.ScriptedModel
    const last = (yield* model.lastRequest).prompt.content.at(-1)
    return { exit, read: last?.role === "tool" ? last.content[0] : undefined }
  }).pipe(
    Effect.provide(ScriptedModel.layer([ScriptedModel.call("find", {}), ScriptedModel.text("done")])),
    Effect.provide(TestClock.layer())
  )

const ends = (evaluate: Evaluate) => Effect.map(run(evaluate), ({ exit }) => failureOf(exit))

/** The result that the model reads. */
const reads = (evaluate: Evaluate) =>
  Effect.map(run(evaluate), ({ read }) => {
    const { code, instruction, message_for_model, safe_to_retry } = (read as never as {
      readonly result: Readonly<Record<string, string | boolean>>
    }).result
    return `the model reads ${JSON.stringify({ code, message_for_model, safe_to_retry, instruction })}`
  })

export const executors: ReadonlyArray<Mistake> = [
  {
    wrote: "Tool.make(\"find\", { success: Schema.String, execute: async () => \"rain\" })",
    remedy: "`execute: () => Effect.tryPromise(() => …)`"
  },
  {
    wrote: "Tool.make(\"find\", { success: Schema.String, execute: function*() { return \"rain\" } })",
    remedy: "`execute: () => Effect.gen(function*() { … })`"
  },
  {
    wrote: "Tool.make(\"find\", { success: Schema.String, execute: () => fetchRain() })",
    observe: ends,
    remedy: "`execute: () => Effect.tryPromise(fetchRain)`"
  },
  {
    wrote: "Tool.make(\"find\", { effects: \"read\", execute: () => Effect.succeed(\"rain\") })",
    observe: (evaluate) =>
      Effect.map(
        run(evaluate),
        ({ read }) => `the model reads ${JSON.stringify((read as { result?: unknown }).result)}`
      ),
    remedy: "`success: Schema.String`; a tool without a result ends with `Effect.asVoid`"
  },
  {
    wrote: "Tool.make(\"find\", { success: Schema.String, execute: () => { throw new Error(\"down\") } })",
    observe: ends,
    remedy: "`Effect.fail` or `Effect.try`; in a chat `Recovery.chatSafe`. [Presets](presets.md)"
  },
  {
    wrote:
      "Tool.make(\"find\", { success: Schema.String, execute: () => Effect.promise(() => Promise.reject(\"down\")) })",
    observe: ends,
    remedy: "`Effect.tryPromise`: `Effect.promise` is for promises that do not reject"
  },
  {
    wrote: "Tool.make(\"find\", { success: Schema.String, effects: \"read\", execute: () => Effect.fail(\"down\") })",
    observe: ends,
    remedy: "Declare the error with `failure`, recover in `onError`, or take `Recovery.keepGoing`. [Errors](errors.md)"
  },
  {
    wrote: "Tool.make(\"find\", { effects: \"write\", needsApproval: async () => true, execute: () => Effect.void })",
    observe: ends,
    remedy:
      "`needsApproval: () => Effect.promise(…)`: an async function decides no call. [Policies and approval](approval.md)"
  },
  {
    wrote: "Tool.make(\"find\", { effects: \"write\", timeout: \"1 second\", execute: () => Effect.never })",
    observe: reads,
    remedy: "`idempotency` with `reconcile` or `deduplicated`. [Lawful recovery](lawful-recovery.md)"
  }
]
