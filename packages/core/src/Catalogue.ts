/** Texts for users, by the code of a failure and by language. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/**
 * Sentences by code. `execution_error` is the sentence of missing codes.
 *
 * @category models
 * @since 0.2.0
 */
export interface Texts {
  readonly execution_error: string
  readonly [code: string]: string
}

/**
 * English.
 *
 * @category constants
 * @since 0.2.0
 */
export const en: Texts = {
  invalid_arguments: "I need more information to do that.",
  missing_required_field: "I need more information to do that.",
  not_found: "I could not find that.",
  permission_denied: "This is not allowed.",
  approval_required: "This needs your approval.",
  approval_expired: "The approval came too late. Please approve it again.",
  timeout: "The service is temporarily slow. Please try again later.",
  rate_limited: "There are too many requests at the moment. Please try again later.",
  upstream_error: "A service that is needed is not available at the moment. Please try again later.",
  circuit_open: "The service is temporarily slow. Please try again later.",
  ledger_unavailable: "The service is temporarily slow. Please try again later.",
  partial_success: "A part of it was done.",
  outcome_unknown: "I could not confirm whether this was done. Please check before trying again.",
  duplicate_call: "This was asked for twice. I did it once.",
  idempotency_conflict: "I could not find out the outcome. A person must look at it.",
  unsafe_output: "Unsafe content was blocked.",
  authentication: "The service is not available.",
  quota_exhausted: "The service's quota is used up. Please try again another day.",
  model_not_found: "The service is not set up correctly: its model was not found.",
  invalid_request: "The service could not work with this request. Please put it another way.",
  budget_exceeded: "This took more than it may. I stopped.",
  not_run: "This was not done.",
  execution_error: "Something went wrong. Please try again later."
}

/**
 * Simplified Chinese.
 *
 * @category constants
 * @since 0.2.0
 */
export const zh: Texts = {
  invalid_arguments: "我需要更多信息才能完成此操作。",
  missing_required_field: "我需要更多信息才能完成此操作。",
  not_found: "未找到相关内容。",
  permission_denied: "不允许执行此操作。",
  approval_required: "此操作需要您的批准。",
  approval_expired: "批准已过期，请重新批准。",
  timeout: "服务暂时响应缓慢，请稍后再试。",
  rate_limited: "当前请求过多，请稍后再试。",
  upstream_error: "所需的服务暂时不可用，请稍后再试。",
  circuit_open: "所需的服务暂时不可用，请稍后再试。",
  ledger_unavailable: "服务暂时响应缓慢，请稍后再试。",
  partial_success: "此操作仅部分完成。",
  outcome_unknown: "无法确认此操作是否已完成，请先核实再重试。",
  duplicate_call: "此操作被重复请求，仅处理一次。",
  idempotency_conflict: "无法确认此操作的状态，需要人工处理。",
  unsafe_output: "已拦截不安全的内容。",
  authentication: "服务不可用。",
  quota_exhausted: "服务的额度已用完，请改日再试。",
  model_not_found: "服务配置有误：未找到所需的模型。",
  invalid_request: "服务无法处理此请求，请换一种说法。",
  budget_exceeded: "此操作超出了限额，已停止。",
  not_run: "此操作未执行。",
  execution_error: "出现问题，请稍后再试。"
}

/**
 * The languages that there are, by tag of the language (BCP 47).
 *
 * @category services
 * @since 0.2.0
 */
export const Catalogue: Context.Reference<Readonly<Record<string, Texts>>> = Context.Reference<
  Readonly<Record<string, Texts>>
>("@recourse/core/Catalogue", { defaultValue: () => ({ en, zh }) })

/**
 * The language of the user, as a tag such as `zh-CN`. Default: `en`.
 *
 * @category services
 * @since 0.2.0
 */
export const Locale: Context.Reference<string> = Context.Reference<string>("@recourse/core/Catalogue/Locale", {
  defaultValue: () => "en"
})

/**
 * A layer that sets the user's language.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerLocale = (locale: string): Layer.Layer<never> => Layer.succeed(Locale, locale)

/** Own property of a record by name: codes and languages are untrusted input. */
const own = <A>(entries: Readonly<Record<string, A>>, name: string): A | undefined =>
  Object.hasOwn(entries, name) ? entries[name] : undefined

/**
 * The entry for a language: its own, else its language without region, else English.
 *
 * @category getters
 * @since 0.2.0
 */
export const pick = <A>(entries: Readonly<Record<string, A>>, locale: string): A | undefined =>
  own(entries, locale) ?? own(entries, locale.split("-")[0]!) ?? own(entries, "en")

/**
 * The sentence for a code.
 *
 * **Example** (In Chinese)
 *
 * ```ts
 * import { Catalogue } from "@recourse/core"
 *
 * Catalogue.text({ en: Catalogue.en, zh: Catalogue.zh }, "zh-CN", "timeout") // => "服务暂时响应缓慢，请稍后再试。"
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const text = (catalogue: Readonly<Record<string, Texts>>, locale: string, code: string): string => {
  const texts = pick(catalogue, locale) ?? en
  return own(texts, code) ?? texts.execution_error
}
