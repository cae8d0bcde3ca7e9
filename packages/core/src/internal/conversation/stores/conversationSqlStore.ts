/** Conversations in two SQL tables, over `effect/sql`. Times are by the database's clock. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"
import { type Columns, hasReturning, nowMillis } from "../../foundation/sqlTable.ts"
import { withoutNul } from "../../foundation/withoutNul.ts"
import { ThreadNotFound } from "../conversationErrors.ts"
import type { AppendOptions, Conversations, ListOptions, ThreadKey, ThreadList } from "../conversationService.ts"
import {
  claimOf,
  cursorOf,
  cursorText,
  during,
  keyHash,
  millis,
  ownerHash,
  pageSize,
  refusal,
  searched
} from "./storeParts.ts"
import { StoredEvent, type Thread } from "../thread.ts"
import { searchText } from "../threadView.ts"

/** The table of threads. Owner and id may be of any length: their hashes are looked up. */
export const threadColumns: Columns = {
  id: { type: "id", isUnique: true },
  owner_hash: { type: "id", isIndexed: true },
  owner: { type: "long" },
  thread: { type: "long" },
  title: { type: "long", isOptional: true },
  search_text: { type: "long" },
  version: { type: "millis" },
  created_at: { type: "millis" },
  updated_at: { type: "millis", isIndexed: true },
  claim: { type: "id", isOptional: true },
  leased_until: { type: "millis", isOptional: true },
  snapshot: { type: "long", isOptional: true }
}

/** The table of entries. */
export const entryColumns: Columns = {
  /** The thread's hash and the position, so that no position is taken twice. */
  id: { type: "name", isUnique: true },
  thread_id: { type: "id", isIndexed: true },
  entry_no: { type: "millis" },
  created_at: { type: "millis" },
  run_id: { type: "long", isOptional: true },
  event: { type: "long" },
  search_text: { type: "long" }
}

type Count = number | string | bigint

interface ThreadRow {
  readonly id: string
  readonly owner: string
  readonly thread: string
  readonly title: string | null
  readonly version: Count
  readonly created_at: Count
  readonly updated_at: Count
  readonly claim: string | null
  readonly leased_until: Count | null
  readonly is_waiting: Count
  readonly now: Count
}

interface EntryRow {
  readonly entry_no: Count
  readonly created_at: Count
  readonly run_id: string | null
  readonly event: string
}

const EventJson = Schema.fromJsonString(StoredEvent)
const decodeEvent = Schema.decodeEffect(EventJson)
const encodeEvent = Schema.encodeEffect(EventJson)
const JsonText = Schema.fromJsonString(Schema.Json)
const decodeJson = Schema.decodeEffect(JsonText)
const encodeJson = Schema.encodeEffect(JsonText)

const threadOf = (row: ThreadRow): Thread => ({
  id: row.thread,
  owner: row.owner,
  ...(row.title === null ? undefined : { title: row.title }),
  version: Number(row.version),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  isRunning: Number(row.leased_until ?? 0) > Number(row.now),
  isWaiting: Number(row.is_waiting) === 1
})

const isTransient = (reason: unknown): boolean => SqlError.isSqlError(reason) && reason.isRetryable

