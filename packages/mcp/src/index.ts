export * as Mcp from "./Mcp.ts"
export * as McpError from "./McpError.ts"
