/**
 * Draws the states of hosted runs, of their executions, and of attempts under a key: the pictures and the tables of the pages about them, from the data that the
 * implementation uses.
 *
 * `node scripts/draw-states.ts` fails if they are not those of now, or if a transition has no place in its picture. `--write` writes them.
 */
import {
  type executionStates,
  executionTransitions,
  states,
  type Transition,
  transitions
} from "@recourse/durable/HostStates"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type * as KeyStates from "../packages/core/src/internal/call/ledger/keyStates.ts"

const { isEnd, keyStates, keyTransitions }: typeof KeyStates = await import(
  new URL("../packages/core/src/internal/call/ledger/keyStates.ts", import.meta.url).href
)

type KeyState = KeyStates.KeyState
type KeyTransition = KeyStates.KeyTransition
type Point = readonly [x: number, y: number]

/** A picture: the position of each state, and the line and the text position of each arrow. */
interface Drawing {
  readonly title: string
  readonly size: Point
  readonly places: Readonly<Record<string, Point>>
  readonly routes: Readonly<Record<string, { readonly line: ReadonlyArray<Point>; readonly text: Point }>>
  /** Names of transitions, by their arrow. */
  readonly arrows: ReadonlyMap<string, ReadonlyArray<string>>
  readonly ends: ReadonlySet<string>
  /** Drawing below the states. */
  readonly below: string
}

const problems: Array<string> = []
const box = { width: 112, height: 34 } as const

/** The arrows that transitions have. A state that stays has none. */
const arrowsOf = (
  all: ReadonlyArray<readonly [label: string, from: ReadonlyArray<string>, to: string]>
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const arrows = new Map<string, Array<string>>()
  for (const [label, froms, to] of all) {
    for (const from of froms.filter((one) => one !== to)) {
      arrows.set(`${from}>${to}`, [...arrows.get(`${from}>${to}`) ?? [], label])
    }
  }
  return arrows
}

const light =
  "text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#444}.back{fill:#fff}.head{fill:#555}.state{fill:#e8f1fa;stroke:#0072b2}.end{fill:#eee;stroke:#555}.owned{fill:none;stroke:#999;stroke-dasharray:4 3}.arrow{fill:none;stroke:#555}"
const dark =
  "text{fill:#e8e8e8}.small{fill:#b8b8b8}.back{fill:#17181c}.head{fill:#aaa}.state{fill:#12324a;stroke:#56b4e9}.end{fill:#2c2d33;stroke:#999}.arrow{stroke:#aaa}"

