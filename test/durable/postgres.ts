/** A PostgreSQL server of a program's own, in a temporary directory: it may be stopped without harm to others. */
import { execFileSync } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A port that no server has. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Directory of PostgreSQL's programs; the newest installed version. */
const programs = (): string => {
  const root = "/usr/lib/postgresql"
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions[0] === undefined ? "" : join(root, versions[0], "bin")
}

/** Returns the user and the group that the server runs as. PostgreSQL does not run as root: then it runs as `postgres`. */
const identity = (): { readonly uid?: number; readonly gid?: number } | undefined => {
  if (process.getuid?.() !== 0) return {}
  const [, , uid, gid] = /^postgres:(.*):(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8")) ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** True if PostgreSQL's programs are installed, and a user may run them. */
export const canStartPostgres = (): boolean => programs() !== "" && identity() !== undefined

/** Starts a server. */
export const startPostgres = async () => {
  const port = await freePort()
  const bin = programs()
  const user = identity()
  const directory = mkdtempSync(join(tmpdir(), "recourse-pg-"))
  const run = (program: string, ...args: ReadonlyArray<string>): void => {
    execFileSync(join(bin, program), args, { stdio: "ignore", cwd: directory, ...user })
  }
  if (user?.uid !== undefined && user.gid !== undefined) chownSync(directory, user.uid, user.gid)
  const data = join(directory, "data")
  const options =
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${directory} -c max_connections=200`
  run("initdb", "-D", data, "-A", "trust", "-U", "postgres")
  const start = (): void => run("pg_ctl", "-D", data, "-o", options, "-w", "-l", join(directory, "log"), "start")
  start()
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    /** Ends it as a crash does, and starts it again. */
    crash: (): void => {
      run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
      start()
    },
    close: (): void => {
      run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
