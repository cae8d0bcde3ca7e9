export * as JsonRepair from "./JsonRepair.ts"
