/** Request target: checks the options of a client and finds server, model and quirks. */
import * as Redaction from "@recourse/core/Redaction"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Presets from "../../Presets.ts"
import * as Quirks from "../../Quirks.ts"
import * as SetupError from "../../SetupError.ts"

/**
 * TargetOptions that name a server and its model.
 *
 * @category options
 * @since 0.2.0
 */
export interface TargetOptions {
  /** The model's id in the server's spelling. */
  readonly model: string
  /** A known server by name, see `Presets`. */
  readonly preset?: Presets.Name | undefined
  /** The server's address up to `/chat/completions`. Required without a preset, and outranks the preset's. */
  readonly baseUrl?: string | undefined
  /** The key, sent as bearer token. Default: none. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Departures from the protocol, over the preset's. */
  readonly quirks?: Partial<Quirks.Quirks> | undefined
}

export interface Target {
  readonly url: string
  /** Host and port, for messages. */
  readonly host: string
  /** The server that opaque state belongs to: state of another one is not sent. */
  readonly server: string
  readonly model: string
  readonly quirks: Quirks.Quirks
  readonly headers: Readonly<Record<string, string>>
  readonly hasKey: boolean
  /** The text without the key. */
  readonly scrub: (text: string) => string
}

const secretsOnly = Redaction.make({ rules: Redaction.secrets })

const endpoint = "/chat/completions"

const longestShown = 80

/** The value of a base URL for its error, unless it looks like a secret: a key is easily pasted into the wrong variable. */
const shownUrl = (baseUrl: string): { readonly value?: string } => {
  const isSecret = secretsOnly.text(baseUrl) !== baseUrl || /[A-Za-z0-9_-]{16,}/.test(baseUrl)
  return isSecret || baseUrl.length > longestShown ? {} : { value: baseUrl }
}

const parseBaseUrl = (baseUrl: string): Result.Result<URL, SetupError.InvalidBaseUrl> => {
  if (!URL.canParse(baseUrl)) {
    return Result.fail(new SetupError.InvalidBaseUrl({ problem: "not-a-url", ...shownUrl(baseUrl) }))
  }
  const url = new URL(baseUrl)
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return Result.fail(new SetupError.InvalidBaseUrl({ problem: "not-http" }))
  }
  if (url.username !== "" || url.password !== "") {
    return Result.fail(new SetupError.InvalidBaseUrl({ problem: "credentials" }))
  }
  const path = url.pathname.replace(/\/+$/, "")
  url.pathname = path.endsWith(endpoint) ? path : path + endpoint
  url.hash = ""
  return Result.succeed(url)
}

const keyOf = (apiKey: Redacted.Redacted<string> | undefined): Option.Option<string> =>
  Option.filter(Option.map(Option.fromUndefinedOr(apiKey), (key) => Redacted.value(key).trim()), (key) => key !== "")

/** Checks options without sending anything. */
export const make = (options: TargetOptions): Result.Result<Target, SetupError.SetupError> => {
  const preset = Presets.get(options.preset ?? "")
  if (options.preset !== undefined && preset === undefined) {
    return Result.fail(new SetupError.UnknownPreset({ preset: options.preset, known: Presets.names }))
  }
  const baseUrl = options.baseUrl ?? preset?.baseUrl
  if (baseUrl === undefined) return Result.fail(new SetupError.InvalidBaseUrl({ problem: "missing" }))
  const url = parseBaseUrl(baseUrl)
  if (Result.isFailure(url)) return Result.fail(url.failure)
  const model = (options.model as string | undefined)?.trim() ?? ""
  if (model === "") return Result.fail(new SetupError.MissingModel({}))
  const { preset: name } = options
  // Behind another address there may be another server.
  const provider = name === undefined || options.baseUrl !== undefined ? undefined : Presets.makerOfForeign(name, model)
  if (name !== undefined && provider !== undefined) {
    return Result.fail(new SetupError.ForeignModel({ preset: name, model, provider }))
  }
  const key = Option.getOrUndefined(keyOf(options.apiKey))
  if (key === undefined && preset?.keyRequired === true) {
    return Result.fail(
      new SetupError.MissingApiKey({ preset: options.preset ?? "", variable: preset.keyVariable })
    )
  }
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) return Result.fail(new SetupError.InvalidApiKey())
  return Result.succeed({
    url: url.success.href,
    host: url.success.host,
    server: url.success.host,
    model,
    quirks: { ...Quirks.defaults, ...Presets.quirksOfModel(model), ...preset?.quirks, ...options.quirks },
    headers: { ...(key === undefined ? undefined : { authorization: `Bearer ${key}` }), ...options.headers },
    hasKey: key !== undefined,
    scrub: (text) => key === undefined ? text : text.replaceAll(key, "<redacted>")
  })
}
