/** DBOS: a workflow whose steps are functions. */
import { DBOS } from "@dbos-inc/dbos-sdk"
import { answer, type Open } from "./engine.ts"

export const dbos: Open = async (place, isCut) => {
  if (!("postgres" in place)) throw new Error("DBOS keeps its workflows in PostgreSQL")
  let reached: () => void = () => undefined
  const cut = new Promise<void>((resolve) => reached = resolve)
  const job = DBOS.registerWorkflow(async (steps: number) => {
    for (let n = 0; n < steps; n++) await DBOS.runStep(() => Promise.resolve(answer(n)), { name: "look" })
    if (!isCut) return
    reached()
    await new Promise(() => undefined)
  }, { name: "job" })
  const waits = DBOS.registerWorkflow(async () => {
    await DBOS.recv("go", { timeoutSeconds: 3600 })
  }, { name: "waits" })
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: place.postgres, systemDatabasePoolSize: 20, logLevel: "error" })
  await DBOS.launch()
  return {
    run: async (id, steps) => {
      const handle = await DBOS.startWorkflow(job, { workflowID: id })(steps)
      await handle.getResult()
    },
    cut: async (id, steps) => {
      await DBOS.startWorkflow(job, { workflowID: id })(steps)
      await cut
    },
    // Workflows of this executor are restarted at its launch.
    resume: async (id) => void await DBOS.retrieveWorkflow(id).getResult(),
    wait: async (ids) => {
      for (let n = 0; n < ids.length; n += 50) {
        await Promise.all(ids.slice(n, n + 50).map((id) => DBOS.startWorkflow(waits, { workflowID: id })()))
      }
    },
    close: () => DBOS.shutdown()
  }
}
