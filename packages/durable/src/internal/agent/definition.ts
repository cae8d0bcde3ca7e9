/** Durable agents as the engine sees them: their codecs, and how they are run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { InvalidInput } from "@recourse/core/AgentError"
import {
  type Decision,
  type DecisionRefused,
  type Explanation,
  type Outcome,
  SnapshotKey
} from "@recourse/core/Approval"
import * as Conversation from "@recourse/core/Conversation"
import type { Asking } from "./approvalReminders.ts"
import type { Queue } from "../store/store.ts"

/**
 * @internal The owner of the store's key can change any run: a signature adds no protection if the program has no key
 * of its own.
 */
export const noKey = Context.make(SnapshotKey, Redacted.make("@recourse/durable"))

/** @internal How a run of an agent proceeds. */
export type From = { readonly input: unknown } | {
  readonly snapshot: Schema.Json
  readonly decisions: ReadonlyArray<Decision>
}

/** @internal How inputs are encoded and decoded. */
export interface InputCodec {
  readonly encode: (input: unknown) => Effect.Effect<unknown, unknown, unknown>
  readonly decode: (input: unknown) => Effect.Effect<unknown, unknown, unknown>
}

/** @internal The codec of inputs of a schema. The one of `Prompt.Prompt` reads messages by hand: a schema takes ten times as long. */
export const inputCodec = (schema: Schema.Top): InputCodec => {
  if (schema === Prompt.Prompt) {
    return {
      encode: (input) => Effect.sync(() => Conversation.encode(input as Prompt.Prompt)),
      decode: (input) => Effect.fromOption(Conversation.decode(input))
    }
  }
  const json = Schema.toCodecJson(schema)
  return { encode: Schema.encodeUnknownEffect(json), decode: Schema.decodeUnknownEffect(json) }
}

/** @internal An agent, with its types forgotten. */
export interface Definition {
  readonly name: string
  readonly version: string
  /** Treatment of these versions' runs. */
  readonly previousVersions: Readonly<Record<string, "continue" | "stop">>
  readonly queue: Queue | undefined
  readonly asking: Asking | undefined
  readonly decodeInput: InputCodec["decode"]
  readonly encodeOutput: (output: unknown) => Effect.Effect<Schema.Json, unknown, unknown>
  readonly encodeError: (error: unknown) => Effect.Effect<Schema.Json, unknown, unknown>
  /** Fails with a decision about the calls that a run waits for that its agent does not take. */
  readonly check: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<void, DecisionRefused, unknown>
  /** Explains the snapshot of a run that waits; left out for an agent that cannot wait. */
  readonly explain: ((snapshot: unknown) => Effect.Effect<Explanation, never, unknown>) | undefined
  readonly proceed: (from: From, runId: string) => Effect.Effect<Outcome<unknown>, unknown, unknown>
}

const issues = [{
  path: [],
  expected: "expected JSON that the input schema of the agent reads",
  problem: "invalid"
}] as const

/** @internal Error of an input that does not fit the agent's schema. */
export const invalidInput = (agent: string): InvalidInput => new InvalidInput({ agent, issues })

/** @internal The input of a run, decoded for the agent. */
export const inputOf = (
  { decodeInput, name }: Pick<Definition, "decodeInput" | "name">,
  input: unknown
): Effect.Effect<unknown, InvalidInput, unknown> => Effect.mapError(decodeInput(input), () => invalidInput(name))

/** @internal A definition with its agent's services. */
export interface Registered {
  readonly definition: Definition
  readonly context: Context.Context<never>
}
