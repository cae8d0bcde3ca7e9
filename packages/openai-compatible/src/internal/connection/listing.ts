/** Model listing: whether a server lists the model that it is to be asked. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SetupError from "../../SetupError.ts"
import * as Connection from "./connection.ts"

/** Time limit of a list. */
const patience = Duration.seconds(10)

const Listing = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))
const decode = Schema.decodeUnknownOption(Listing)

/** Servers list the model `x` under `models/x` or `x:latest`. */
const bare = (id: string): string => id.replace(/^models\//, "").replace(/:[\w.-]*$/, "")

/** Fails if the server has a list without the model. A server without a list may have it. */
export const check = (options: Parameters<typeof Connection.read>[1]): Effect.Effect<void, SetupError.UnknownModel> =>
  Connection.read("/models", options).pipe(
    Effect.timeout(patience),
    Effect.option,
    Effect.flatMap((answer) => {
      const listed = Option.flatMap(answer, ({ body, status }) => status < 300 ? decode(body) : Option.none())
      const known = Option.match(listed, { onNone: () => [], onSome: ({ data }) => data.map(({ id }) => id) })
      const { model } = options.target
      return known.length === 0 || known.some((id) => bare(id) === bare(model))
        ? Effect.void
        : Effect.fail(new SetupError.UnknownModel({ model, known }))
    })
  )
