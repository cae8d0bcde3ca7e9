/** Folders of the packages, in the order of the pages. */
export const folders: ReadonlyArray<string> = [
  "core",
  "testing",
  "durable",
  "server",
  "studio",
  "mcp",
  "openai-compatible",
  "ai-sdk",
  "json-repair",
  "create",
  "langchain",
  "mastra",
  "openai-agents",
  "sql"
]
