/** Facts of a streamed answer besides its content: usage, pictures, sources, and the reason of its end. */
import type * as Response from "effect/ai/Response"
import * as Facts from "./facts.ts"
import * as Wire from "./wire.ts"

/** Collects the facts of one answer. */
export class StreamFacts {
  /** The server's reason of the end. */
  finishReason: string | undefined
  private usage: unknown
  private readonly annotations: Array<unknown> = []
  private readonly pictures = new Set<unknown>()
  private lists: { readonly citations?: unknown; readonly search_results?: unknown } = {}
  private isRefused = false
  private hasMetadata = false

  /** Adds the facts of a chunk, and returns the metadata of the answer with the first chunk that has some. */
  addChunk(chunk: Wire.Chunk): Response.StreamPartEncoded | undefined {
    const metadata = this.hasMetadata ? undefined : Facts.responseMetadata(chunk)
    if (metadata !== undefined) this.hasMetadata = true
    this.addUsage(chunk)
    if (chunk.citations !== undefined) this.lists = { ...this.lists, citations: chunk.citations }
    if (chunk.search_results !== undefined) this.lists = { ...this.lists, search_results: chunk.search_results }
    return metadata
  }

  addUsage(json: object): void {
    this.usage = Facts.mergeUsage(this.usage, Facts.usageIn(json))
  }

  addMessage(message: Wire.Message): void {
    if (Wire.refusalOf(message) !== undefined) this.isRefused = true
    for (const address of Wire.pictures(message)) this.pictures.add(address)
    if (Array.isArray(message.annotations)) {
      for (const annotation of message.annotations) this.annotations.push(annotation)
    }
  }

  get files() {
    return Facts.files([...this.pictures])
  }

  get sources() {
    return Facts.sources(this.annotations, this.lists)
  }

  /** The part that ends the answer. */
  finish(
    hasCalls: boolean,
    unknownReason: Parameters<typeof Facts.finishReason>[2]
  ): Response.StreamPartEncoded {
    return {
      type: "finish",
      reason: this.isRefused ? "content-filter" : Facts.finishReason(this.finishReason, hasCalls, unknownReason),
      usage: Facts.usage(this.usage)
    }
  }
}
