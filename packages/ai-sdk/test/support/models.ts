import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage
} from "@ai-sdk/provider"

export const usage: LanguageModelV4Usage = {
  inputTokens: { total: 5, noCache: 3, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 7, text: 4, reasoning: 3 }
}

export const stop = { unified: "stop", raw: "stop" } as const

export const finish = {
  type: "finish",
  finishReason: { unified: "tool-calls", raw: "tool_calls" },
  usage
} satisfies LanguageModelV4StreamPart & LanguageModelV3StreamPart

const streamOf = <A>(parts: ReadonlyArray<A>): ReadableStream<A> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    }
  })

/**
 * A V4 model whose first answer is this value, whatever it is, and whose later ones say a text. A list is the parts of a stream,
 * if the answer is streamed.
 */
export const firstAnswering = (first: unknown, later: string): LanguageModelV4 => {
  let requests = 0
  const isFirst = () => requests++ === 0
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: "m",
    supportedUrls: {},
    doGenerate: async () =>
      isFirst() ? first : { content: [{ type: "text", text: later }], finishReason: stop, usage, warnings: [] },
    doStream: async () => {
      if (isFirst()) return Array.isArray(first) ? { stream: streamOf(first) } : first
      const text = [{ type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: later }, {
        type: "text-end",
        id: "0"
      }]
      return { stream: streamOf([...text, { type: "finish", finishReason: stop, usage }]) }
    }
  } as never
}

/** A V4 model with the given answers, and a record of its calls. */
export const v4 = (answer: {
  readonly content?: LanguageModelV4GenerateResult["content"]
  readonly result?: Partial<LanguageModelV4GenerateResult>
  readonly stream?: ReadonlyArray<LanguageModelV4StreamPart>
  readonly supportedUrls?: Record<string, Array<RegExp>>
  readonly provider?: string
  readonly fail?: unknown
}) => {
  const calls: Array<LanguageModelV4CallOptions> = []
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: answer.provider ?? "test",
    modelId: "test-1",
    supportedUrls: Promise.resolve(answer.supportedUrls ?? {}),
    doGenerate: async (options) => {
      calls.push(options)
      if ("fail" in answer) throw answer.fail
      return { content: answer.content ?? [], finishReason: stop, usage, warnings: [], ...answer.result }
    },
    doStream: async (options) => {
      calls.push(options)
      if ("fail" in answer) throw answer.fail
      return { stream: streamOf(answer.stream ?? []) }
    }
  }
  return { model, calls }
}

export const v3 = (answer: {
  readonly content?: LanguageModelV3GenerateResult["content"]
  readonly stream?: ReadonlyArray<LanguageModelV3StreamPart>
  readonly supportedUrls?: Record<string, Array<RegExp>>
}) => {
  const calls: Array<LanguageModelV3CallOptions> = []
  const model: LanguageModelV3 = {
    specificationVersion: "v3",
    provider: "test",
    modelId: "test-1",
    supportedUrls: answer.supportedUrls ?? {},
    doGenerate: async (options) => {
      calls.push(options)
      return { content: answer.content ?? [], finishReason: stop, usage, warnings: [] }
    },
    doStream: async (options) => {
      calls.push(options)
      return { stream: streamOf(answer.stream ?? []) }
    }
  }
  return { model, calls }
}
