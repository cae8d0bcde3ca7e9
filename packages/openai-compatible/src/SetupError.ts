/**
 * Set-up errors: the options of a client cannot work. Raised before any request is sent. Each message says what to do,
 * and none holds a key.
 */
import * as Schema from "effect/Schema"

export class MissingApiKey extends Schema.TaggedError<MissingApiKey>()("MissingApiKey", {
  preset: Schema.String,
  variable: Schema.String
}) {
  override get message(): string {
    return `The server "${this.preset}" needs an API key: pass apiKey, or set the environment variable ${this.variable} and use layerConfig.`
  }
}

export class InvalidApiKey extends Schema.TaggedError<InvalidApiKey>()("InvalidApiKey", {}) {
  override get message(): string {
    return "The API key holds characters that cannot stand in an HTTP header: check it for spaces, line breaks and quotes inside it."
  }
}

export class UnknownPreset extends Schema.TaggedError<UnknownPreset>()("UnknownPreset", {
  preset: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `There is no preset "${this.preset}": use one of ${this.known.join(", ")}, or pass baseUrl instead.`
  }
}

/** The URL itself is left out: a key is easily pasted into the wrong variable. */
export class InvalidBaseUrl extends Schema.TaggedError<InvalidBaseUrl>()("InvalidBaseUrl", {
  problem: Schema.Literals(["missing", "not-a-url", "not-http", "credentials"])
}) {
  override get message(): string {
    switch (this.problem) {
      case "missing":
        return "No server is given: pass preset or baseUrl."
      case "not-a-url":
        return "The base URL is not a URL: give one such as https://api.openai.com/v1."
      case "not-http":
        return "The base URL is neither http nor https: give one such as https://api.openai.com/v1."
      case "credentials":
        return "The base URL holds a user name or password: pass apiKey or headers instead."
    }
  }
}

export class MissingModel extends Schema.TaggedError<MissingModel>()("MissingModel", {}) {
  override get message(): string {
    return "No model is given: pass model, for example the id of one that the server lists under /models."
  }
}

export type SetupError = MissingApiKey | InvalidApiKey | UnknownPreset | InvalidBaseUrl | MissingModel
