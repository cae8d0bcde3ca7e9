/**
 * Draws the states of hosted runs: the picture and the table of the guide on durable runs, from the data that the hosts use.
 *
 * `node scripts/draw-states.ts` fails if they are not those of now, or if a transition has no place in the picture. `--write` writes them.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type State, states, type Transition, transitions } from "@recourse/durable/HostStates"

type Node = State | "absent" | "owned"
type Point = readonly [x: number, y: number]

const owned: ReadonlyArray<State> = ["running", "lent", "returning"]
const size = { width: 112, height: 34 } as const
const places: Readonly<Record<State, Point>> = {
  queued: [150, 240],
  running: [440, 100],
  lent: [440, 200],
  returning: [440, 300],
  waiting: [440, 450],
  completed: [800, 90],
  failed: [800, 190],
  cancelled: [800, 300]
}
const box = { x: 340, y: 50, width: 200, height: 310 } as const

/** The line of each arrow, and the place of its text. */
const routes: Readonly<Record<string, { readonly line: ReadonlyArray<Point>; readonly text: Point }>> = {
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
}

/** The arrows that a transition has. A change of all owned states is one arrow, and a state that stays has none. */
const arrowsOf = ({ from, to }: Transition): ReadonlyArray<string> => {
  const isOwned = owned.every((state) => from.includes(state))
  const froms: ReadonlyArray<Node> = from.length === 0
    ? ["absent"]
    : isOwned
    ? ["owned", ...from.filter((state) => !owned.includes(state))]
    : from
  return froms.filter((one) => one !== to).map((one) => `${one}>${to}`)
}

const problems: Array<string> = []
const texts = new Map<string, Array<string>>()
for (const [name, transition] of Object.entries(transitions)) {
  const label = transition.by === name ? name : `${transition.by}: ${name}`
  for (const arrow of arrowsOf(transition)) texts.set(arrow, [...texts.get(arrow) ?? [], label])
}
for (const arrow of texts.keys()) if (routes[arrow] === undefined) problems.push(`${arrow} has no line in the picture`)
for (const arrow of Object.keys(routes)) if (!texts.has(arrow)) problems.push(`${arrow} is no transition`)

const stateBox = (state: State): string => {
  const [x, y] = places[state]
  const ends = Object.values(transitions as Readonly<Record<string, Transition>>).every(({ from }) =>
    !from.includes(state)
  )
  const rect = `<rect x="${x - size.width / 2}" y="${
    y - size.height / 2
  }" width="${size.width}" height="${size.height}" rx="6"`
  return `${rect} class="${ends ? "end" : "state"}"/>\n<text x="${x}" y="${y + 4}" text-anchor="middle">${state}</text>`
}
const arrow = ([name, labels]: readonly [string, ReadonlyArray<string>]): string => {
  const { line, text } = routes[name] ?? { line: [], text: [0, 0] }
  const path = line.map(([x, y], n) => `${n === 0 ? "M" : "L"}${x} ${y}`).join("")
  return `<path d="${path}" class="arrow" marker-end="url(#head)"/>\n<text x="${text[0]}" y="${
    text[1]
  }" class="small">${labels.join(", ")}</text>`
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="880" height="530" viewBox="0 0 880 530" role="img">
<title>States of a durable run, and the operations of its host that change them</title>
<style>text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#444}.state{fill:#e8f1fa;stroke:#0072b2}.end{fill:#eee;stroke:#555}.owned{fill:none;stroke:#999;stroke-dasharray:4 3}.arrow{fill:none;stroke:#555}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>
<rect width="100%" height="100%" fill="#fff"/>
<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="8" class="owned"/>
<text x="${box.x + 8}" y="${box.y + box.height - 8}" class="small">a process owns it</text>
<circle cx="36" cy="94" r="6" fill="#222"/>
${Object.keys(states).map((state) => stateBox(state as State)).join("\n")}
${[...texts].map(arrow).join("\n")}
</svg>
`

const cells = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: ReadonlyArray<string>) => `| ${row.map((cell, n) => cell.padEnd(widths[n]!)).join(" | ")} |`
  const [head, ...body] = rows
  return [line(head!), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body.map(line)].join("\n")
}
const table = cells([
  ["state", "means"],
  ...Object.entries(states).map(([state, means]) => [`\`${state}\``, means])
])

const docs = join(dirname(fileURLToPath(import.meta.url)), "../docs")
const guide = readFileSync(join(docs, "durable.md"), "utf8")
const fresh = {
  "pictures/run-states.svg": picture,
  "durable.md": guide.replace(
    /(<!-- generated: states -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`
  )
}
for (const [file, text] of Object.entries(fresh)) {
  const path = join(docs, file)
  if (process.argv.includes("--write")) writeFileSync(path, text)
  else if (readFileSync(path, "utf8") !== text) {
    problems.push(`docs/${file} is not of now: node scripts/draw-states.ts --write`)
  }
}

for (const problem of problems) process.stdout.write(`${problem}\n`)
process.stdout.write(`${problems.length} problems of the picture of states\n`)
process.exitCode = problems.length === 0 ? 0 : 1
