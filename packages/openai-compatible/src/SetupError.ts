/**
 * Set-up errors: the options of a client cannot work. Raised before the first request. Each message has advice, with
 * the names of the variables if `layerConfig` reads them, and none contains a key.
 */
import * as Schema from "effect/Schema"

/**
 * The server needs an API key, and neither an option nor a variable has one.
 *
 * @category errors
 * @since 0.2.0
 */
export class MissingApiKey extends Schema.TaggedError<MissingApiKey>()("MissingApiKey", {
  preset: Schema.String,
  variable: Schema.String,
  /** Variables that `layerConfig` has looked for. */
  variables: Schema.optionalKey(Schema.Array(Schema.String))
}) {
  override get message(): string {
    return this.variables === undefined
      ? `The server "${this.preset}" needs an API key: pass apiKey, or set the environment variable ${this.variable} and use layerConfig.`
      : `The server "${this.preset}" needs an API key: set the environment variable ${
        this.variables.join(" or ")
      }, or pass apiKey.`
  }
}

/**
 * The API key has characters that an HTTP header cannot have.
 *
 * @category errors
 * @since 0.2.0
 */
export class InvalidApiKey extends Schema.TaggedError<InvalidApiKey>()("InvalidApiKey", {}) {
  override get message(): string {
    return "The API key has characters that an HTTP header cannot have: check it for spaces, line breaks and quotes inside it."
  }
}

/**
 * No preset has the name; `known` lists those there are.
 *
 * @category errors
 * @since 0.2.0
 */
export class UnknownPreset extends Schema.TaggedError<UnknownPreset>()("UnknownPreset", {
  preset: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `There is no preset "${this.preset}": use one of ${this.known.join(", ")}, or pass baseUrl instead. ` +
      "For a provider with an API of its own, such as Anthropic, use AiSdk.layer of @recourse/ai-sdk."
  }
}

/**
 * A value that looks like a secret is left out: a key is easily pasted into the wrong variable.
 *
 * @category errors
 * @since 0.2.0
 */
export class InvalidBaseUrl extends Schema.TaggedError<InvalidBaseUrl>()("InvalidBaseUrl", {
  problem: Schema.Literals(["missing", "not-a-url", "not-http", "credentials"]),
  /** The value that is not a URL, unless it looks like a secret. */
  value: Schema.optionalKey(Schema.String),
  /** Variables that `layerConfig` has looked for. */
  variables: Schema.optionalKey(Schema.Array(Schema.String))
}) {
  override get message(): string {
    switch (this.problem) {
      case "missing":
        return this.variables === undefined
          ? "No server is given: pass preset or baseUrl."
          : `No server is given: set the environment variable ${
            this.variables.join(" or ")
          }, or pass preset or baseUrl.`
      case "not-a-url":
        return `The base URL${
          this.value === undefined ? "" : ` ${JSON.stringify(this.value)}`
        } is not a URL: give one such as https://api.openai.com/v1.`
      case "not-http":
        return "The base URL is neither http nor https: give one such as https://api.openai.com/v1."
      case "credentials":
        return "The base URL holds a user name or password: pass apiKey or headers instead."
    }
  }
}

/**
 * No model is given.
 *
 * @category errors
 * @since 0.2.0
 */
export class MissingModel extends Schema.TaggedError<MissingModel>()("MissingModel", {
  /** Variables that `layerConfig` has looked for. */
  variables: Schema.optionalKey(Schema.Array(Schema.String))
}) {
  override get message(): string {
    const what = "for example to the id of one that the server lists under /models"
    return this.variables === undefined
      ? `No model is given: set model, ${what}.`
      : `No model is given: set the environment variable ${this.variables.join(" or ")}, ${what}, or pass model.`
  }
}

/**
 * The preset's provider serves its own models only, and this one is made by another.
 *
 * @category errors
 * @since 0.2.0
 */
export class ForeignModel extends Schema.TaggedError<ForeignModel>()("ForeignModel", {
  preset: Schema.String,
  model: Schema.String,
  /** Provider of the model. */
  provider: Schema.String
}) {
  override get message(): string {
    return `"${this.model}" is a model of ${this.provider}, and "${this.preset}" serves its own only: name one of its models, or use ` +
      `${this.provider}'s server, by a preset or by AiSdk.layer of @recourse/ai-sdk.`
  }
}

/**
 * The server does not list the model. Known only with `checkModel`.
 *
 * @category errors
 * @since 0.2.0
 */
export class UnknownModel extends Schema.TaggedError<UnknownModel>()("UnknownModel", {
  model: Schema.String,
  /** Its listed models. */
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const { known } = this
    const others = known.length > 10 ? `, and ${known.length - 10} more` : ""
    return `The server lists no model "${this.model}": use one of ${known.slice(0, 10).join(", ")}${others}.`
  }
}

/**
 * All set-up errors of a client.
 *
 * @category errors
 * @since 0.2.0
 */
export type SetupError =
  | MissingApiKey
  | InvalidApiKey
  | UnknownPreset
  | InvalidBaseUrl
  | MissingModel
  | ForeignModel
  | UnknownModel
