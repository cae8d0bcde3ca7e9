/** Each chunk is one of the AI SDK's. */
import type { UiMessageChunk } from "@recourse/server"
import type { UIMessageChunk } from "ai"

type DeepReadonly<T> = T extends (infer A)[] ? ReadonlyArray<DeepReadonly<A>>
  : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
  : T

export const isChunk = (chunk: UiMessageChunk.UiMessageChunk): DeepReadonly<UIMessageChunk> => chunk
