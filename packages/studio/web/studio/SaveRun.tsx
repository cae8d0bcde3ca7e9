/** Saving a run: its log, a test that replays it, and a copy of the page's view. */
import { useRef } from "react"
import { announce } from "../shared/announce.ts"
import { address, request } from "../shared/api.ts"
import { Button } from "../shared/Button.tsx"
import { failingTestOf, faultsOf, fileOf, planOf, saveText, testOf } from "./savedRun.ts"

export const SaveRun = ({ agent, runId }: { readonly runId: string; readonly agent: string }) => {
  const menu = useRef<HTMLDetailsElement>(null)
  const runPath = `operator/runs/${encodeURIComponent(runId)}`
  const path = `${runPath}/log`
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
  const saveFaults = (): void => {
    request("GET", path).then((response) => response.text()).then((log) => {
      const faults = faultsOf(log)
      if (faults.length === 0) return done("No attempt of a tool and no model call of this run has failed.")
      saveText(`${fileOf(runId)}.faults.json`, planOf(faults))
      saveText(`${fileOf(runId)}.faults.test.ts`, failingTestOf(runId, agent))
      done(`Saved: a plan with ${faults.length === 1 ? "1 fault" : `${faults.length} faults`}, and a test.`)
    }, () => done("The log of the run cannot be read."))
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
            saveText(`${fileOf(runId)}.test.ts`, testOf(runId, agent))
            done("Saved. Save the events next to the test.")
          }}
        >
          A test that replays the log
        </Button>
        <Button size="small" onClick={saveFaults}>A fault plan, and a test with it</Button>
        <Button size="small" icon="copy" onClick={copy}>Copy the events</Button>
        <Button
          size="small"
          icon="copy"
          onClick={() =>
            request("GET", `${runPath}/timeline`).then((response) => response.text()).then(
              (text) => navigator.clipboard.writeText(text)
            ).then(() => done("Copied"), () => done("This browser does not let the page copy"))}
        >
          Copy the run
        </Button>
      </div>
    </details>
  )
}
