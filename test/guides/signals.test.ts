/** The reference of signals: a section for each metric and each event, and a row for each event of a span. */
import { assert, describe, expect, it } from "@effect/vitest"
import { AgentEvent, Telemetry } from "@recourse/core"
import { RunMetrics } from "@recourse/durable"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { eventsPage } from "./events.ts"

const root = join(import.meta.dirname, "../..")
const read = (file: string): string => readFileSync(join(root, file), "utf8")

const sectionsOf = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/^##+ `([^`]+)`$/gm)].map(([, name]) => name!)

const idsOf = (module: object): ReadonlyArray<string> =>
  Object.values(module).flatMap((value: unknown) =>
    typeof value === "object" && value !== null && "id" in value && "attributes" in value ? [String(value.id)] : []
  )

describe("docs/metrics.md", () => {
  it("has a section for each exported metric, and no other", () => {
    const exported = [Telemetry, RunMetrics].flatMap(idsOf)
    assert.isAbove(exported.length, 9)
    assert.deepStrictEqual(sectionsOf(read("docs/metrics.md")).toSorted(), exported.toSorted())
  })
})

describe("docs/observability.md", () => {
  it("has a row for each event of a span", () => {
    const names = globSync("packages/*/src/**/*.ts", { cwd: root }).flatMap((file) =>
      [...read(file).matchAll(/(?:addSpanEvent\(context, |Telemetry\.spanEvent\()"([\w.]+)"/g)].map(([, name]) => name!)
    )
    assert.isAbove(names.length, 5)
    const page = read("docs/observability.md")
    for (const name of names) assert.match(page, new RegExp(`^\\| \`${name.replaceAll(".", "\\.")}\` +\\|`, "m"))
  })
})

describe("docs/events.md", () => {
  it("has a section for each event with its fields", async () => {
    await expect(eventsPage(read("packages/core/src/AgentEventSchema.ts"))).toMatchFileSnapshot("../../docs/events.md")
    assert.notMatch(read("docs/events.md"), /^## `\w+`\n\n(?:\||## |$)/m, "each event has a text")
    const tags = AgentEvent.AgentEvent.members.map(({ fields }) => fields._tag.schema.literal)
    assert.deepStrictEqual(sectionsOf(read("docs/events.md")), tags)
  })
})
