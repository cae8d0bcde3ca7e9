export * as Drive from "./Drive.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as TestTracer from "./TestTracer.ts"
