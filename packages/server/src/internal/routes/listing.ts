/** Pages of lists: their queries, read strictly, and the runs that a reader may see. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { newestFirst, type Query, type RunInfo, type RunsService } from "@recourse/core/Runs"
import { BadRequest } from "../http/errors.ts"

type Decodable = Schema.Top & { readonly DecodingServices: never }

/** Reads the query of a request. Fails with `BadRequest` for a parameter that the schema does not have. */
export const queryOf = <S extends Decodable>(
  schema: S
): Effect.Effect<S["Type"], BadRequest, HttpServerRequest.ParsedSearchParams> =>
  Effect.flatMap(HttpServerRequest.ParsedSearchParams, (params) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(schema)(params, { onExcessProperty: "error" }),
      (error) => new BadRequest({ problem: error.message })
    ))

/** A page of runs. `next` is the cursor of the next page; a last page has none. */
export interface Page {
  readonly runs: ReadonlyArray<RunInfo>
  readonly next?: string
}

/** The run that a cursor names. */
export const lastOf = (cursor: string): Pick<RunInfo, "runId" | "startedAt"> => {
  const at = cursor.indexOf(".")
  return { startedAt: Number(cursor.slice(0, at)), runId: cursor.slice(at + 1) }
}

/**
 * Lists a page of runs of the agents that the reader may see. The store is queried for each of these agents, so that no page is
 * cut short and no cursor names a run of another agent. `agents` is left out for a reader who may see all.
 */
export const pageOf = (
  runs: RunsService,
  { agent, limit, ...query }: Query & { readonly limit: number },
  cursor: string | undefined,
  agents: ReadonlyArray<string> | undefined
): Effect.Effect<Page, Effect.Error<ReturnType<RunsService["list"]>>> => {
  const behind = cursor === undefined ? undefined : lastOf(cursor)
  const listed = (agent: string | undefined) => runs.list({ ...query, agent, behind, limit: limit + 1 })
  const visible = agents === undefined
    ? [agent]
    : [...new Set(agents)].filter((name) => agent === undefined || name === agent)
  return Effect.map(Effect.forEach(visible, listed, { concurrency: 4 }), (lists) => {
    const found = lists.flat().toSorted(newestFirst)
    const page = found.slice(0, limit)
    const last = found.length > limit ? page.at(-1) : undefined
    return { runs: page, ...(last === undefined ? undefined : { next: `${last.startedAt}.${last.runId}` }) }
  })
}
