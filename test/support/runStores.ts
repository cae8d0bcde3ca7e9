/** Stores of durable runs: in memory, and in each database that processes share. */
import { RunStore } from "@recourse/durable"
import { Layer } from "effect"
import { sqlLayer } from "./connections.ts"
import { sqlDatabases } from "./servers.ts"

interface OpenStore {
  readonly layer: Layer.Layer<RunStore.RunStore, unknown>
  readonly close: () => Promise<unknown>
}

export const runStores: ReadonlyArray<{ readonly name: string; readonly open: () => Promise<OpenStore> }> = [
  { name: "memory", open: async () => ({ layer: RunStore.layerMemory, close: async () => undefined }) },
  ...sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M")).map(({ name, open }) => ({
    name,
    open: async () => {
      const { address, close } = await open()
      return { layer: RunStore.layerSql().pipe(Layer.provide(sqlLayer(address))), close: async () => close() }
    }
  }))
]
