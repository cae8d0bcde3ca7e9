/** Tool info: what recovery and the steps of an attempt know of the tool of a call. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ClientInfo } from "../clientCall.ts"
import type { Compensation } from "./toolCompensation.ts"
import type { Effects } from "../../../Policy.ts"
import type { Listed } from "./toolList.ts"

/** What becomes of a key in the arguments that a tool's schema does not have. */
export type OnUnknownKeys = "refuse" | "drop"

/** What recovery has to know about the tool that it recovers. */
export interface ToolInfo {
  readonly name: string
  readonly description: string | undefined
  readonly effects: Effects | undefined
  /** Whether the tool passes an idempotency key on, so that repeating an attempt does nothing twice. */
  readonly passesKey: boolean
  /** Whether the tool is an agent, which goes on where it was cut off if the run around it does. */
  readonly isAgent?: boolean | undefined
  readonly jsonSchema: () => unknown
  /** What becomes of a key in the arguments that the schema does not have. */
  readonly onUnknownKeys: OnUnknownKeys
  /** How many characters of a result the model reads; left out, the agent says. */
  readonly resultLimit: number | undefined
  /** Whether a call with these arguments needs an approval; left out: none does. */
  readonly needsApproval: ((params: never, callId: string) => Effect.Effect<boolean, never, unknown>) | undefined
  /** Whether the executor calls tools that may need an approval, as the tool declares. */
  readonly asks?: boolean | undefined
  /** Declares what may be said of the executor's own errors. */
  readonly failure: Schema.Top | undefined
  readonly success: Schema.Top
  /** Whether results may hold text from outside. */
  readonly untrusted: boolean
  /** Whether identical calls are meant: it tells a state, or takes a step each time. */
  readonly polls?: boolean | undefined
  /** Whether the key of a call is made of its arguments: equal calls have one key. */
  readonly hasKeyFunction?: boolean | undefined
  /** Whether identical calls of one answer are one execution. */
  readonly coalesce?: boolean | undefined
  /** Whether what it writes is committed with the record of its outcome, where the run's journal can. */
  readonly isTransaction?: boolean | undefined
  /** How its writes are undone, if they can be. */
  readonly compensation?: Compensation | undefined
  /** Whether its description and parameters are from outside as well. */
  readonly foreignDescription: boolean
  /** Set for a tool that the page executes. */
  readonly client?: ClientInfo | undefined
  /** The list that it is from, if that can change while agents run. */
  readonly listed?: Listed | undefined
}
