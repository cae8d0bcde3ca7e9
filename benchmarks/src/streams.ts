/**
 * A server's cost of an answer's stream: `node src/streams.ts [--streams 1000] [--rate 5] [--seconds 10] [--rounds 4]`.
 * `--profile <folder>` writes each server's profile.
 *
 * Each server has a process of its own, and streams the same deltas to the same number of readers. A delta contains the
 * time of its creation. The servers take turns, so that other load of the machine affects all of them.
 */
import { type ChildProcess, fork } from "node:child_process"
import { Agent, request } from "node:http"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { deltas, now, type Shape, type Told } from "./streams/shape.ts"

const servers = {
  bare: "node:http, bare",
  hono: "Hono",
  aiSdk: "AI SDK on node:http",
  bareAgent: "agent.stream on node:http",
  honoAgent: "agent.stream on Hono",
  recourse: "@recourse/server"
} as const
type Name = keyof typeof servers

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1000" },
    rate: { type: "string", default: "5" },
    seconds: { type: "string", default: "10" },
    rounds: { type: "string", default: "4" },
    only: { type: "string" },
    profile: { type: "string" }
  }
})

const shape: Shape = { streams: Number(values.streams), rate: Number(values.rate), seconds: Number(values.seconds) }

/** One round of a server. */
interface Round {
  /** Milliseconds from when a delta was made to when it was read. */
  readonly latencies: Float64Array
  readonly lost: number
  readonly cpuSeconds: number
  readonly kilobytesAStream: number
}

const told = (child: ChildProcess): Promise<Told> =>
  new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error("The server has ended"))
    child.once("exit", ended)
    child.once("message", (message) => {
      child.off("exit", ended)
      resolve(message as Told)
    })
  })

const measured = async (child: ChildProcess) => {
  const answer = told(child)
  child.send("measure")
  const measure = await answer
  if (measure._tag !== "Measured") throw new Error("No measure")
  return measure
}

/** Reads one stream to its end; answers the latencies of its deltas. */
const read = (port: number, agent: Agent, name: string, count: number): Promise<ReadonlyArray<number>> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({
      id: name,
      trigger: "submit-message",
      messages: [{ id: name, role: "user", parts: [{ type: "text", text: String(count) }] }]
    })
    const asked = request({
      host: "127.0.0.1",
      port,
      method: "POST",
      path: `/agents/clerk/chat?deltas=${count}`,
      agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    }, (response) => {
      const latencies: Array<number> = []
      let rest = ""
      response.setEncoding("utf8")
      response.on("data", (text: string) => {
        const at = now()
        rest += text
        const end = rest.lastIndexOf("\n\n")
        if (end < 0) return
        for (const [, made] of rest.slice(0, end).matchAll(/"delta":"@([\d.]+)@"/g)) latencies.push(at - Number(made))
        rest = rest.slice(end)
      })
      response.on("end", () => resolve(latencies))
      response.on("error", reject)
    })
    asked.on("error", reject)
    asked.end(body)
  })

const round = async (name: Name): Promise<Round> => {
  const child = fork(join(import.meta.dirname, "streams", `${name}.ts`), [JSON.stringify(shape)], {
    execArgv: [
      "--expose-gc",
      "--disable-warning=ExperimentalWarning",
      ...(values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`])
    ]
  })
  try {
    const listens = await told(child)
    if (listens._tag !== "Listens") throw new Error("It does not listen")
    const agent = new Agent({ keepAlive: false, maxSockets: Infinity })
    // Loading and compiling with the first streams is not a stream's cost.
    await Promise.all(
      Array.from({ length: shape.streams }, (_, n) => read(listens.port, agent, `warm ${n}`, shape.rate))
    )
    const before = await measured(child)
    const reading = Array.from({ length: shape.streams }, (_, n) => read(listens.port, agent, String(n), deltas(shape)))
    await new Promise((done) => setTimeout(done, (shape.seconds * 1000) / 2))
    const during = await measured(child)
    const latencies = (await Promise.all(reading)).flat()
    const after = await measured(child)
    return {
      latencies: Float64Array.from(latencies).toSorted(),
      lost: shape.streams * deltas(shape) - latencies.length,
      cpuSeconds: (after.cpuMillis - before.cpuMillis) / 1000,
      kilobytesAStream: (during.memory - before.memory) / 1024 / shape.streams
    }
  } finally {
    const gone = new Promise((done) => child.once("exit", done))
    child.disconnect()
    await gone
  }
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1]!
const share = (sorted: Float64Array, part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? NaN

const rounds = new Map<Name, Array<Round>>()
const names = (Object.keys(servers) as Array<Name>).filter((name) => values.only === undefined || name === values.only)
for (let n = 0; n < Number(values.rounds); n++) {
  for (const name of names) rounds.set(name, [...rounds.get(name) ?? [], await round(name)])
}

const { rate, seconds, streams } = shape
process.stdout.write(`${streams} streams, ${rate} deltas/s each, ${seconds} s, median of ${values.rounds} rounds\n\n`)
process.stdout.write(
  "| server | p50 ms | p99 ms | CPU s | kB a stream | lost |\n| --- | --- | --- | --- | --- | --- |\n"
)
for (const [name, of] of rounds) {
  const cells = [
    servers[name],
    median(of.map(({ latencies }) => share(latencies, 0.5))).toFixed(1),
    median(of.map(({ latencies }) => share(latencies, 0.99))).toFixed(1),
    median(of.map(({ cpuSeconds }) => cpuSeconds)).toFixed(2),
    median(of.map(({ kilobytesAStream }) => kilobytesAStream)).toFixed(0),
    String(of.reduce((sum, { lost }) => sum + lost, 0))
  ]
  process.stdout.write(`| ${cells.join(" | ")} |\n`)
}