const draw = ({ arrows, below, ends, places, routes, size: [width, height], title }: Drawing): string => {
  for (const arrow of arrows.keys()) {
    if (routes[arrow] === undefined) problems.push(`${arrow} has no line in the picture`)
  }
  for (const arrow of Object.keys(routes)) if (!arrows.has(arrow)) problems.push(`${arrow} is no transition`)
  const stateBox = ([state, [x, y]]: readonly [string, Point]): string =>
    `<rect x="${x - box.width / 2}" y="${
      y - box.height / 2
    }" width="${box.width}" height="${box.height}" rx="6" class="${
      ends.has(state) ? "end" : "state"
    }"/>\n<text x="${x}" y="${y + 4}" text-anchor="middle">${state}</text>`
  const arrow = ([name, labels]: readonly [string, ReadonlyArray<string>]): string => {
    const { line, text } = routes[name] ?? { line: [], text: [0, 0] }
    const path = line.map(([x, y], n) => `${n === 0 ? "M" : "L"}${x} ${y}`).join("")
    return `<path d="${path}" class="arrow" marker-end="url(#head)"/>\n<text x="${text[0]}" y="${
      text[1]
    }" class="small">${labels.join(", ")}</text>`
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${title}</title>
<style>${light}@media(prefers-color-scheme:dark){${dark}}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" class="head"/></marker></defs>
<rect width="100%" height="100%" class="back"/>
${[below, ...Object.entries(places).map(stateBox), ...[...arrows].map(arrow)].join("\n")}
</svg>
`
}

const owned: ReadonlyArray<string> = ["running", "lent", "returning"]
const group = { x: 340, y: 50, width: 200, height: 310 } as const

/** A change of all owned states is one arrow. */
const fromsOf = ({ from }: Transition): ReadonlyArray<string> =>
  from.length === 0
    ? ["absent"]
    : owned.every((state) => (from as ReadonlyArray<string>).includes(state))
    ? ["owned", ...from.filter((state) => !owned.includes(state))]
    : from

const all = Object.entries(transitions as Readonly<Record<string, Transition>>)
const runStates = draw({
  title: "States of a durable run, and the operations of its host that change them",
  size: [880, 530],
  places: {
    queued: [150, 240],
    running: [440, 100],
    lent: [440, 200],
    returning: [440, 300],
    waiting: [440, 450],
    completed: [800, 90],
    failed: [800, 190],
    cancelled: [800, 300]
  } satisfies Record<keyof typeof states, Point>,
  routes: {
    "absent>queued": { line: [[36, 100], [36, 240], [94, 240]], text: [44, 176] },
    "absent>running": { line: [[42, 94], [384, 94]], text: [180, 86] },
    "queued>running": { line: [[150, 223], [150, 112], [384, 112]], text: [158, 130] },
    "owned>running": { line: [[480, 50], [480, 30], [420, 30], [420, 83]], text: [494, 34] },
    "owned>lent": { line: [[422, 117], [422, 183]], text: [350, 154] },
    "owned>queued": { line: [[340, 240], [206, 240]], text: [212, 232] },
    "lent>returning": { line: [[440, 217], [440, 283]], text: [448, 254] },
    "returning>running": { line: [[496, 300], [530, 300], [530, 100], [496, 100]], text: [454, 154] },
    "owned>completed": { line: [[540, 90], [744, 90]], text: [560, 82] },
    "owned>failed": { line: [[540, 190], [744, 190]], text: [560, 182] },
    "owned>cancelled": { line: [[540, 300], [744, 300]], text: [560, 292] },
    "owned>waiting": { line: [[440, 360], [440, 433]], text: [448, 402] },
    "waiting>queued": { line: [[384, 450], [160, 450], [160, 257]], text: [170, 442] },
    "waiting>cancelled": { line: [[496, 450], [790, 450], [790, 317]], text: [560, 442] },
    "queued>cancelled": { line: [[140, 257], [140, 500], [810, 500], [810, 317]], text: [170, 518] }
  },
  arrows: arrowsOf(all.map(([name, one]) => [one.by === name ? name : `${one.by}: ${name}`, fromsOf(one), one.to])),
  ends: new Set(
    Object.keys(states).filter((state) => all.every(([, { from }]) => !(from as ReadonlyArray<string>).includes(state)))
  ),
  below: `<rect x="${group.x}" y="${group.y}" width="${group.width}" height="${group.height}" rx="8" class="owned"/>
<text x="${group.x + 8}" y="${group.y + group.height - 8}" class="small">a process owns it</text>
<circle cx="36" cy="94" r="6" fill="#222"/>`
})

const executions = draw({
  title: "States of an execution of a durable run",
  size: [850, 330],
  places: {
    loading: [90, 120],
    replaying: [300, 60],
    live: [300, 180],
    draining: [520, 60],
    interrupted: [520, 180],
    settling: [760, 120],
    ended: [760, 300]
  } satisfies Record<keyof typeof executionStates, Point>,
  routes: {
    "loading>live": { line: [[90, 137], [90, 180], [244, 180]], text: [100, 172] },
    "loading>replaying": { line: [[90, 103], [90, 60], [244, 60]], text: [100, 52] },
    "replaying>live": { line: [[280, 77], [280, 163]], text: [244, 124] },
    "replaying>draining": { line: [[356, 54], [464, 54]], text: [370, 46] },
    "live>draining": { line: [[330, 163], [330, 120], [500, 120], [500, 77]], text: [430, 112] },
    "draining>interrupted": { line: [[540, 77], [540, 163]], text: [548, 124] },
    "live>interrupted": { line: [[356, 186], [464, 186]], text: [370, 200] },
    "replaying>interrupted": { line: [[356, 68], [400, 68], [400, 174], [464, 174]], text: [404, 148] },
    "replaying>settling": { line: [[300, 43], [300, 20], [780, 20], [780, 103]], text: [310, 14] },
    "draining>settling": { line: [[576, 60], [740, 60], [740, 103]], text: [600, 52] },
    "live>settling": { line: [[300, 197], [300, 240], [740, 240], [740, 137]], text: [310, 254] },
    "interrupted>settling": { line: [[576, 180], [640, 180], [640, 120], [704, 120]], text: [648, 140] },
    "loading>ended": { line: [[40, 137], [40, 300], [704, 300]], text: [60, 292] },
    "settling>ended": { line: [[780, 137], [780, 283]], text: [788, 214] }
  },
  arrows: arrowsOf(Object.entries(executionTransitions).map(([name, { from, to }]) => [name, from, to])),
  ends: new Set(["ended"]),
  below: ""
})

const askedStates: ReadonlyArray<KeyState> = ["claiming", "executing", "abandoned", "reconciling"]
const askedGroup = { x: 200, y: 84, width: 370, height: 256 } as const

/** A change of all states in which the ledger was asked is one arrow. */
const keyFromsOf = ({ from }: KeyTransition): ReadonlyArray<string> =>
  askedStates.every((state) => from.includes(state))
    ? ["asked", ...from.filter((state) => !askedStates.includes(state))]
    : from

const keys = draw({
  title: "States of an attempt under an idempotency key",
  size: [900, 440],
  places: {
    unclaimed: [80, 140],
    claiming: [270, 140],
    executing: [500, 140],
    abandoned: [270, 280],
    reconciling: [500, 280],
    completed: [800, 60],
    released: [800, 142],
    lost: [800, 220],
    unknown: [800, 306],
    refused: [385, 410]
  } satisfies Record<KeyState, Point>,
  routes: {
    "unclaimed>claiming": { line: [[136, 140], [214, 140]], text: [150, 132] },
    "unclaimed>executing": { line: [[80, 123], [80, 60], [500, 60], [500, 123]], text: [96, 52] },
    "unclaimed>refused": { line: [[80, 157], [80, 410], [329, 410]], text: [92, 402] },
    "asked>refused": { line: [[385, 340], [385, 393]], text: [393, 370] },
    "asked>unknown": { line: [[570, 312], [744, 312]], text: [590, 326] },
    "claiming>executing": { line: [[326, 140], [444, 140]], text: [360, 132] },
    "claiming>completed": { line: [[290, 123], [290, 30], [800, 30], [800, 43]], text: [300, 24] },
    "claiming>abandoned": { line: [[250, 157], [250, 263]], text: [222, 214] },
    "abandoned>claiming": { line: [[290, 263], [290, 157]], text: [296, 214] },
    "abandoned>reconciling": { line: [[326, 280], [444, 280]], text: [360, 272] },
    "reconciling>executing": { line: [[500, 263], [500, 157]], text: [506, 214] },
    "executing>completed": { line: [[556, 134], [640, 134], [640, 68], [744, 68]], text: [656, 84] },
    "executing>released": { line: [[556, 142], [744, 142]], text: [660, 136] },
    "executing>lost": { line: [[556, 150], [620, 150], [620, 214], [744, 214]], text: [660, 208] },
    "reconciling>completed": { line: [[556, 274], [600, 274], [600, 54], [744, 54]], text: [608, 48] },
    "reconciling>lost": { line: [[556, 284], [700, 284], [700, 228], [744, 228]], text: [640, 278] }
  },
  arrows: arrowsOf(
    Object.entries(keyTransitions as Readonly<Record<string, KeyTransition>>).map((
      [name, one]
    ) => [name, keyFromsOf(one), one.to])
  ),
  ends: new Set(Object.keys(keyStates).filter((state) => isEnd(state as KeyState))),
  below:
    `<rect x="${askedGroup.x}" y="${askedGroup.y}" width="${askedGroup.width}" height="${askedGroup.height}" rx="8" class="owned"/>
<text x="${askedGroup.x + 8}" y="${askedGroup.y + askedGroup.height - 8}" class="small">the ledger was asked</text>`
})

const cells = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: ReadonlyArray<string>) => `| ${row.map((cell, n) => cell.padEnd(widths[n]!)).join(" | ")} |`
  const [head, ...body] = rows
  return [line(head!), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body.map(line)].join("\n")
}
const tableOf = (of: Readonly<Record<string, string>>): string =>
  cells([["state", "means"], ...Object.entries(of).map(([state, means]) => [`\`${state}\``, means])])
const tables: Readonly<Record<string, string>> = {
  states: tableOf(states),
  keys: tableOf(keyStates)
}

const docs = join(dirname(fileURLToPath(import.meta.url)), "../docs")
const withTables = (page: string): string =>
  readFileSync(join(docs, page), "utf8").replaceAll(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => `${begin}\n${tables[name]}\n\n${end}`
  )
const fresh = {
  "pictures/run-states.svg": runStates,
  "pictures/execution-states.svg": executions,
  "pictures/key-states.svg": keys,
  "durable.md": withTables("durable.md"),
  "the-way-of-a-call.md": withTables("the-way-of-a-call.md")
}
for (const [file, text] of Object.entries(fresh)) {
  const path = join(docs, file)
  if (process.argv.includes("--write")) writeFileSync(path, text)
  else if (readFileSync(path, "utf8") !== text) {
    problems.push(`docs/${file} is not of now: node scripts/draw-states.ts --write`)
  }
}

for (const problem of problems) process.stdout.write(`${problem}\n`)
process.stdout.write(`${problems.length} problems of the pictures of states\n`)
process.exitCode = problems.length === 0 ? 0 : 1
