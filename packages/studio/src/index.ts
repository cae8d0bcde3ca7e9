export * as NextFaults from "./NextFaults.ts"
export * as Project from "./Project.ts"
export * as Studio from "./Studio.ts"
export * as StudioCommand from "./StudioCommand.ts"
