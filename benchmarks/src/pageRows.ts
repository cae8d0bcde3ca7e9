/** The rows of the page `docs/performance.md`: the number of each, and its aim. */
import type { ContestantName } from "./Contestant.ts"
import type { WorkloadName } from "./workloads.ts"

interface Place {
  readonly workload: WorkloadName
  readonly metric: string
  /** Any, if it is left out. */
  readonly size?: number
}

/** Aim of Recourse. */
export type Aim =
  /** A peer, or the best of all, takes so many times as long. */
  | { readonly kind: "faster"; readonly times: number; readonly than?: ContestantName }
  /** At most so many times as much as a peer, or as another row of Recourse. */
  | {
    readonly kind: "atMost"
    readonly times: number
    readonly of?: ContestantName
    readonly row?: Place
    readonly what: string
  }

export interface PageRow extends Place {
  readonly label: string
  /** Contestant whose number represents Recourse. Default: `recourse`. */
  readonly whose?: ContestantName
  readonly unit: "µs" | "ms" | "s" | "KiB" | "" | "thousand"
  readonly aim?: Aim
}

export interface PageTable {
  readonly title: string
  readonly text: string
  readonly peers: ReadonlyArray<ContestantName>
  readonly rows: ReadonlyArray<PageRow>
}

const faster = (times: number): Aim => ({ kind: "faster", times })

const fasterThanAiSdk = (times: number): Aim => ({ kind: "faster", times, than: "AI SDK" })

const loops: PageTable = {
  title: "The loop",
  text:
    `With a scripted model in the place of a provider: what the loop itself costs. Median time, without input and output. W2 is one run of many turns; its heap is what
lives at its last call over what lives at its first.`,
  peers: ["effect/ai", "AI SDK", "OpenAI Agents", "LangChain"],
  rows: [
    { workload: "W1", metric: "run", label: "W1 one tool call, then text", unit: "µs", aim: faster(3) },
    { workload: "W2", metric: "turn", size: 10, label: "W2 a turn, in a run of 10 turns", unit: "µs" },
    {
      workload: "W2",
      metric: "turn",
      size: 500,
      label: "W2 a turn, in a run of 500 turns",
      unit: "µs",
      aim: { kind: "atMost", times: 1.5, row: { workload: "W2", metric: "turn", size: 10 }, what: "one of 10" }
    },
    { workload: "W2", metric: "heap", size: 500, label: "W2 heap of a run of 500 turns", unit: "KiB" },
    { workload: "W3", metric: "run", label: "W3 50 parallel calls", unit: "µs", aim: faster(3) },
    { workload: "W4", metric: "run", label: "W4 two failures, then success by retry", unit: "µs" },
    { workload: "W5", metric: "run", label: "W5 a failure, then a corrected call", unit: "µs", aim: faster(3) },
    { workload: "W6", metric: "all", label: "W6 1,000 runs at once, a model of 1 ms", unit: "ms", aim: faster(3) },
    { workload: "W8", metric: "delta", label: "W8 2,000 text deltas, for each", unit: "µs", aim: faster(1) },
    {
      workload: "W9",
      metric: "run",
      whose: "recourse, all recoveries",
      label: "W9 W1 with every recovery declared",
      unit: "µs",
      aim: { kind: "atMost", times: 1.05, row: { workload: "W9", metric: "run" }, what: "none declared" }
    }
  ]
}

