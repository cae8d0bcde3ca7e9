/** Runs a contestant in a process of its own. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { ContestantName } from "./Contestant.ts"
import type { Form } from "./Form.ts"
import type { Shares } from "./profile.ts"
import type { Sample } from "./Workload.ts"
import type { WorkloadName } from "./workloads.ts"

/** Report of a process about one case: its measurement, or the reason of its failure. */
export interface Outcome {
  readonly workload: WorkloadName
  readonly size: number
  readonly millis?: number
  readonly sample?: Sample
  readonly shares?: Shares
  readonly error?: string
}

const child = fileURLToPath(new URL("child.ts", import.meta.url))
const run = promisify(execFile)

/** The outcomes of one case, or of all cases of the form. Fails if the process does. */
export const runChild = async (
  form: Form,
  name: ContestantName,
  only?: { readonly workload: WorkloadName; readonly size: number; readonly isProfiled?: boolean }
): Promise<ReadonlyArray<Outcome>> => {
  const { stdout } = await run(
    process.execPath,
    [
      "--expose-gc",
      "--disable-warning=ExperimentalWarning",
      child,
      form,
      name,
      ...(only === undefined
        ? []
        : [only.workload, String(only.size), ...(only.isProfiled === true ? ["profile"] : [])])
    ],
    // Minutes are enough for the slowest; the tracing of LangChain and OpenAI is off.
    { timeout: 600_000, env: { ...process.env, LANGSMITH_TRACING: "false", OPENAI_AGENTS_DISABLE_TRACING: "1" } }
  )
  return stdout.split("\n").filter((line) => line.startsWith("{\"workload\"")).map((line) =>
    JSON.parse(line) as Outcome
  )
}
