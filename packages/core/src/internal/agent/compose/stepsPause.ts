/** Pause of an agent that is made of agents: its checkpoint has its steps, and those that wait. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import {
  type Checkpoint,
  type NestedRun,
  type PendingCall,
  type Steps as StoredSteps,
  version
} from "../../approval/snapshot.ts"
import { encodePrompt } from "../../foundation/json/promptJson.ts"
import { Pause } from "../../loop/pause.ts"
import type { Run } from "../../run/run.ts"
import { emptyTranscript } from "../../run/runEntries.ts"
import { storedWrites } from "../../run/writes/completedWrites.ts"
import type { Form } from "../resume/valueCodec.ts"
import type { Entry } from "./stepOutcome.ts"

/** A step that waits. */
interface WaitingStep {
  readonly nested: NestedRun
  readonly pending: ReadonlyArray<PendingCall>
}

/** The steps of a run, and its input. */
interface StepsOfRun {
  readonly input: unknown
  readonly inputForm: Form
  readonly entries: ReadonlyMap<string, Entry>
  /** The steps that received the input of the whole. */
  readonly asGiven: ReadonlySet<string>
}

const encoded = (run: Run, name: string, value: unknown, form: Form) =>
  Effect.map(form.keep(value), (encoded) => {
    if (Option.isSome(encoded)) return encoded.value
    throw new ConfigurationError({
      subject: `Agent "${run.path.at(-1)}"`,
      problem: `it cannot wait: ${name} has no JSON form. Make it JSON, or let an agent with a schema answer it`
    })
  })

const encodeSteps = Effect.fnUntraced(
  function*(run: Run, { asGiven, entries, input, inputForm }: StepsOfRun): Effect.fn.Return<
    StoredSteps,
    never,
    unknown
  > {
    const done: Record<string, { readonly answer?: Schema.Json }> = {}
    for (const [id, entry] of entries) {
      if (entry._tag === "Answered") {
        done[id] = { answer: yield* encoded(run, `what "${id}" answers`, entry.value, entry.form) }
      }
      if (entry._tag === "Stored") done[id] = { answer: entry.json }
      if (entry._tag === "Failed") done[id] = {}
    }
    const stored = yield* encoded(run, "its input", input, inputForm)
    const asGivenIds = Prompt.isPrompt(input) ? { asGiven: [...asGiven] } : undefined
    return { input: stored, done, nested: run.nested.state(), ...asGivenIds }
  }
)

/** Returns the pause of a run in which steps wait. `agents`: names of its agents. Dies if JSON cannot represent the answers of earlier steps. */
export const pauseOfSteps = (
  run: Run,
  steps: StepsOfRun,
  waiting: ReadonlyArray<WaitingStep>,
  agents: ReadonlyArray<string>
): Effect.Effect<Pause, never, unknown> =>
  Effect.map(encodeSteps(run, steps), (steps) => {
    const pending = waiting.flatMap(({ pending }) => pending)
    const checkpoint = (): Checkpoint => ({
      version,
      runId: run.id,
      agent: run.path.at(-1) ?? "",
      ...(run.parent === undefined ? undefined : { scope: run.scope }),
      transcript: encodePrompt(emptyTranscript),
      turn: 0,
      usage: { ...run.counts.usage },
      budget: run.account.state(),
      executed: run.counts.executed.map((call) => ({ ...call })),
      ...storedWrites(run),
      failures: {},
      callIds: [],
      taintedBy: [...run.reading.taintedBy],
      hidden: {},
      steps,
      round: {
        calls: [],
        results: encodePrompt(emptyTranscript),
        pending,
        nested: waiting.map(({ nested }) => nested)
      }
    })
    return new Pause(pending, checkpoint, () => ({ tools: [], agents }))
  })
