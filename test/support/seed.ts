/** The seed of all that is drawn: a new one for each test run, printed at its end. `RECOURSE_SEED` repeats one. */
import type { TestProject } from "vitest/node"

export default ({ config }: TestProject) => (): void => {
  process.stdout.write(`To draw the same again: RECOURSE_SEED=${config.env["RECOURSE_SEED"]}\n`)
}
