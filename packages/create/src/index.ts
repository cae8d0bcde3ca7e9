export * as CreateCommand from "./CreateCommand.ts"
export * as Project from "./Project.ts"
