/** Saving a run: its log, a test that replays it, and a copy of the page's view. */
import { useRef } from "react"
import { announce } from "../shared/announce.ts"
import { address, request } from "../shared/api.ts"
import { Button } from "../shared/Button.tsx"

/** A name of a file. */
const fileOf = (runId: string): string => runId.replaceAll(/[^\w.-]/g, "_")

/** A test of the run, together with its log. */
export const testOf = (runId: string, agent: string): string =>
  `/** The run ${
    fileOf(runId)
  } of agent "${agent}" goes as it did: the model and the tools answer as they were recorded. */
import { Replay } from "@recourse/testing"
import { Effect, Option } from "effect"
import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
// The agent of the run, and its tools.
import { agent, tools } from "./agent.ts"

it("${fileOf(runId)} goes as it did", async () => {
  const log = readFileSync(new URL("./${fileOf(runId)}.jsonl", import.meta.url), "utf8")
  const recording = Replay.fromEvents(await Effect.runPromise(Replay.parseLog(log)))
  const { difference } = await Effect.runPromise(Replay.run(agent, recording, { tools }))
  assert.strictEqual(Option.getOrElse(Option.map(difference, Replay.print), () => "no difference"), "no difference")
})
`

const save = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export const SaveRun = ({ agent, runId }: { readonly runId: string; readonly agent: string }) => {
  const menu = useRef<HTMLDetailsElement>(null)
  const path = `operator/runs/${encodeURIComponent(runId)}/log`
  const done = (text: string): void => {
    announce(text)
    if (menu.current !== null) menu.current.open = false
  }
  const copy = (): void => {
    request("GET", path).then((response) => response.text()).then((text) => navigator.clipboard.writeText(text)).then(
      () => done("Copied"),
      () => done("This browser does not let the page copy")
    )
  }
  return (
    <details ref={menu} className="menu-button">
      <summary className="button small">Save</summary>
      <div className="menu">
        <p>Secrets that the program knows are taken out.</p>
        <a className="button small" href={address(path)} download={`${fileOf(runId)}.jsonl`}>Events, as a log</a>
        <Button
          size="small"
          onClick={() => {
            save(`${fileOf(runId)}.test.ts`, testOf(runId, agent))
            done("Saved. Save the events next to the test.")
          }}
        >
          A test that replays the log
        </Button>
        <Button size="small" icon="copy" onClick={copy}>Copy the events</Button>
      </div>
    </details>
  )
}
