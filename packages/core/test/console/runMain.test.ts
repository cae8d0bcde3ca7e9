/** Output of a process about a failed run. */
import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { join } from "node:path"

it("NodeRuntime.runMain prints why a run ended", async () => {
  const program = join(import.meta.dirname, "../fixtures/failingRun.ts")
  const { code, stdout } = await new Promise<{ readonly code: unknown; readonly stdout: string }>((resolve) =>
    execFile(
      process.execPath,
      [program],
      (error, stdout, stderr) => resolve({ code: error?.code, stdout: stdout + stderr })
    )
  )
  assert.strictEqual(code, 1)
  for (
    const part of [
      "ExecutionError",
      "at run run_42 of agent \"till\"",
      "Refused: no answer from [redacted: credentials]"
    ]
  ) {
    assert.include(stdout, part)
  }
  assert.notInclude(stdout, "hunter2")
}, 20_000)
