/** A program with secrets in every place, as a random value. */
import type { Replay } from "@recourse/testing"
import { Data, Effect, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import { AiError, LanguageModel, type Response } from "effect/ai"
import * as Arbitrary from "effect/Arbitrary"
import {
  Agent,
  Approval,
  ErrorProjection,
  IdempotencyLedger,
  ModelError,
  Recovery,
  Redaction,
  Tool,
  ToolCall
} from "@recourse/core"

/** Secrets by their format, and those that only a name identifies. */
export const secrets = {
  token: "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
  dsn: "postgres://root:hunter2pass@db.example.org/crm",
  key: "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSj\n-----END PRIVATE KEY-----",
  password: "correct-horse-battery",
  email: "ada.lovelace@example.org",
  iban: "DE02 1203 0000 0000 2020 51",
  note: "she said \"go\\away\"\nand went",
  ticket: "K-480213"
} as const

export type Name = keyof typeof secrets

/** The user's secret fields. */
export const fields = ["email", "customer.iban", "note"]

const places = [
  "input",
  "result text",
  "result list",
  "result map key",
  "result map value",
  "result record key",
  "result json",
  "argument",
  "argument list",
  "argument json",
  "argument key",
  "text",
  "text json",
  "reasoning",
  "waiting argument",
  "decision",
  "failure"
] as const

type Place = (typeof places)[number]

export interface Leaky {
  readonly secrets: ReadonlyArray<Name>
  readonly places: ReadonlyArray<{ readonly place: Place; readonly secret: number }>
  readonly failure: "declared" | "undeclared" | "defect" | "escalation" | "none"
  readonly decision: "approve" | "edit" | "reject" | "respond"
  readonly redactor: "default" | "results" | "own"
  readonly streaming: boolean
  /** Characters of each delta. */
  readonly size: number
  readonly asText: boolean
  /** After how many parts the second answer is cut off, before it is given whole. */
  readonly cut: number
}

const one = <const A extends string | number | boolean>(values: ReadonlyArray<A>): Arbitrary.Arbitrary<A> =>
  Arbitrary.map(Arbitrary.schema(Schema.Literals(values.map((_, index) => index))), (index) => values[index]!)

export const leaky: Arbitrary.Arbitrary<Leaky> = Arbitrary.all({
  secrets: Arbitrary.array(one(Object.keys(secrets) as ReadonlyArray<Name>), { minLength: 2, maxLength: 4 }),
  places: Arbitrary.array(Arbitrary.all({ place: one(places), secret: one([0, 1, 2, 3]) }), {
    minLength: 3,
    maxLength: 8
  }),
  failure: one(["none", "declared", "undeclared", "defect", "escalation"]),
  decision: one(["approve", "edit", "reject", "respond"]),
  redactor: one(["default", "results", "own"]),
  streaming: one([false, true]),
  size: one([3, 1, 7, 11]),
  asText: one([false, true]),
  cut: one([0, 3, 7, 12, 20])
})

/** The redactor of the program. */
export const redactorOf = ({ redactor }: Leaky): Layer.Layer<never> => {
  const rules = [...Redaction.rules, { kind: "ticket", pattern: /\bK-\d{6}\b/g }]
  switch (redactor) {
    case "default":
      return Layer.empty
    case "results":
      return Redaction.layer(Redaction.make({ results: true }))
    case "own":
      return Redaction.layer(Redaction.make({ rules }))
  }
}

/** The secrets that a part of the program identifies. */
export const told = (drawn: Leaky): ReadonlyArray<Name> =>
  [...new Set(drawn.secrets)].filter((name) => name !== "ticket" || drawn.redactor === "own")

/** Text of a place: a sentence with its secrets. */
const at = (drawn: Leaky, place: Place): string => {
  const here = drawn.places.filter((one) => one.place === place).map(({ secret }) =>
    secrets[drawn.secrets[secret % drawn.secrets.length]!]
  )
  return here.length === 0 ? "nothing" : `It is ${here.join(" and ")} (really)`
}

const has = (drawn: Leaky, name: Name): string =>
  drawn.secrets.includes(name) ? secrets[name] : name === "password" ? "none" : ""

class Refused extends Schema.TaggedError<Refused>()(
  "Refused",
  { what: Schema.String },
  ErrorProjection.declare<{ readonly what: string }>({ code: "refused", model: ({ what }) => `refused: ${what}` })
) {}

class Broken extends Data.TaggedError("Broken")<{ readonly what: string; readonly password: string }> {}

/** The tools of a program. `onExecute` receives each execution. */
const toolsOf = (drawn: Leaky, onExecute: () => void) => {
  const Look = Tool.make("look", {
    success: Schema.Struct({
      text: Schema.String,
      password: Schema.String,
      email: Schema.String,
      customer: Schema.Struct({ iban: Schema.String }),
      note: Schema.String,
      list: Schema.Array(Schema.Struct({ item: Schema.String })),
      map: Schema.ReadonlyMap(Schema.String, Schema.String),
      record: Schema.Record(Schema.String, Schema.Int),
      json: Schema.String
    }),
    effects: "read",
    execute: () =>
      Effect.map(ToolCall.ToolCall, (call) => {
        onExecute()
        const all = drawn.secrets.map((name) => secrets[name])
        return {
          text: `${at(drawn, "result text")} ${
            all.filter((text) => text === secrets.token || text === secrets.dsn)
          }, call ${call.id}`,
          password: has(drawn, "password"),
          email: has(drawn, "email"),
          customer: { iban: has(drawn, "iban") },
          note: has(drawn, "note"),
          list: [{ item: at(drawn, "result list") }, { item: has(drawn, "key") }, { item: has(drawn, "ticket") }],
          map: new Map([[at(drawn, "result map key"), at(drawn, "result map value")]]),
          record: { [at(drawn, "result record key")]: 1, z: 2, _: 3 },
          json: JSON.stringify({ a: { b: [at(drawn, "result json")] }, password: has(drawn, "password") })
        }
      })
  })
  const Send = Tool.make("send", {
    parameters: Schema.Struct({
      text: Schema.String,
      list: Schema.Array(Schema.String),
      json: Schema.String,
      keys: Schema.Record(Schema.String, Schema.Int)
    }),
    success: Schema.String,
    effects: "write",
    idempotency: { key: ({ text }) => text },
    execute: ({ text }) =>
      Effect.sync(() => {
        onExecute()
        return `sent ${text}`
      })
  })
  const Fail = Tool.make("fail", {
    success: Schema.String,
    failure: Refused,
    effects: "read",
    execute: (): Effect.Effect<string, Refused | Broken, ToolCall.ToolCall> =>
      Effect.suspend((): Effect.Effect<string, any, ToolCall.ToolCall> => {
        onExecute()
        const what = `${at(drawn, "failure")}; password=${has(drawn, "password")}`
        switch (drawn.failure) {
          case "declared":
            return Effect.fail(new Refused({ what }))
          case "undeclared":
            return Effect.fail(new Broken({ what, password: has(drawn, "password") }))
          case "defect":
            return Effect.die(new Error(what))
          case "escalation":
            return ToolCall.escalate({ code: "closed", reason: what })
          case "none":
            return Effect.succeed("fine")
        }
      })
  })
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ what: Schema.String, email: Schema.String }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ email, what }) =>
      Effect.sync(() => {
        onExecute()
        return `${email} has paid ${what}`
      })
  })
  return [Look, Send, Fail, Pay] as const
}

