/** Resources and prompts of a server as tools: reads by which a model lists them and reads one. */
import * as Effect from "effect/Effect"
import type { McpClientError } from "effect/ai/McpClientError"
import { McpClientError as ClientError, ProtocolError } from "effect/ai/McpClientError"
import * as McpSchema from "effect/ai/McpSchema"
import type { Live } from "../connection.ts"
import { own } from "./messages.ts"

/** Answer to a call. */
export type Answered = Pick<McpSchema.CallToolResult, "content" | "structuredContent" | "isError">

/** A tool that is no tool of the server, and the requests that it makes. */
export interface ServerRead {
  readonly descriptor: McpSchema.Tool
  readonly request: (live: Live, args: Record<string, unknown>) => Effect.Effect<Answered, McpClientError>
}

/**
 * Offered reads.
 *
 * @category options
 * @since 0.2.0
 */
export interface ServerReadOptions {
  /** Offers the server's resources by two tools, `list_resources` and `read_resource`. Default: `false`. */
  readonly resources?: boolean | undefined
  /** Offers the server's prompts by two tools, `list_prompts` and `get_prompt`. Default: `false`. */
  readonly prompts?: boolean | undefined
}

const text = (value: string): McpSchema.ContentBlock => ({ type: "text", text: value }) as McpSchema.ContentBlock

const lines = (entries: ReadonlyArray<object>): Answered => ({
  content: [text(entries.map((entry) => JSON.stringify(entry)).join("\n"))]
})

const read = (
  name: string,
  description: string,
  properties: Record<string, unknown>,
  required: ReadonlyArray<string>,
  request: ServerRead["request"]
): ServerRead => ({
  descriptor: new McpSchema.Tool({
    name,
    description,
    inputSchema: { type: "object", properties: properties as never, required, additionalProperties: false },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true } as never
  }),
  request
})

const resources: ReadonlyArray<ServerRead> = [
  read(
    "list_resources",
    "Lists the resources of the server by their URIs",
    {},
    [],
    ({ client }) =>
      Effect.map(
        client.listResources(),
        (listed) => lines(listed.map(({ description, mimeType, name, uri }) => ({ uri, name, description, mimeType })))
      )
  ),
  read(
    "read_resource",
    "Reads a resource of the server",
    { uri: { type: "string", description: "A URI of list_resources" } },
    ["uri"],
    ({ client }, { uri }) =>
      Effect.map(client.readResource({ uri: String(uri) }), ({ contents }) => ({
        content: contents.map((resource) => ({ type: "resource", resource }) as McpSchema.ContentBlock)
      }))
  )
]

const unknownPrompt = (name: string) =>
  new ClientError({
    reason: new ProtocolError({ code: -32_602, description: `There is no prompt ${JSON.stringify(name)}` })
  })

const prompts: ReadonlyArray<ServerRead> = [
  read(
    "list_prompts",
    "Lists the prompts of the server with their arguments",
    {},
    [],
    ({ client }) =>
      Effect.map(
        client.listPrompts(),
        (listed) =>
          lines(listed.map(({ arguments: args, description, name }) => ({ name, description, arguments: args })))
      )
  ),
  read(
    "get_prompt",
    "Reads a prompt of the server, filled in with arguments",
    {
      name: { type: "string", description: "A name of list_prompts" },
      arguments: { type: "object", additionalProperties: { type: "string" } }
    },
    ["name"],
    ({ client }, { arguments: args, name }) =>
      Effect.flatMap(client.listPrompts(), (listed) => {
        const prompt = listed.find((one) => one.name === name)
        if (prompt === undefined) return Effect.fail(unknownPrompt(String(name)))
        return Effect.map(
          client.getPrompt({ prompt, ...(args === undefined ? {} : { arguments: args as Record<string, string> }) }),
          ({ messages }) => ({ content: messages.flatMap(({ content, role }) => [text(`${role}:`), content]) })
        )
      })
  )
]

/**
 * Returns the requested reads of a server, if the server has their subjects, except those whose names its tools have.
 */
export const serverReads = (
  options: ServerReadOptions,
  { peer }: Live,
  names: ReadonlyArray<string>
): ReadonlyArray<ServerRead> => {
  const has = (capability: string) => peer === undefined || own(peer.capabilities, capability) !== undefined
  return [
    ...(options.resources === true && has("resources") ? resources : []),
    ...(options.prompts === true && has("prompts") ? prompts : [])
  ].filter(({ descriptor }) => !names.includes(descriptor.name))
}
