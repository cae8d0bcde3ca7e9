/** Recourse over `@recourse/ai-sdk` and the provider of the AI SDK. */
import { AiSdk } from "@recourse/ai-sdk"
import { ManagedRuntime } from "effect"
import { providerOver } from "./aiSdk.ts"
import { model } from "./http.ts"
import { contestantOver } from "./recourse.ts"

export const contestant = contestantOver((fetch) => ManagedRuntime.make(AiSdk.layer(providerOver(fetch)(model))))
