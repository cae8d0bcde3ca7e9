/**
 * The databases of tests: servers on this machine if they answer, embedded stand-ins otherwise. The choice is printed
 * once. An address in the environment that does not answer fails; an empty one chooses the stand-in.
 */
import { MysqlClient } from "@recourse/sql"
import { Effect, Exit, type Layer } from "effect"
import { Redis } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { createRedisMock } from "js-redis-server"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { databaseFolder } from "./databaseFolder.ts"
import { type Address, mysqlOptions, type RedisAddress, redisLayer, type SqlAddress, sqlLayer } from "./connections.ts"

const unique = (): string => `recourse_test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`

const run = <A>(
  effect: Effect.Effect<A, unknown, SqlClient.SqlClient>,
  layer: Layer.Layer<SqlClient.SqlClient, unknown>
) => Effect.runPromise(Effect.scoped(Effect.provide(effect, layer)))

const version = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ readonly version: string }>`SELECT version() AS version`,
    ([row]) => row!.version.split(" ").slice(0, 2).join(" ")
  ))

/** The version of a server that answers within two seconds; otherwise `undefined`. */
const answering = async (name: string, variable: string, ask: Effect.Effect<string, unknown>) => {
  const given = process.env[variable]
  if (given === "") return undefined
  const exit = await Effect.runPromiseExit(Effect.timeout(ask, "2 seconds"))
  if (Exit.isSuccess(exit)) return exit.value
  if (given !== undefined) throw new Error(`${name} does not answer at ${variable}`)
  return undefined
}

const postgresUrl = process.env["TEST_POSTGRES_URL"] || "postgresql://postgres@127.0.0.1:5432/test"
const mysqlUrl = process.env["TEST_MYSQL_URL"] || "mysql://root@127.0.0.1:3306"
const redisUrl = process.env["TEST_REDIS_URL"] || "redis://127.0.0.1:6379"

const postgresVersion = await answering(
  "PostgreSQL",
  "TEST_POSTGRES_URL",
  Effect.scoped(Effect.provide(version, sqlLayer({ kind: "postgres", url: postgresUrl, schema: "public" })))
)
const mysqlVersion = await answering(
  "MySQL or MariaDB",
  "TEST_MYSQL_URL",
  Effect.scoped(Effect.provide(version, MysqlClient.layer(mysqlOptions(mysqlUrl))))
)
const redisVersion = await answering(
  "Redis",
  "TEST_REDIS_URL",
  Effect.scoped(Effect.provide(
    Effect.flatMap(Redis.Redis, (redis) =>
      Effect.map(
        redis.send<string>("INFO", "server"),
        (info) => /redis_version:(\S+)/.exec(info)?.[1] ?? "of unknown version"
      )),
    redisLayer(redisUrl)
  ))
)

/** A kind of database, and how a test file gets a place of its own in it. */
export interface Database<A extends Address = Address> {
  readonly name: string
  /** True if several processes can use one address at once. */
  readonly isShared: boolean
  readonly open: () => Promise<{ readonly address: A; readonly close: () => Promise<void> }>
}

const postgres: Database<SqlAddress> = postgresVersion === undefined
  ? {
    name: "PostgreSQL (embedded: PGlite)",
    isShared: false,
    open: () => Promise.resolve({ address: { kind: "pglite" }, close: () => Promise.resolve() })
  }
  : {
    name: `PostgreSQL (server: ${postgresVersion})`,
    isShared: true,
    open: async () => {
      const schema = unique()
      const address = { kind: "postgres", url: postgresUrl, schema } as const
      const own = sqlLayer({ ...address, schema: "public" })
      const sql = (text: string) => run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)), own)
      await sql(`CREATE SCHEMA ${schema}`)
      return { address, close: async () => void await sql(`DROP SCHEMA ${schema} CASCADE`) }
    }
  }

/** PostgreSQL servers with a database of each test's own: the locks of a cluster are those of a whole database. */
export const clusterDatabases: ReadonlyArray<Database<SqlAddress>> = postgresVersion === undefined ? [] : [{
  ...postgres,
  open: async () => {
    const database = unique()
    const own = sqlLayer({ kind: "postgres", url: postgresUrl, schema: "public" })
    const sql = (text: string) => run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)), own)
    await sql(`CREATE DATABASE ${database}`)
    const url = new URL(postgresUrl)
    url.pathname = database
    return {
      address: { kind: "postgres", url: url.href, schema: "public" },
      close: async () => void await sql(`DROP DATABASE ${database} WITH (FORCE)`)
    }
  }
}]

const sqlite: Database<SqlAddress> = {
  name: "SQLite (a file)",
  isShared: true,
  open: () => {
    const directory = databaseFolder()
    return Promise.resolve({
      address: { kind: "sqlite", file: join(directory, "test.db") },
      close: () => Promise.resolve(rmSync(directory, { recursive: true, force: true }))
    })
  }
}

const mysql: Database<SqlAddress> | undefined = mysqlVersion === undefined ? undefined : {
  name: `MySQL (server: ${mysqlVersion})`,
  isShared: true,
  open: async () => {
    const database = unique()
    const own = MysqlClient.layer(mysqlOptions(mysqlUrl))
    const sql = (text: string) => run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text).unprepared), own)
    await sql(`CREATE DATABASE ${database}`)
    return {
      address: { kind: "mysql", url: mysqlUrl, database },
      close: async () => void await sql(`DROP DATABASE ${database}`)
    }
  }
}

/** The available SQL databases: MySQL has no stand-in. */
export const sqlDatabases: ReadonlyArray<Database<SqlAddress>> = [
  postgres,
  sqlite,
  ...(mysql === undefined ? [] : [mysql])
]

/** Deletes all keys with a prefix. */
const forget = (prefix: string): Effect.Effect<void, unknown, Redis.Redis> =>
  Effect.flatMap(
    Redis.Redis,
    (redis) =>
      Effect.flatMap(redis.send<ReadonlyArray<string>>("KEYS", `${prefix}*`), (keys) =>
        keys.length === 0 ? Effect.void : Effect.asVoid(redis.send("DEL", ...keys)))
  )

/** Redis. Others may use the same server: keys have a prefix of the test's own, and are deleted in the end. */
export const redis: Database<RedisAddress> = redisVersion === undefined
  ? {
    name: "Redis (stand-in: js-redis-server)",
    isShared: true,
    open: async () => {
      const server = await createRedisMock({ compatibility: "redis-6.2" })
      return { address: { kind: "redis", url: server.url, prefix: `${unique()}:` }, close: () => server.close() }
    }
  }
  : {
    name: `Redis (server: ${redisVersion})`,
    isShared: true,
    open: () => {
      const prefix = `${unique()}:`
      return Promise.resolve({
        address: { kind: "redis", url: redisUrl, prefix },
        close: () => Effect.runPromise(Effect.scoped(Effect.provide(forget(prefix), redisLayer(redisUrl))))
      })
    }
  }

const without = mysql === undefined ? "\n  not tested: MySQL and MariaDB, which have no stand-in (TEST_MYSQL_URL)" : ""
process.stdout.write(
  `Databases:\n${[...sqlDatabases, redis].map(({ name }) => `  ${name}`).join("\n")}${without}\n`
)
