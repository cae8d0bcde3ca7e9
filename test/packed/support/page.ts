/**
 * Pages as programs: the files, commands and outputs of a Markdown page, in order.
 *
 * A fence with a name behind its language is a file; `sh` is a list of commands; `text` is the output of the commands before it.
 * `sh terminal-2` runs until the end of the page in a terminal of its own, and `text terminal-2` waits for the output there.
 */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./workspace.ts"

export type Step =
  | { readonly kind: "file"; readonly name: string; readonly text: string; readonly heading: string }
  | {
    readonly kind: "commands"
    readonly terminal: string
    readonly lines: ReadonlyArray<string>
    readonly heading: string
  }
  | {
    readonly kind: "output"
    readonly terminal: string
    readonly lines: ReadonlyArray<string>
    readonly heading: string
  }

export interface Fence {
  readonly info: string
  readonly lines: ReadonlyArray<string>
  /** The text above the fence, without other fences, up to the heading. */
  readonly before: string
  readonly heading: string
}

/** The fences of a page. */
export const fencesOf = (page: string): ReadonlyArray<Fence> => {
  const fences: Array<Fence> = []
  let heading = ""
  let before = ""
  let open: { readonly info: string; readonly lines: Array<string> } | undefined
  for (const line of page.split("\n")) {
    if (open !== undefined) {
      if (line === "```") {
        fences.push({ ...open, before, heading })
        open = undefined
      } else open.lines.push(line)
    } else if (line.startsWith("```")) open = { info: line.slice(3).trim(), lines: [] }
    else if (/^#+ /.test(line)) [heading, before] = [line.replace(/^#+ /, ""), ""]
    else before += `${line}\n`
  }
  return fences
}

const ordinals: Readonly<Record<string, string>> = { "terminal-2": "second terminal", "terminal-3": "third terminal" }

/** The step of a fence, or undefined if it is not run. Fails if the page does not name the file or the terminal to its reader. */
export const stepOf = ({ before, heading, info, lines }: Fence): Step | undefined => {
  const [language = "", name] = info.split(" ")
  const terminal = name ?? ""
  if (language === "text") return { kind: "output", terminal, lines, heading }
  if (language === "sh" && (name === undefined || name in ordinals)) {
    if (name !== undefined && !before.toLowerCase().includes(ordinals[name]!)) {
      throw new Error(`${heading}: ${ordinals[name]}?`)
    }
    return { kind: "commands", terminal, lines, heading }
  }
  if (name === undefined) return undefined
  if (!before.includes(`\`${name}\``)) throw new Error(`The text above the file ${name} does not name it`)
  return { kind: "file", name, text: `${lines.join("\n")}\n`, heading }
}

export const stepsOf = (page: string): ReadonlyArray<Step> => fencesOf(page).flatMap((fence) => stepOf(fence) ?? [])

export const stepsOfGuide = (name: string): ReadonlyArray<Step> =>
  stepsOf(readFileSync(join(root, "docs", name), "utf8"))

/** The first step of the quickstart, with the name of the tutorial's folder. */
export const tutorialInstallation = (): ReadonlyArray<Step> =>
  stepsOfGuide("quickstart.md").filter(({ heading }) => heading === "1. Install").map((step) =>
    step.kind === "commands" ? { ...step, lines: step.lines.map((line) => line.replace("my-agent", "my-shop")) } : step
  )

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** A pattern of lines that follow each other, with other lines between them. `…` is any text of a line, `1 ms` any time. */
export const patternOf = (lines: ReadonlyArray<string>): RegExp =>
  new RegExp(
    lines.map((line) => escaped(line.trim()).replaceAll("…", ".*").replace(/\b\d+ ms/g, "\\d+ ms").replace(/ +/g, " +"))
      .join("[^]*?\\n.*?")
  )
