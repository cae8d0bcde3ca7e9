/** Requests: their size, type, origin, sender and body, checked before anything is done. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Incoming from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { UnknownAgent } from "@recourse/core/Runs"
import {
  Authentication,
  Forbidden,
  identified,
  type Principal,
  type Right,
  type Unauthorized,
  type WrongHost
} from "../../Authentication.ts"
import { checkFields, type Fields, used } from "../api/fields.ts"
import type { Limits } from "./limits.ts"
import { BadRequest, TooLarge, type TooManyRequests, UnsupportedMediaType, WrongOrigin } from "./errors.ts"

/** Checks of each request. */
export interface Checks {
  readonly maxBodyBytes: number
  /** Origins of pages that may send requests, besides the server's own. */
  readonly origins: ReadonlySet<string>
  readonly limits: Limits
}

/** A request that has passed. */
export interface Checked {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly principal: Principal
}

const mediaType = (header: string | undefined): string => (header ?? "").split(";", 1)[0]!.trim().toLowerCase()

/** Methods of requests without a body. The router answers `HEAD` by the routes of `GET`. */
const bodiless: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE"])

const isPlainJson = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  mediaType(headers["content-type"]) === "application/json" &&
  mediaType(headers["content-encoding"] ?? "identity") === "identity"

/** True if a page of this origin may send requests: no page at all, the server's own, or a listed one. */
const isAllowed = ({ headers }: HttpServerRequest.HttpServerRequest, origins: ReadonlySet<string>): boolean => {
  const { host, origin } = headers
  if (origin === undefined) return headers["sec-fetch-site"] !== "cross-site"
  if (origins.has(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === host
}

/** Default rights of a principal: all for its own runs, and none for those of others. */
const usual: ReadonlyArray<Right> = ["chat", "decide"]

/** Fails unless a principal has a right. */
export const need = ({ rights = usual }: Principal, right: Right): Effect.Effect<void, Forbidden> =>
  rights.includes(right) ? Effect.void : Effect.fail(new Forbidden({ right }))

/** Returns the sender of the request, if that has the right. */
export const check = Effect.fnUntraced(function*(
  checks: Checks,
  right: Right
): Effect.fn.Return<
  Checked,
  Unauthorized | WrongHost | Forbidden | WrongOrigin | UnsupportedMediaType | TooManyRequests,
  HttpServerRequest.HttpServerRequest | Authentication
> {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (!isAllowed(request, checks.origins)) return yield* new WrongOrigin()
  if (!bodiless.has(request.method) && !isPlainJson(request)) return yield* new UnsupportedMediaType()
  const { limits } = checks
  const { authenticate } = yield* Authentication
  const principal = yield* limits.authenticated(request, Effect.flatMap(authenticate(request), identified))
  yield* need(principal, right)
  yield* limits.request(principal)
  return { request, principal }
})

/** {@link check} for a request that is answered by a stream: it counts among the principal's streams until it ends. */
export const checkStream = (checks: Checks, right: Right) =>
  Effect.tap(check(checks, right), ({ principal }) => checks.limits.stream(principal))

/** Fails unless a principal may run an agent: a forbidden one does not exist for it. */
export const mayRun = (
  { agents }: Principal,
  agent: string,
  known: ReadonlyMap<string, unknown>
): Effect.Effect<void, UnknownAgent> => {
  const isAllowed = (name: string) => agents === undefined || agents.includes(name)
  return known.has(agent) && isAllowed(agent)
    ? Effect.void
    : Effect.fail(new UnknownAgent({ agent, registered: [...known.keys()].filter(isAllowed) }))
}

type Body = Schema.Top & { readonly DecodingServices: never }

const parse = Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))

const formatted = SchemaIssue.makeFormatterStandardSchemaV1()

/** The path of the first field that does not fit, such as `messages[0].content`. */
const paramOf = ({ issue }: Schema.SchemaError): string | undefined => {
  const path = formatted(issue).issues[0]?.path ?? []
  const text = path.map((part) => {
    const key = typeof part === "object" ? part.key : part
    return typeof key === "number" ? `[${key}]` : `.${String(key)}`
  }).join("")
  return text === "" ? undefined : text.replace(/^\./, "")
}

const misfit = (error: Schema.SchemaError): BadRequest => {
  const param = paramOf(error)
  return new BadRequest({ problem: error.message, ...(param === undefined ? undefined : { param }) })
}

/** Decoders of JSON by a schema: made once, not for each request. */
const readers = new WeakMap<Body, (value: unknown) => Effect.Effect<unknown, Schema.SchemaError>>()

const readerOf = (schema: Body) => {
  const reader = readers.get(schema) ??
    Schema.decodeUnknownEffect(schema) as (value: unknown) => Effect.Effect<unknown, Schema.SchemaError>
  readers.set(schema, reader)
  return reader
}

const textOf = ({ request }: Checked, { maxBodyBytes }: Checks): Effect.Effect<string, TooLarge> =>
  Effect.mapError(
    Effect.provideService(request.text, Incoming.MaxBodySize, ByteSize.fromInputUnsafe(maxBodyBytes)),
    () => new TooLarge({ limit: maxBodyBytes })
  )

/**
 * The JSON body of a request, by a schema. Fails with `BadRequest` for a field that the table refuses or does not have; without a
 * table, for one that the schema does not have.
 */
export const body = <S extends Body>(
  schema: S,
  checked: Checked,
  checks: Checks,
  fields?: Fields
): Effect.Effect<S["Type"], BadRequest | TooLarge> =>
  Effect.flatMap(textOf(checked, checks), (text) =>
    Effect.flatMap(Effect.mapError(parse(text), misfit), (value) => {
      const read = Effect.mapError(readerOf(schema)(value), misfit)
      return Effect.andThen(
        checkFields(fields ?? tableOf(schema), value),
        read
      )
    }))

const tables = new WeakMap<Body, Fields>()

/** The table of a schema whose fields are all used. */
const tableOf = (schema: Body): Fields => {
  const known = tables.get(schema)
  if (known !== undefined) return known
  const names = "fields" in schema ? Object.keys(schema.fields as object) : []
  const table: Fields = Object.fromEntries(names.map((name) => [name, used]))
  tables.set(schema, table)
  return table
}