const providers: PageTable = {
  title: "Through the shipped providers",
  text:
    `Recourse with \`@recourse/openai-compatible\`, the AI SDK with \`@ai-sdk/openai-compatible\`, OpenAI Agents with its model for chat completions, over the same
\`fetch\` in memory. Processor time, with that of the compiler and the collector.`,
  peers: ["AI SDK", "OpenAI Agents"],
  rows: [
    {
      workload: "W10",
      metric: "run",
      size: 1,
      label: "W10 a call and a text, 1 tool",
      unit: "µs",
      aim: fasterThanAiSdk(1.5)
    },
    { workload: "W10", metric: "run", size: 20, label: "W10 the same, 20 tools", unit: "µs" },
    { workload: "W10", metric: "run", size: 60, label: "W10 the same, 60 tools", unit: "µs", aim: fasterThanAiSdk(3) },
    {
      workload: "W11",
      metric: "run",
      size: 1,
      label: "W11 streamed, 20 deltas, 1 tool",
      unit: "µs",
      aim: fasterThanAiSdk(1.5)
    },
    { workload: "W11", metric: "run", size: 60, label: "W11 the same, 60 tools", unit: "µs", aim: fasterThanAiSdk(3) },
    {
      workload: "W12",
      metric: "delta",
      label: "W12 2,000 text deltas, for each",
      unit: "µs",
      aim: fasterThanAiSdk(1.5)
    },
    { workload: "W13", metric: "run", label: "W13 structured output with one correction", unit: "µs" },
    {
      workload: "W14",
      metric: "turn",
      label: "W14 a turn, in a run of 100 turns",
      unit: "µs",
      aim: fasterThanAiSdk(1.5)
    }
  ]
}

const programs: PageTable = {
  title: "Programs",
  text: "A minimal agent before it runs, and the compiler's time for a program with 60 tools, without its imports.",
  peers: ["effect/ai", "AI SDK", "OpenAI Agents", "LangChain"],
  rows: [
    {
      workload: "W7",
      metric: "import",
      label: "W7 import, nothing bundled",
      unit: "ms",
      aim: { kind: "atMost", times: 1.3, of: "effect/ai", what: "effect/ai" }
    },
    { workload: "W7", metric: "bundled import", label: "W7 import of the bundle", unit: "ms" },
    {
      workload: "W7",
      metric: "bundle",
      label: "W7 bundle, min and gzip",
      unit: "KiB",
      aim: { kind: "atMost", times: 0.67, of: "AI SDK", what: "the AI SDK's" }
    },
    { workload: "W7", metric: "packages", label: "W7 installed packages", unit: "" },
    { workload: "W17", metric: "check", label: "W17 type-check of 60 tools", unit: "s" },
    { workload: "W17", metric: "instantiations", label: "W17 instantiations of 60 tools", unit: "thousand" }
  ]
}

const waiting: PageTable = {
  title: "Runs that wait",
  text:
    `What a program holds in memory for a run that waits for a person, as the library gives it. Then durable runs on SQLite on a disk in memory: LangChain is a graph of one node
of LangGraph, without a model and a tool; the run of Recourse is an agent whose call waits.`,
  peers: ["AI SDK", "OpenAI Agents", "LangChain"],
  rows: [
    { workload: "W15", metric: "held by a run", label: "W15 held by a run that waits", unit: "KiB" },
    { workload: "W16", metric: "until all wait", label: "W16 start 10,000 durable runs that wait", unit: "s" },
    { workload: "W16", metric: "until all have ended", label: "W16 wake all, until they have ended", unit: "s" }
  ]
}

const adapters: PageTable = {
  title: "Adapters, MCP and the server",
  text:
    `In memory, as above. The floor of W19 is the call alone by the client of the protocol's own SDK; Recourse runs an agent around it. The floor of W20 is Hono, which
only writes deltas; the AI SDK is \`streamText\` in a route of Hono. Recourse runs an agent, stores the thread, and keeps the run for other readers.`,
  peers: ["floor", "AI SDK"],
  rows: [
    { workload: "W18", metric: "run", size: 1, label: "W18 W10 over a model of the AI SDK, 1 tool", unit: "µs" },
    { workload: "W19", metric: "run", label: "W19 a run with a call of an MCP tool", unit: "µs" },
    { workload: "W20", metric: "request", label: "W20 a message, answered by a server", unit: "µs" }
  ]
}

export const tables: ReadonlyArray<PageTable> = [loops, providers, adapters, programs, waiting]
