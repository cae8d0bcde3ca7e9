/** Adapter from `LanguageModelV3` to `LanguageModelV4`. */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3DataContent,
  LanguageModelV3Message,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4FileData
} from "@ai-sdk/provider"
import { UnsupportedFunctionalityError } from "@ai-sdk/provider"
import * as Struct from "effect/Struct"
import * as Base64 from "effect/encoding/Base64"

/** A model of the V3 generation as one of V4. They differ in how files are written, and V3 has no `reasoning` setting. */
export const toV4 = (model: LanguageModelV3): LanguageModelV4 => ({
  specificationVersion: "v4",
  provider: model.provider,
  modelId: model.modelId,
  supportedUrls: model.supportedUrls,
  // The answers differ in the data of files alone, which are read in either form.
  doGenerate: (options) => model.doGenerate(callOptions(options)) as never,
  doStream: (options) => model.doStream(callOptions(options)) as never
})

const callOptions = (options: LanguageModelV4CallOptions): LanguageModelV3CallOptions => ({
  ...Struct.omit(options, ["prompt", "reasoning"]),
  prompt: options.prompt.map(message)
})

const message = (message: LanguageModelV4Message): LanguageModelV3Message => {
  switch (message.role) {
    case "system":
      return message
    case "user":
      return { ...message, content: message.content.map((part) => part.type === "file" ? file(part) : part) }
    case "assistant":
      return {
        ...message,
        content: message.content.map((part) => {
          switch (part.type) {
            case "file":
              return file(part)
            case "tool-result":
              return toolResult(part)
            case "custom":
            case "reasoning-file":
              throw new UnsupportedFunctionalityError({ functionality: `${part.type} parts in a V3 model` })
            default:
              return part
          }
        })
      }
    case "tool":
      return {
        ...message,
        content: message.content.map((part) => part.type === "tool-result" ? toolResult(part) : part)
      }
  }
}

const file = <Part extends { readonly data: SharedV4FileData }>(
  part: Part
): Omit<Part, "data"> & { data: LanguageModelV3DataContent } => ({ ...part, data: fileData(part.data) })

const fileData = (data: SharedV4FileData): LanguageModelV3DataContent => {
  switch (data.type) {
    case "data":
      return data.data
    case "url":
      return data.url
    case "text":
    case "reference":
      throw new UnsupportedFunctionalityError({ functionality: `${data.type} files in a V3 model` })
  }
}

const toolResult = (part: LanguageModelV4ToolResultPart): LanguageModelV3ToolResultPart => ({
  ...part,
  output: toolResultOutput(part.output)
})

const toolResultOutput = (output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput =>
  output.type !== "content" ? output : {
    type: "content",
    value: output.value.map((part) => {
      if (part.type !== "file") return part
      const { data, filename, mediaType } = part
      const rest = Struct.omit(part, ["type", "data", "mediaType", "filename"])
      const content = fileData(data)
      const image = mediaType.startsWith("image/")
      if (content instanceof URL) {
        return { ...rest, type: image ? "image-url" : "file-url", url: content.href }
      }
      const base64 = typeof content === "string" ? content : Base64.encode(content)
      return image
        ? { ...rest, type: "image-data", data: base64, mediaType }
        : {
          ...rest,
          type: "file-data",
          data: base64,
          mediaType,
          ...(filename === undefined ? undefined : { filename })
        }
    })
  }
