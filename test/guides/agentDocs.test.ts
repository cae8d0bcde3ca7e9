/** Texts for coding agents: `AGENTS.md` and guides in each package, and llms.txt. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { anchorsOf, linksOf } from "./markdownLinks.ts"
import { guides, publishedFolders, root, shippedGuides, shippedText } from "../../scripts/guides.ts"

const targetsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target]) => target!)

describe.each(publishedFolders())("the package %s", (folder) => {
  const read = (file: string) => readFileSync(join(root, "packages", folder, file), "utf8")

  it("ships its text for coding agents and its guides", () => {
    const { files } = JSON.parse(read("package.json")) as { readonly files: ReadonlyArray<string> }
    assert.includeMembers([...files], ["AGENTS.md", "docs"])
    assert.isAtMost(read("AGENTS.md").split("\n").length, 80)
  })

  it("links to guides that it ships", () => {
    const shipped = shippedGuides(folder).map((name) => `docs/${name}.md`)
    for (const target of targetsOf(read("AGENTS.md"))) {
      if (!/^https?:/.test(target)) assert.include(shipped, target)
    }
    for (const page of shipped) assert.isTrue(existsSync(join(root, page)), page)
  })

  it("links to headings that its guides have", () => {
    for (const link of linksOf(read("AGENTS.md"))) {
      const [path = "", anchor] = link.split("#")
      if (anchor === undefined) continue
      assert.isTrue(anchorsOf(shippedText(folder, path.slice("docs/".length, -".md".length))).has(anchor), link)
    }
  })

  it("leads from its text to each guide that it ships", () => {
    const found = new Set<string>()
    const visit = (name: string): void => {
      if (found.has(name)) return
      found.add(name)
      for (const target of targetsOf(shippedText(folder, name))) {
        if (/^[\w-]+\.md$/.test(target)) visit(target.slice(0, -".md".length))
      }
    }
    for (const target of targetsOf(read("AGENTS.md"))) visit(target.slice("docs/".length, -".md".length))
    assert.deepStrictEqual(shippedGuides(folder).filter((name) => !found.has(name)), [])
  })
})

it("links of shipped guides lead to shipped guides, to those of the core or to the web", () => {
  const ofCore = guides().map((name) => `../../core/docs/${name}.md`)
  for (const folder of publishedFolders()) {
    const near = new Set([...shippedGuides(folder).map((name) => `${name}.md`), ...ofCore])
    for (const name of shippedGuides(folder)) {
      for (const target of targetsOf(shippedText(folder, name).replaceAll(/```[^]*?```/g, ""))) {
        if (!/^(?:https?|mailto):/.test(target)) assert.isTrue(near.has(target), `${name}: ${target}`)
      }
    }
  }
})

it("links of a package that is installed next to the core lead to its guides", () => {
  assert.include(shippedText("durable", "durable"), "](../../core/docs/compensation.md")
  assert.notInclude(shippedText("create", "quickstart"), "../../core/")
})

it("llms.txt lists each guide once with a link to its page", () => {
  const folder = mkdtempSync(join(tmpdir(), "recourse-llms-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync(process.execPath, [join(root, "scripts/llms.ts"), folder, "--base", "https://example.com/"], {
    stdio: "ignore"
  })
  const links = targetsOf(readFileSync(join(folder, "llms.txt"), "utf8"))
  assert.sameMembers([...links], guides().map((name) => `https://example.com/${name}.md`))
  const full = readFileSync(join(folder, "llms-full.txt"), "utf8")
  for (const name of guides()) {
    assert.include(full, readFileSync(join(root, `docs/${name}.md`), "utf8").split("\n")[0]!)
  }
})
