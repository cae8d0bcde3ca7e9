/** Parts of routes as data, which several groups have. */
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { problems } from "./schemas.ts"

/** What every route that asks for a principal may answer. */
export const always = [problems.unauthorized, problems.forbidden, problems.tooMany, problems.unexpected] as const
/** What a route with a body may answer. */
export const ofBody = [problems.badRequest, problems.tooLarge, problems.unsupported] as const

/** A body without fields. */
export const nothing = Schema.Struct({})

/** Where a reader of events goes on. */
export const lastEventId = { "last-event-id": Schema.optional(Schema.String) }

/** Server-sent events, each with its number; `end` is the last one. */
export const eventStream = HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" })
