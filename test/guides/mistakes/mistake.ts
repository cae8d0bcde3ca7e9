/** A mistake of a first program: its code, the messages about it, and the remedy. The code that the page shows is compiled and run. */
import * as Core from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Authentication, Jwt, Server } from "@recourse/server"
import { Cause, Effect, type Exit, Layer, Redacted, Schema } from "effect"
import { createRequire } from "node:module"

const { z } = createRequire(new URL("../../../benchmarks/package.json", import.meta.url))("zod") as {
  readonly z: unknown
}

/** The declarations that the code of the page uses, for the compiler. */
export const header = `
import { Agent, Approval, Conversation, ModelError, Recovery, Tool } from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Authentication, Jwt, Server } from "@recourse/server"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { z } from "../../../../benchmarks/node_modules/zod/index.js"
const chat = { owner: "ada", thread: "t1" }
const city = Schema.Struct({ city: Schema.String })
const execute = () => Effect.void
const weather = Tool.make("weather", {
  parameters: city,
  success: Schema.String,
  effects: "read",
  execute: () => Effect.succeed("rain")
})
const helper = Agent.make("helper", { input: Prompt.Prompt, prompt: (conversation) => conversation })
declare const fetchRain: () => Promise<string>
declare const transcript: Prompt.Prompt
declare const turn: Conversation.Turn
declare const clerk: Agent.ModelAgent<typeof Schema.String, typeof Schema.String, never, never, never, never>
declare const agents: Server.Options["agents"]
declare const served: Layer.Layer<never, Error>
declare const snapshot: Approval.Snapshot
declare const decisions: ReadonlyArray<Approval.Decision>
`

const city = Schema.Struct({ city: Schema.String })
const { Agent, Approval, Conversation, ModelError, Recovery, Tool } = Core

/** The same declarations for the program that runs. */
const declared = {
  Agent,
  Approval,
  Authentication,
  Conversation,
  Effect,
  Jwt,
  Layer,
  ModelError,
  OpenAiCompatible,
  Recovery,
  Redacted,
  Schema,
  Server,
  Tool,
  agents: [{ name: "helper", description: "Helps", tools: [] }],
  chat: { owner: "ada", thread: "t1" },
  city,
  execute: () => Effect.void,
  fetchRain: () => Promise.resolve("rain"),
  helper: Agent.make("helper", {}),
  weather: Tool.make("weather", {
    parameters: city,
    success: Schema.String,
    effects: "read",
    execute: () => Effect.succeed("rain")
  }),
  z
}

/** Evaluates the code of a mistake as plain JavaScript, with further declarations. */
export type Evaluate = <A>(further?: Readonly<Record<string, unknown>>) => A

export interface Mistake {
  /** The moment at which the code is run, if the code alone does not say it. */
  readonly when?: string
  readonly wrote: string
  /** The text that a person or the model reads at run time. Default: the error that the code throws. `false`: the code is not run. */
  readonly observe?: ((evaluate: Evaluate) => Effect.Effect<string, unknown>) | false
  /** The package.json of the program's folder. Default: one of ECMAScript modules, and the declarations of {@link header}. */
  readonly manifest?: object
  readonly remedy: string
}

/** An error as Node.js prints it: its name and its message. */
export const shown = (error: unknown): string => {
  const { _tag, message, name } = error as { readonly _tag?: unknown; readonly message: string; readonly name: string }
  const { cause } = error as { readonly cause?: unknown }
  const reason = cause === undefined || cause instanceof Error ? cause?.message : JSON.stringify(cause)
  const because = reason === undefined || message.endsWith(reason) ? "" : ` (cause: ${reason})`
  return `${typeof _tag === "string" && name === "Error" ? _tag : name}: ${message}${because}`
}

/** The error of a run as `runPromise` throws it. */
export const failureOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  exit._tag === "Failure" ? shown(Cause.squash(exit.cause)) : "no failure"

const thrown = (evaluate: Evaluate): Effect.Effect<string> =>
  Effect.sync(() => {
    try {
      evaluate()
    } catch (error) {
      return shown(error)
    }
    return "no error"
  })

/** The text that is read at run time; `undefined` if the code is not run. */
export const textOf = ({ observe = thrown, wrote }: Mistake): Effect.Effect<string | undefined, unknown> => {
  if (observe === false) return Effect.undefined
  return observe((further) => {
    const scope = { ...declared, ...further }
    // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the code of the page is run without a compiler
    return new Function(...Object.keys(scope), `return (${wrote})`)(...Object.values(scope)) as never
  })
}