/** A program, built. */
export const build = (drawn: Leaky, onExecute: () => void, instructions = "Work.") => {
  const tools = toolsOf(drawn, onExecute)
  const key = Approval.layerKey(Redacted.make("a key for tests of thirty-two bytes or more"))
  const agent = Agent.make("leaky", {
    instructions,
    tools,
    defaults: { onError: Recovery.standard },
    approval: { timeToLive: "1 hour" },
    onModelError: () => ModelError.retry({ times: 1, restart: true, schedule: Schedule.spaced("1 second") })
  }).pipe(Agent.provide(Layer.merge(key, IdempotencyLedger.layerMemory)))
  return { agent, tools }
}

/** A person's decision about the payment. */
export const decide = (drawn: Leaky): NonNullable<Replay.RecordOptions["decide"]> => (pending) =>
  Effect.succeed(pending.map((call) => {
    const what = at(drawn, "decision")
    switch (drawn.decision) {
      case "approve":
        return Approval.approve(call)
      case "edit":
        return Approval.edit(call, { what, email: has(drawn, "email") })
      case "reject":
        return Approval.reject(call, what)
      case "respond":
        return Approval.respond(call, what)
    }
  }))

export const input = (drawn: Leaky): string => at(drawn, "input")

/** Ids as providers give them: they look as random as keys. */
export const id = (nth: number): string => `toolu_01A09q90qw90lq917835lq9${nth}`