/** Conversations in tables that are there. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const sqlConversations = (
  client: SqlClient.SqlClient,
  tables: { readonly threads: string; readonly entries: string }
): Conversations["Service"] => {
  const sql = client.withoutTransforms()
  const threads = sql(tables.threads)
  const entries = sql(tables.entries)
  const now = nowMillis(sql)
  const columns = sql.literal(
    "t.id, t.owner, t.thread, t.title, t.version, t.created_at, t.updated_at, t.claim, t.leased_until, " +
      "CASE WHEN t.snapshot IS NULL THEN 0 ELSE 1 END AS is_waiting"
  )
  const during_ = (operation: Parameters<typeof during>[0]) => during(operation, isTransient)

  const find = (id: string) =>
    Effect.map(sql<ThreadRow>`SELECT ${columns}, ${now} AS now FROM ${threads} t WHERE t.id = ${id}`, ([row]) => row)
  const found = (id: string, { thread }: ThreadKey) =>
    Effect.flatMap(
      find(id),
      (row) => row === undefined ? Effect.fail(new ThreadNotFound({ thread })) : Effect.succeed(row)
    )

  const create: Conversations["Service"]["create"] = Effect.fnUntraced(
    function*(options) {
      const id = yield* keyHash(options)
      const title = options.title === undefined ? null : withoutNul(options.title)
      const values = sql`INSERT INTO ${threads}
        (id, owner_hash, owner, thread, title, search_text, version, created_at, updated_at)
        VALUES (${id}, ${yield* ownerHash(options.owner)}, ${options.owner}, ${options.thread}, ${title},
          ${(title ?? "").toLowerCase()}, 0, ${now}, ${now})`
      yield* hasReturning(sql)
        ? sql`${values} ON CONFLICT DO NOTHING`
        : Effect.catchIf(values, (error) => error.reason._tag === "UniqueViolation", () => Effect.void)
      return threadOf(yield* found(id, options))
    }, // Deleted at the same moment.
    Effect.catchTag("ThreadNotFound", (error) => Effect.fail(error.message)),
    during_("create")
  )

  const list = Effect.fnUntraced(function*(options: ListOptions) {
    const size = pageSize(options)
    const after = cursorOf(options.after)
    const search = searched(options)
    const pattern = search === undefined ? undefined : `%${search.replaceAll(/[!%_]/g, "!$&")}%`
    const behind = after === undefined ? sql`1 = 1` : sql`(t.updated_at < ${after.updatedAt}
        OR (t.updated_at = ${after.updatedAt} AND t.id < ${after.key}))`
    const matches = pattern === undefined ? sql`1 = 1` : sql`(t.search_text LIKE ${pattern} ESCAPE '!'
        OR EXISTS (SELECT 1 FROM ${entries} e WHERE e.thread_id = t.id AND e.search_text LIKE ${pattern} ESCAPE '!'))`
    const rows = yield* sql<ThreadRow>`SELECT ${columns}, ${now} AS now FROM ${threads} t
        WHERE t.owner_hash = ${yield* ownerHash(options.owner)} AND ${behind} AND ${matches}
        ORDER BY t.updated_at DESC, t.id DESC LIMIT ${sql.literal(String(size + 1))}`
    const last = rows.length > size ? rows[size - 1] : undefined
    return {
      threads: rows.slice(0, size).map(threadOf),
      ...(last === undefined
        ? undefined
        : { next: cursorText({ updatedAt: Number(last.updated_at), key: last.id }) })
    } satisfies ThreadList
  }, during_("list"))

  const read: Conversations["Service"]["read"] = Effect.fnUntraced(function*(options) {
    const id = yield* keyHash(options)
    // The thread first: entries appended in between are behind its version, and excluded.
    const row = yield* found(id, options)
    const thread = threadOf(row)
    const rows = yield* sql<EntryRow>`SELECT entry_no, created_at, run_id, event FROM ${entries}
        WHERE thread_id = ${id} AND entry_no > ${options.after ?? 0} AND entry_no <= ${thread.version}
        ORDER BY entry_no`
    const [stored] = thread.isWaiting
      ? yield* sql<{ readonly snapshot: string | null }>`SELECT snapshot FROM ${threads} WHERE id = ${id}`
      : []
    return {
      thread,
      entries: yield* Effect.forEach(rows, (entry) =>
        Effect.map(decodeEvent(entry.event), (event) => ({
          position: Number(entry.entry_no),
          at: Number(entry.created_at),
          ...(entry.run_id === null ? undefined : { runId: entry.run_id }),
          event
        }))),
      ...(stored?.snapshot == null ? undefined : { snapshot: yield* decodeJson(stored.snapshot) }),
      ...claimOf({ claim: row.claim ?? undefined, leasedUntil: Number(row.leased_until ?? 0) }, Number(row.now))
    }
  }, during_("read"))

  const rename: Conversations["Service"]["rename"] = Effect.fnUntraced(function*(options) {
    const id = yield* keyHash(options)
    const title = withoutNul(options.title)
    yield* sql`UPDATE ${threads} SET title = ${title}, search_text = ${title.toLowerCase()},
        updated_at = ${now} WHERE id = ${id}`
    return threadOf(yield* found(id, options))
  }, during_("rename"))

  const remove: Conversations["Service"]["delete"] = Effect.fnUntraced(
    function*(key) {
      const id = yield* keyHash(key)
      yield* found(id, key)
      // The thread first: who appends meanwhile waits for its row, and then finds none.
      yield* sql`DELETE FROM ${threads} WHERE id = ${id}`
      yield* sql`DELETE FROM ${entries} WHERE thread_id = ${id}`
    },
    sql.withTransaction,
    during_("delete")
  )

  const purge: Conversations["Service"]["purge"] = Effect.fnUntraced(
    function*(olderThanMillis) {
      const isOld = sql`updated_at <= ${now} - ${olderThanMillis} AND (claim IS NULL OR leased_until <= ${now})`
      const old = yield* sql<{ readonly id: string }>`SELECT id FROM ${threads} WHERE ${isOld} LIMIT 1000`
      if (old.length === 0) return 0
      const ids = old.map(({ id }) => id)
      // A transaction that has changed one since locks its row, and the thread is not old any more.
      yield* sql`DELETE FROM ${threads} WHERE ${sql.in("id", ids)} AND ${isOld}`
      const left = new Set(
        (yield* sql<{ readonly id: string }>`SELECT id FROM ${threads} WHERE ${sql.in("id", ids)}`).map(({ id }) => id)
      )
      const gone = ids.filter((id) => !left.has(id))
      if (gone.length > 0) yield* sql`DELETE FROM ${entries} WHERE ${sql.in("thread_id", gone)}`
      return gone.length
    },
    sql.withTransaction,
    during_("purge")
  )

  /** The events are appended, in their JSON, and the row of the thread says so: as a whole. */
  const appendEncoded = Effect.fnUntraced(
    function*(
      id: string,
      options: AppendOptions,
      events: ReadonlyArray<string>,
      snapshot: string | null | undefined
    ) {
      // Writes the row before it reads it: from here on no other transaction does.
      yield* sql`UPDATE ${threads} SET updated_at = ${events.length === 0 ? sql.literal("updated_at") : now}
          WHERE id = ${id}`
      const row = yield* found(id, options)
      const refused = refusal(options, {
        version: Number(row.version),
        claim: row.claim ?? undefined,
        leasedUntil: Number(row.leased_until ?? 0)
      }, Number(row.now))
      if (refused !== undefined) return yield* refused
      const first = Number(row.version) + 1
      const [head, ...tail] = events.map((event, n) => ({
        id: `${id}:${first + n}`,
        thread_id: id,
        entry_no: first + n,
        created_at: Number(row.now),
        run_id: options.runId ?? null,
        event,
        search_text: withoutNul(searchText(options.events[n]!))
      }))
      if (head !== undefined) yield* sql`INSERT INTO ${entries} ${sql.insert([head, ...tail])}`
      const isReleased = row.claim === options.release
      const claim = options.claim?.id ?? (isReleased ? null : row.claim)
      const leasedUntil = options.claim !== undefined
        ? sql`${now} + ${millis(options.claim.lease)}`
        : sql.literal(isReleased ? "NULL" : "leased_until")
      yield* sql`UPDATE ${threads} SET version = ${first - 1 + events.length}, claim = ${claim},
          leased_until = ${leasedUntil} ${snapshot === undefined ? sql`` : sql`, snapshot = ${snapshot}`}
          WHERE id = ${id}`
      return threadOf(yield* found(id, options))
    },
    sql.withTransaction
  )

  const append = Effect.fnUntraced(function*(options: AppendOptions) {
    const id = yield* keyHash(options)
    const events = yield* Effect.forEach(options.events, (event) => encodeEvent(event))
    const snapshot = options.snapshot === undefined || options.snapshot === null
      ? options.snapshot
      : yield* encodeJson(options.snapshot)
    return yield* appendEncoded(id, options, events, snapshot)
  }, during_("append"))

  const renew: Conversations["Service"]["renew"] = Effect.fnUntraced(function*(key, claim) {
    const id = yield* keyHash(key)
    yield* sql`UPDATE ${threads} SET leased_until = ${now} + ${millis(claim.lease)}
        WHERE id = ${id} AND claim = ${claim.id}`
    return (yield* find(id))?.claim === claim.id
  }, during_("renew"))

  return { create, list, read, rename, delete: remove, append, renew, purge }
}
