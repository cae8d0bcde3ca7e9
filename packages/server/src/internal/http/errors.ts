/** Errors of requests, before anything is done. */
import * as Schema from "effect/Schema"

/**
 * The request cannot be read: 400. `problem` names fields and expectations, never the sent values. `param` is the path
 * of the field, if it is about one.
 */
export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  problem: Schema.String,
  param: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    return this.problem
  }
}

/** The body is larger than the server takes: 413. */
export class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", { limit: Schema.Int }) {
  override get message(): string {
    return `A request may have ${this.limit} bytes. A page may send its newest message alone`
  }
}

/** A body that a page of another site could send with the user's cookies, or one that is compressed: 415. */
export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {}) {
  override get message(): string {
    return "Send JSON that is not compressed, with the content-type application/json"
  }
}

/** A page of an origin that is not allowed sends it: 403. */
export class WrongOrigin extends Schema.TaggedError<WrongOrigin>()("WrongOrigin", {}) {
  override get message(): string {
    return "Pages of this origin may not send requests here: list it in `origins` of `Server.layer`. " +
      "A proxy that rewrites Host makes every page foreign: let it forward the header"
  }
}

/** The principal sends too many requests: 429. `retryAfter` is milliseconds. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  retryAfter: Schema.Finite
}) {
  override get message(): string {
    return "Too many requests: try again later"
  }
}

/** No route takes the request: 404. `path` has no query, because a query may hold a secret. */
export class RouteNotFound extends Schema.TaggedError<RouteNotFound>()("RouteNotFound", {
  method: Schema.String,
  path: Schema.String
}) {
  override get message(): string {
    return `There is no route ${this.method} ${this.path}: GET /openapi.json lists the routes`
  }
}
