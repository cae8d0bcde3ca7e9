/** Variables of a project: `.env` with secrets of its own, and `.env.example` without. */
import { randomBytes } from "node:crypto"
import type { Model, Options } from "./options.ts"

const settings: Readonly<Record<Model, ReadonlyArray<string>>> = {
  script: ["# LLM_PRESET=ollama", "# LLM_MODEL=qwen3"],
  ollama: ["LLM_PRESET=ollama", "LLM_MODEL=qwen3"],
  openai: ["LLM_PRESET=openai", "LLM_MODEL=gpt-5", "OPENAI_API_KEY="]
}

const text = ({ model, server }: Options, secret: () => string): string =>
  [
    "# The model. Without LLM_MODEL a script plays it.",
    ...settings[model],
    ...(server
      ? [
        "",
        "# The server.",
        ...["CUSTOMER_TOKEN", "OPERATOR_TOKEN", "SNAPSHOT_KEY"].map((name) => `${name}=${secret()}`)
      ]
      : []),
    ""
  ].join("\n")

/** Returns the text of `.env`, with new random secrets. */
export const environment = (options: Options): string => text(options, () => randomBytes(32).toString("base64url"))

/** Returns the text of `.env.example`, which has names only. */
export const exampleEnvironment = (options: Options): string => text(options, () => "")
