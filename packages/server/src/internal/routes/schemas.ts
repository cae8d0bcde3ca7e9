/** Schemas that requests share. */
import * as Schema from "effect/Schema"

/** An id that a client makes. */
export const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
