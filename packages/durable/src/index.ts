export * as Durable from "./Durable.ts"
export * as RunStore from "./RunStore.ts"
export * as Signal from "./Signal.ts"
