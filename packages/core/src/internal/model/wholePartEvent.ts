/** Events of the parts of an answer that come in one piece: sources, files, calls that the provider has made, and their results. */
import type * as Response from "effect/ai/Response"
import type { EventBody } from "../run/run.ts"

/** Returns the event of a part that comes in one piece; none of other parts. */
export const wholePartEvent = (turn: number, part: Response.AnyPart): EventBody | undefined => {
  switch (part.type) {
    case "source":
      return {
        _tag: "ModelSource",
        turn,
        sourceId: part.id,
        title: part.title,
        ...(part.sourceType === "url" ? { url: String(part.url) } : {
          mediaType: part.mediaType,
          ...(part.fileName === undefined ? undefined : { fileName: part.fileName })
        })
      }
    case "file":
      return { _tag: "ModelFile", turn, mediaType: part.mediaType, data: part.data }
    case "tool-call":
      return part.providerExecuted
        ? { _tag: "ProviderToolCall", turn, callId: part.id, tool: part.name, arguments: JSON.stringify(part.params) }
        : undefined
    case "tool-result":
      return part.providerExecuted && !part.preliminary
        ? {
          _tag: "ProviderToolResult",
          turn,
          callId: part.id,
          tool: part.name,
          isFailure: part.isFailure,
          result: part.encodedResult
        }
        : undefined
    default:
      return undefined
  }
}
