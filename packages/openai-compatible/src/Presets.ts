/** Presets: known servers by name, with base URL, key variable and quirks. Data only. */
import type { Quirks } from "./Quirks.ts"

/**
 * A known server: its address, its key and its quirks.
 *
 * @category models
 * @since 0.2.0
 */
export interface Preset {
  readonly baseUrl: string
  /** The environment variable in which the server's users keep the key. */
  readonly keyVariable: string
  readonly keyRequired: boolean
  readonly quirks: Partial<Quirks>
}

/**
 * The names of all presets.
 *
 * @category constants
 * @since 0.2.0
 */
export const names = [
  "openai",
  "ollama",
  "deepseek",
  "moonshot",
  "openrouter",
  "perplexity",
  "gemini",
  "groq",
  "mistral",
  "vllm",
  "lmstudio",
  "llamacpp"
] as const

/**
 * Names of the known servers.
 *
 * @category models
 * @since 0.2.0
 */
export type Name = (typeof names)[number]

const presets: Readonly<Record<Name, Preset>> = {
  openai: {
    baseUrl: "https://api.openai.com/v1",
    keyVariable: "OPENAI_API_KEY",
    keyRequired: true,
    quirks: { systemRole: "developer", maxTokensField: "max_completion_tokens", invalidArguments: "raw", maxTools: 128 }
  },
  ollama: {
    baseUrl: "http://localhost:11434/v1",
    keyVariable: "OLLAMA_API_KEY",
    keyRequired: false,
    // A model without tools is refused only with this status, one of these types, and prose.
    quirks: {
      requiredToolChoice: "auto",
      parallelToolCalls: false,
      toolRefusals: [
        { status: 400, type: "invalid_request_error", code: null, param: null },
        { status: 400, type: "api_error", code: null, param: null }
      ]
    }
  },
  deepseek: {
    baseUrl: "https://api.deepseek.com",
    keyVariable: "DEEPSEEK_API_KEY",
    keyRequired: true,
    quirks: {
      structuredOutput: "json_object",
      parallelToolCalls: false,
      reasoningHistory: "reasoning_content",
      maxTools: 128,
      toolFiles: "omit"
    }
  },
  moonshot: {
    baseUrl: "https://api.moonshot.ai/v1",
    keyVariable: "MOONSHOT_API_KEY",
    keyRequired: true,
    quirks: {
      structuredOutput: "json_object",
      requiredToolChoice: "auto",
      parallelToolCalls: false,
      reasoningHistory: "reasoning_content",
      maxTools: 128
    }
  },
  openrouter: {
    baseUrl: "https://openrouter.ai/api/v1",
    keyVariable: "OPENROUTER_API_KEY",
    keyRequired: true,
    // A model without tools is "no endpoint found"; codes are statuses.
    quirks: { reasoningHistory: "reasoning", toolRefusals: [{ status: 404, code: "404" }] }
  },
  perplexity: {
    baseUrl: "https://api.perplexity.ai",
    keyVariable: "PERPLEXITY_API_KEY",
    keyRequired: true,
    quirks: { tools: "inline", streamUsage: false, parallelToolCalls: false, toolFiles: "omit" }
  },
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    keyVariable: "GEMINI_API_KEY",
    keyRequired: true,
    quirks: { parallelToolCalls: false, maxTools: 512, schemas: "subset" }
  },
  groq: {
    baseUrl: "https://api.groq.com/openai/v1",
    keyVariable: "GROQ_API_KEY",
    keyRequired: true,
    quirks: { structuredOutput: "json_object", maxTokensField: "max_completion_tokens", maxTools: 128 }
  },
  mistral: {
    baseUrl: "https://api.mistral.ai/v1",
    keyVariable: "MISTRAL_API_KEY",
    keyRequired: true,
    quirks: { requiredToolChoice: "any", toolCallId: "nine-alphanumerics", streamUsage: false }
  },
  vllm: {
    baseUrl: "http://localhost:8000/v1",
    keyVariable: "VLLM_API_KEY",
    keyRequired: false,
    // Started without a tool parser it refuses with this status and type and prose.
    quirks: { toolRefusals: [{ status: 400, type: "BadRequestError", param: null }] }
  },
  lmstudio: {
    baseUrl: "http://localhost:1234/v1",
    keyVariable: "LMSTUDIO_API_KEY",
    keyRequired: false,
    quirks: { parallelToolCalls: false }
  },
  llamacpp: {
    baseUrl: "http://localhost:8080/v1",
    keyVariable: "LLAMA_API_KEY",
    keyRequired: false,
    quirks: {}
  }
}

/** Beginnings of the names of models, by who makes them. */
const families = {
  openai: /^(?:gpt-(?!oss)|chatgpt-|o[134](?:-|$)|text-embedding-)/,
  anthropic: /^claude-/,
  gemini: /^(?:models\/)?gemini-/,
  deepseek: /^deepseek-/,
  mistral: /^(?:mistral-|ministral-|magistral-|codestral-|pixtral-|devstral-)/,
  moonshot: /^(?:kimi-|moonshot-)/,
  perplexity: /^sonar(?:-|$)/,
  xai: /^grok-/
} as const

/** Spellings of the makers before a name by gateways and clouds: `anthropic/claude-…`, `anthropic.claude-…`. */
const prefixes: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "gemini",
  gemini: "gemini",
  deepseek: "deepseek",
  "deepseek-ai": "deepseek",
  mistralai: "mistral",
  mistral: "mistral",
  moonshotai: "moonshot",
  moonshot: "moonshot",
  perplexity: "perplexity",
  "x-ai": "xai",
  xai: "xai",
  "meta-llama": "meta",
  meta: "meta",
  qwen: "qwen",
  cohere: "cohere",
  amazon: "amazon"
}

const makerOf = (model: string): string | undefined => {
  const name = model.toLowerCase().replace(/^[^\w]+/, "")
  const [prefix = "", ...rest] = name.split(/[/.]/)
  if (rest.length > 0 && Object.hasOwn(prefixes, prefix)) return prefixes[prefix]
  const last = name.startsWith("models/") ? name : name.slice(name.lastIndexOf("/") + 1)
  return Object.entries(families).find(([, family]) => family.test(last))?.[0]
}

/** @internal Quirks of a model's template, on whatever server it runs. */
export const quirksOfModel = (model: string): Partial<Quirks> =>
  makerOf(model) === "mistral" ? { roleAfterTool: "assistant" } : {}

/** Presets whose servers have the models of their own makers only. */
const servesOwn: ReadonlySet<string> = new Set(["openai", "deepseek", "moonshot", "perplexity", "gemini", "mistral"])

/** @internal The maker of a model that the server of a preset cannot have, by the beginning of its name. An unknown name may be a new one. */
export const makerOfForeign = (preset: string, model: string): string | undefined => {
  if (!servesOwn.has(preset)) return undefined
  const maker = makerOf(model)
  return maker === preset ? undefined : maker
}

/**
 * The preset of that name, if there is one.
 *
 * ```ts
 * import { Presets } from "@recourse/openai-compatible"
 *
 * Presets.get("ollama")?.baseUrl // => "http://localhost:11434/v1"
 * Presets.get("nobody") // => undefined
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const get = (name: string): Preset | undefined =>
  Object.hasOwn(presets, name) ? presets[name as Name] : undefined
