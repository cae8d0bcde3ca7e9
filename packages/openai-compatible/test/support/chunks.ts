/** Chunks of a streamed answer. */

import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer } from "effect"
import { bytesClient, ids, observe, stream } from "./harness.ts"

export const call = (fields: Record<string, unknown>, name?: string, args?: unknown) => ({
  ...fields,
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) }
})

export const overBytes = (pieces: ReadonlyArray<Uint8Array>) =>
  observe(stream()).pipe(
    Effect.provide(
      OpenAiCompatible.layer({ baseUrl: "http://localhost/v1", model: "test-model" }).pipe(
        Layer.provide([bytesClient(pieces), ids])
      )
    )
  )
