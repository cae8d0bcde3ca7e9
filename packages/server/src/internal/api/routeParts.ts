/** Parts of routes as data, which several groups have. */
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { problems } from "./schemas.ts"

/** Answers of every route that needs a principal. */
export const always = [problems.unauthorized, problems.forbidden, problems.tooMany, problems.unexpected] as const
/** Answers of a route with a body. */
export const ofBody = [problems.badRequest, problems.tooLarge, problems.unsupported] as const

/** A body without fields. */
export const nothing = Schema.Struct({})

/** Position at which a reader of events continues. */
export const lastEventId = { "last-event-id": Schema.optional(Schema.String) }

/** Server-sent events, each with its number; `end` is the last one. */
export const eventStream = HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" })