/** JSON within JSON within a sentence. */
const quoted = (text: string): string => `See ${JSON.stringify({ a: JSON.stringify([text]) })}.`

const partsOf = (drawn: Leaky, nth: number): ReadonlyArray<Response.PartEncoded> => {
  const call = (name: string, params: object, number = nth): Response.PartEncoded => ({
    type: "tool-call",
    id: id(number),
    name,
    params: drawn.asText ? JSON.stringify(params, null, nth) : params
  })
  switch (nth) {
    case 0:
      return [{ type: "reasoning", text: at(drawn, "reasoning") }, call("look", {})]
    case 1:
      return [
        { type: "text", text: `${at(drawn, "text")} ${quoted(at(drawn, "text json"))}` },
        ...[1, 8].map((nth) =>
          call("send", {
            text: at(drawn, "argument"),
            list: ["a", at(drawn, "argument list")],
            json: JSON.stringify({ deep: JSON.stringify([at(drawn, "argument json")]) }),
            keys: { [at(drawn, "argument key")]: 1 }
          }, nth)
        )
      ]
    case 3:
      return [call("fail", {})]
    case 2:
      return [call("pay", { what: at(drawn, "waiting argument"), email: has(drawn, "email") })]
    default:
      return [{ type: "text", text: `Done: ${at(drawn, "text")}` }]
  }
}

const chunks = (text: string, size: number): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size))

const streamed = (part: Response.PartEncoded, size: number): ReadonlyArray<Response.StreamPartEncoded> => {
  switch (part.type) {
    case "text":
    case "reasoning": {
      const { type } = part
      return [
        { type: `${type}-start`, id: "0" },
        ...chunks(part.text, size).map((delta) => ({ type: `${type}-delta` as const, id: "0", delta })),
        { type: `${type}-end`, id: "0" }
      ]
    }
    case "tool-call": {
      const text = typeof part.params === "string" ? part.params : JSON.stringify(part.params)
      return [
        { type: "tool-params-start", id: part.id, name: part.name },
        ...chunks(text, size).map((delta) => ({ type: "tool-params-delta" as const, id: part.id, delta })),
        { type: "tool-params-end", id: part.id },
        part
      ]
    }
    default:
      return [part as Response.StreamPartEncoded]
  }
}

const finish = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
} as unknown as Response.PartEncoded

const broken = AiError.make({
  module: "leaky",
  method: "streamText",
  reason: new AiError.InternalProviderError({ description: "cut off" })
})

/** The model: its nth answer is that of a conversation with so many answers. */
export const model = (drawn: Leaky): Layer.Layer<LanguageModel.LanguageModel> => {
  let left = drawn.cut
  const nthOf = ({ prompt }: LanguageModel.ProviderOptions) =>
    prompt.content.filter(({ role }) => role === "assistant").length
  const answer = (nth: number) => [...partsOf(drawn, nth), finish]
  return Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: (options) => Effect.succeed(answer(nthOf(options))),
      streamText: (options) => {
        const nth = nthOf(options)
        const parts = answer(nth).flatMap((part) => streamed(part, drawn.size))
        if (nth !== 1 || left === 0) return Stream.fromIterable(parts)
        const cut = parts.slice(0, left)
        left = 0
        return Stream.concat(Stream.fromIterable(cut), Stream.fail(broken))
      }
    })
  )
}
