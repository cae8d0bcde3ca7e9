/**
 * The rules of `Redaction`: formats of secrets, private addresses, SQL, stack traces, private paths.
 *
 * A rule takes time in proportion to the text: a part of a pattern that repeats without a bound either ends the pattern
 * or is followed by text that it cannot match itself. It starts at a position that no part before it could match. One
 * table, and so a long file.
 */
/* oxlint-disable max-lines -- one table of rules, whose patterns share their parts */

/**
 * A redaction rule: all matches of `pattern` are removed, if `when` agrees.
 *
 * @category models
 * @since 0.2.0
 */
export interface Rule {
  /** The replacement in the text. */
  readonly kind: string
  readonly pattern: RegExp
  readonly when?: (match: string) => boolean
}

// --- values that look random ----------------------------------------------------------------------------------------

/**
 * Bits of entropy for each character of a text (Shannon).
 *
 * @category getters
 * @since 0.2.0
 */
export const entropy = (text: string): number => {
  const counts = new Map<string, number>()
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

const hasLetterAndDigit = (text: string): boolean => /\d/.test(text) && /[a-z]/i.test(text)

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi

/**
 * True if letters and digits are mixed as in no usual name: not words with numbers (`utf8ToBase64`), a number with a
 * unit (`10px`), a date with a time, a commit (40 hexadecimal digits, or the first 12 of them).
 */
const isMixed = (part: string): boolean =>
  hasLetterAndDigit(part) &&
  !/^[a-z]*\d{0,4}(?:[A-Z][a-z]+\d{0,4})*$/.test(part) &&
  !/^(?:[a-z]+\d{1,4}|\d+[a-z]{1,3}|\d+T\d+Z?|[0-9a-f]{1,12}|[0-9a-f]{40})$/i.test(part)

/**
 * True if a run of characters looks like a key: long, with a digit, random, and not made of names and numbers. 16
 * characters and 3.3 bits are the thresholds that redact the most keys with the least harm to other text.
 */
const looksRandom = (run: string): boolean => {
  const text = run.replace(uuid, "").replace(/%[0-9a-f]{2}/gi, "-")
  if (text.length < 16 || !hasLetterAndDigit(text) || /^sha\d{1,3}-/i.test(text)) return false
  const mixed = text.split(/[^a-z0-9]/i).filter(isMixed)
  return mixed.reduce((length, part) => length + part.length, 0) >= 6 &&
    entropy(text) > (/^[0-9a-f]+$/i.test(text) ? 3 : 3.3)
}

// --- values with secret names ---------------------------------------------------------------------------------------

/** Names whose values are secret, whatever they look like. */
const secretNames =
  "pass(?:word|wd|phrase|code|wort)|pwd|contrase[nñ]a|senha|mot[_-]?de[_-]?passe|wachtwoord|пароль|密码|密碼|口令|密钥|パスワード|비밀번호|" +
  "(?:api|access|account|auth|secret|private|priv|signing|encryption|decryption|master|shared[_-]?access|subscription|license)[_-]?key|" +
  "(?:client|shared|app|consumer|api|webhook|hmac|jwt|cookie|auth|signing|encryption)[_-]?secret|" +
  "(?:auth|access|refresh|id|session|bearer|api|bot|security|deploy|private|account|registry|csrf|xsrf)[_-]?token"

/** A name that ends in token. The token of a page or of a list is an argument of the next call. */
const tokenName = "token(?<!(?:page|next|continuation|sync|cursor|pagination)[_-]?token)"

/** Names whose values may be secret: only those are that look so. Names that end in token or secret may have any beginning. */
const mayBeSecret = `${tokenName}|secret|(?:service|db|database|client|admin)[_-]?key|` +
  "(?<![a-z])(?:pass|auth|authorization|credentials?|sig(?:nature)?|session(?:[_-]?id)?|(?:db|admin|root|user)[_-]?pw|mdp)"

/** Ends of names that follow a word for a secret. */
const nameEnds = "s?(?:[_-](?:secure|prod|production|staging|dev|test|new|old|default|plain|raw|value))?"

/** Beginnings of names that end in key and name no secret, and words that end in key. */
const otherKeys =
  "primary|foreign|public|pub|partition|sort|cache|idempotency|row|range|hash|index|unique|dedup(?:lication)?|object|storage|" +
  "bucket|file|map|composite|candidate|lookup|join|group|order|routing|message|event|query|state|i18n|translation|locale|" +
  "issue|project|feature|flag|shift|ctrl|alt|hot|any|mon|tur|hoc|don|joc|whis"

/** A name that ends in key, and is more than that word. */
const keyName = `(?<=[a-z0-9_-])key(?<!(?:${otherKeys})[_-]?key)`

/** A quote in text, in JSON, and in JSON within a string. */
const quote = String.raw`\\{0,3}["'\x60]`

const endOfName = String.raw`(?:${quote})?\]?\s{0,5}`

/** An operator that gives a name a value, and a mark of the language before a quoted value, as in `= @"…"`. */
const assignment = endOfName +
  String.raw`(?::=|=>|<-(?=\s{0,5}["'])|(?:\.|\+|\|\||\?\??)?=|[:\uff1a]|%3[AD])\s{0,5}(?:(?:@|[bfru]{1,2})(?=["']))?`

/** An operator that compares a name with a value, or a call with a value. */
const comparison = endOfName + String.raw`(?:[=!]==?|\(|\?)\s{0,5}@?`

const value = String.raw`(?:${quote})?(?:[^\s"'\x60,;&<>\\]|\\(?!["'])|>(?=[^\s"'\x60,;&<>\\]))+`

const quoted = String.raw`"[^"\\\n]{1,500}"|'[^'\\\n]{1,500}'`

/** A placeholder of a value. */
const placeholder =
  /^(?:\[redacted|[*x.•…]+$|[$%]?[{<(]|(?:process|import|config|env|os|self|this|args|params)\.|(?:null|none|nil|true|false|undefined|required|optional|missing|invalid|expired|incorrect|wrong|empty|unknown|must|should|is|are|was|the|a|an|not|no|your|any|string|number|boolean|text|hidden|redacted|enabled|disabled|changed|reset)\b)/i

const assigned = (match: string): string =>
  match.slice(match.search(/[:=：]|<-|%3[AD]/i) + 1).replace(
    /^(?:[=>-]|3[AD])?\s*(?:(?:@|[bfru]{1,2})(?=["']))?[\\"'`]*/,
    ""
  )
    .replace(/[\\"'`]+$/, "")

const isSecretValue = (match: string): boolean => {
  const text = assigned(match)
  if (text.length < 3 || placeholder.test(text)) return false
  // Behind a colon and a space, a word is more often a sentence than a password.
  return !/:\s+[a-z]+[.!?]?$/i.test(match) || !/^(?:[a-z]{1,7}|[A-Z][a-z]+)[.!?]?$/.test(text)
}

const looksSecret = (text: string): boolean =>
  text.length >= 7 && !placeholder.test(text) &&
  (hasLetterAndDigit(text) || /^\d{6,}$|^[A-Za-z]{24,}$/.test(text) ||
    (text.length >= 8 && /[a-z][A-Z]|[A-Za-z]=+$|[A-Za-z][^\s/:]*[!#$%^*{}~]/.test(text)))

/** True for a quoted text in a comparison or a call that looks like a password: letters and digits, with a sign or in both cases. */
const looksLikePassword = (match: string): boolean => {
  const text = match.slice(match.search(/["']/) + 1, -1)
  if (text.length < 8 || !/^[^\s/.:]+$/.test(text) || placeholder.test(text)) return false
  return hasLetterAndDigit(text)
    ? /[!#$%&*@^{}~]/.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text))
    : /[a-z].*[!#$%^*{}~].*[!#$%^*{}~]/i.test(text)
}

/** Behind a name that ends in key: hexadecimal digits, a UUID, or letters and digits that are no words with numbers. */
const looksLikeKey = (text: string): boolean =>
  text.length >= 10 && /^[\w+/=~-]+$/.test(text) && !placeholder.test(text) &&
  (/^[0-9a-f]{16,}$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^[a-z]{24,}$/i.test(text) ||
    text.split(/[^a-z0-9]/i).some((part) => part.length >= 8 && isMixed(part)))

/** Usual placeholders of tokens in guides and messages. */
const tokenPlaceholder =
  /^(?:your|my|the|some|this)?[_-]?(?:access|auth|api|jwt|id|bearer)?[_-]?(?:tokens?|keys?|auth\w*|credentials?|scheme|header|realm)(?![a-z0-9])/i

/** True for a text behind `Authorization` and a scheme that is no placeholder. */
const isAuthorization = (match: string): boolean => {
  const text = match.replace(/^[a-z-]+(?:\s|%20|\+)+/i, "")
  return !placeholder.test(text) && !tokenPlaceholder.test(text)
}

const lastWord = (match: string): string => match.slice(match.search(/\S+$/)).replace(/^["']/, "")

/** True for a text behind a scheme of authentication that is no word. */
const isCredential = (match: string): boolean => {
  const text = match.slice(match.search(/\s/))
  return hasLetterAndDigit(text) || /[a-z][A-Z]|=/.test(text)
}

/** A rule whose pattern is compiled at its first use: most programs load it and redact later, or never. */
const late = (kind: string, source: string, flags: string, when?: (match: string) => boolean): Rule => {
  let pattern: RegExp | undefined
  return {
    kind,
    get pattern() {
      return pattern ??= new RegExp(source, flags)
    },
    ...(when === undefined ? undefined : { when })
  }
}

// Prefixes are looked for behind anything but a letter or a digit: `x_ghp_…` is a token as well.
const prefixed = (kind: string, pattern: string, when?: (match: string) => boolean): Rule =>
  late(kind, `(?<![A-Za-z0-9])(?:${pattern})`, "g", when)

/**
 * Token formats as their issuers document them and secret scanners look for them, values whose names call them secret, and
 * a rule by entropy. Each takes time in proportion to the text: a pattern never fails behind a part without a bound.
 *
 * @category constants
 * @since 0.2.0
 */
export const secrets: ReadonlyArray<Rule> = [
  {
    kind: "private key",
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g
  },
  prefixed("private key", "AGE-SECRET-KEY-1[0-9A-Z]{58}"),
  {
    kind: "credentials",
    pattern:
      /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{0,200}:(?!\d{1,5}\/)(?:[^\s/@]|\/(?!\/)){1,200}@[^\s"')]*/gi
  },
  { kind: "credentials", pattern: /(?<=\s)(?:-u|--user)[ =]{1,3}["']?[^\s:"']{1,100}:[^\s"']{3,}/g },
  prefixed("token", String.raw`eyJ[\w-]{8,}(?:\.[\w-]*){0,4}`, (match) => match.includes(".")),
  { kind: "cookie", pattern: /\b(?:set-)?cookie["']?\s{0,3}[:=]\s{0,3}["']?[^\s=;"']{1,100}=[^\r\n"']+/gi },
  late(
    "token",
    String.raw`(?<=authorization(?:${quote})?\s{0,3}[:=,]\s{0,3}(?:${quote})?)` +
      String.raw`(?:bearer|basic|token|negotiate|api-?key)(?:\s|%20|\+){1,5}[^\s"'\x60,;&<>\\]{3,}`,
    "gi",
    isAuthorization
  ),
  {
    kind: "token",
    pattern: /(?<![A-Za-z])(?:bearer|basic|token|digest|negotiate|apikey)\s{1,5}[\w.~+/:-]{8,}=*/gi,
    when: isCredential
  },
  prefixed("aws key", "(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])"),
  prefixed("github token", String.raw`gh[pousr]_[0-9A-Za-z]{36,}|github_pat_\w{22,}`),
  prefixed("gitlab token", String.raw`gl(?:pat|dt|rt|ptt|soat|cbt|agent|ft|imt|oas|ffct)-[\w-]{20,}`),
  prefixed("slack token", String.raw`x(?:ox[abceoprs]|app)-[\w-]{10,}`),
  {
    kind: "webhook",
    pattern:
      /https:\/\/hooks\.slack\.com\/[\w/]+|https:\/\/(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/[\w/-]+/g
  },
  prefixed(
    "token",
    String
      .raw`(?:gsk|xai|pcsk|tvly|nvapi|nfp|fo1|pnu|gls?[ac]|sgp|tfp|aio|p8e|napi|phx|figd|ntn|lin_api|shp(?:at|ss|ca|pa)|` +
      String.raw`do[opr]_v1|mdb_sa_sk|xkeysib|sntry[us]|tskey-(?:auth|api))[_-][\w+/=-]{24,}`
  ),
  prefixed("stripe key", "(?:sk|rk|whsec)_(?:test_|live_|prod_)?[0-9A-Za-z]{16,}"),
  prefixed("api key", String.raw`sk-[\w-]{16,}`),
  prefixed("google key", String.raw`AIza[\w-]{35}|GOCSPX-[\w-]{20,}|1\/\/0[\w-]{20,}`),
  prefixed("google token", String.raw`ya29\.[\w-]{20,}`),
  prefixed("azure secret", String.raw`[\w~.]{3}\dQ~[\w~.-]{31,}`),
  prefixed("alibaba key", "LTAI[A-Za-z0-9]{12,}"),
  prefixed("atlassian token", String.raw`AT(?:ATT|CTT|BB)[\w=-]{20,}`),
  prefixed(
    "token",
    String.raw`dckr_[a-z]{3}_[\w-]{20,}|(?:pul-|sbp_|sq[uap]_|snyk_|rubygems_|bkua_|shippo_(?:live|test)_)[0-9a-f]{40,}`
  ),
  prefixed(
    "token",
    String.raw`HRKU-[\w-]{30,}|FLWSECK(?:_TEST)?-[\w-]{12,}|amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|` +
      String.raw`sm_[aps]at_[0-9A-Za-z]{16}(?![0-9A-Za-z])|pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}|` +
      String.raw`\d\/\d{16}(?:\/\d{16})?:[0-9a-f]{32}|00D[0-9A-Za-z]{12}![\w.]{80,}`
  ),
  prefixed(
    "token",
    "(?:fw_[0-9A-Za-z]{22,24}|re_[0-9A-Za-z]{8}_[0-9A-Za-z]{24})(?![0-9A-Za-z_])",
    (match) => /\d|[a-z][A-Z]/.test(match)
  ),
  prefixed("token", String.raw`access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}`),
  prefixed("token", String.raw`[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.[0-9A-Za-z]{20}`),
  prefixed("token", "(?:pat-[a-z]{2}[0-9]|sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
  prefixed("password hash", String.raw`\$(?:[1567y]|2[abxy]|apr1|argon2(?:id|i|d)|scrypt)\$[\w./$=,+-]{20,}`),
  prefixed("npm token", "npm_[0-9A-Za-z]{36}"),
  prefixed("pypi token", String.raw`pypi-[\w-]{50,}`),
  prefixed("hugging face token", "(?:hf|api_org)_[A-Za-z]{30,}"),
  prefixed("sendgrid key", String.raw`SG\.[\w-]{16,}(?:\.[\w-]{16,})?`),
  prefixed("telegram token", String.raw`\d{8,10}:AA[\w-]{33}`),
  prefixed("discord token", String.raw`[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}`),
  prefixed("vault token", String.raw`hv[sbr]\.[\w-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}`),
  prefixed(
    "token",
    String
      .raw`dp\.(?:pt|st|ct|sa|scim|audit)\.[\w-]{20,}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{20,}|pat\w{14}\.[0-9a-f]{64}`
  ),
  late("secret", String.raw`(?:${secretNames})${nameEnds}${assignment}(?:${quoted}|${value})`, "gi", isSecretValue),
  late(
    "secret",
    String.raw`(?:${secretNames}|${mayBeSecret})${nameEnds}${comparison}(?:${quoted})`,
    "gi",
    looksLikePassword
  ),
  late(
    "secret",
    String.raw`(?:${mayBeSecret})${assignment}(?:${quoted}|${value})`,
    "gi",
    (match) => looksSecret(assigned(match))
  ),
  late(
    "secret",
    String.raw`${keyName}${assignment}(?:${quoted}|${value})`,
    "gi",
    (match) => looksLikeKey(assigned(match))
  ),
  // A name in one field, and its value in the next.
  late(
    "secret",
    String.raw`(?:${secretNames}|${tokenName}|secret|${keyName})(?:${quote})?[\s,]{1,10}` +
      String.raw`(?:${quote})?value(?:${quote})?\s{0,5}[:=]\s{0,5}(?:${quoted}|${value})`,
    "gi",
    (match) => looksSecret(assigned(match))
  ),
  {
    kind: "secret",
    pattern: /(?<=\s)--[\w-]{0,40}?(?:token|secret|password|passphrase|key)\s{1,3}["']?[^\s"'<>$-][^\s"'<>]{5,}/gi,
    when: (match) => looksSecret(lastWord(match))
  },
  late(
    "secret",
    String.raw`(?:${secretNames}|secret|token)(?:\s(?:is|was)\s{1,3}|\s{1,3}(?=\S*\d))["'\x60]?[^\s"'\x60,;<>]{6,}`,
    "gi",
    (match) => hasLetterAndDigit(match.slice(match.lastIndexOf(" ")))
  ),
  late("secret", String.raw`<[\w:-]{0,40}?(?:${secretNames}|secret|token)${nameEnds}>[^<\s]{3,}`, "gi"),
  late(
    "secret",
    String.raw`<[\w:-]{0,40}?(?:${mayBeSecret})>[^<\s]{7,}`,
    "gi",
    (match) => looksSecret(match.slice(match.indexOf(">") + 1))
  ),
  { kind: "secret", pattern: /(?<![\w+/%-])(?<!sha\d{1,3}:)[\w+/%-]{16,}={0,2}/gi, when: looksRandom }
]

/**
 * Addresses that only the inside knows: RFC 1918, RFC 4193, loopback, link local, and names that end like them.
 *
 * @category constants
 * @since 0.2.0
 */
export const privateAddresses: ReadonlyArray<Rule> = [
  {
    kind: "address",
    pattern:
      /\b(?:10|127)(?:\.\d{1,3}){3}(?::\d+)?\b|\b(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}(?::\d+)?\b/g
  },
  { kind: "address", pattern: /\bf[cde][0-9a-f]{2}:[0-9a-f:]{2,}/gi },
  { kind: "address", pattern: /(?<![\w:])::1\b/g },
  { kind: "address", pattern: /\blocalhost(?::\d+)?\b/gi },
  {
    kind: "address",
    pattern: /(?<![a-z0-9.-])(?:[a-z0-9-]{1,63}\.){1,8}(?:internal|local|intranet|corp|lan|svc)\b(?::\d+)?/gi
  }
]

/** A table, and an alias for it; no article, as in "select a date from the calendar". */
const table = String.raw`(?!(?:the|a|an|your|my|our|this|that|these|those|it|them)\b)[\w."\x60[\]]{1,200}`
const alias = String.raw`(?:\s{1,5}(?:as\s{1,5})?(?!as\b)\w{1,60})?`
const clause =
  "where|join|inner|left|right|full|cross|natural|order|group|having|limit|union|from|set|values|on|and|or|when|then|using|returning|select"
/** To the end of the statement: its line and its continuation lines. */
const rest = String.raw`[^\n;]*(?:\n[ \t]*(?:(?:${clause})\b|[(),])[^\n;]*)*`

const statement = (start: string): Rule => ({
  kind: "sql",
  pattern: new RegExp(String.raw`\b(?:${start})${rest}`, "gi")
})

/**
 * Statements of SQL.
 *
 * @category constants
 * @since 0.2.0
 */
export const sql: ReadonlyArray<Rule> = [
  statement(String.raw`select\s[^;]{1,400}?\sfrom\s{1,20}${table}(?=\s*$|\s*;|${alias}\s{1,20}(?:${clause})\b)`),
  statement(
    String
      .raw`insert\s{1,5}into\s{1,5}${table}\s{0,5}(?:\(|values\b|select\b)|update\s{1,5}${table}${alias}\s{1,5}set\s|delete\s{1,5}from\s{1,5}${table}|` +
      String.raw`merge\s{1,5}(?:into\s{1,5})?${table}${alias}\s{1,5}using\s[^;]{1,300}?\son\b|` +
      String.raw`(?:create|drop|alter|truncate)\s{1,5}(?:table|index|view|database|schema)\s{1,5}${table}`
  )
]

/**
 * Frames of stack traces: JavaScript, Python, Java.
 *
 * @category constants
 * @since 0.2.0
 */
export const stackTraces: ReadonlyArray<Rule> = [
  {
    kind: "stack",
    pattern: /^[ \t]{0,40}at[ \t]{1,5}(?!\d)\S[^\n]*/gm,
    when: (line) => /:\d+\)?\s*$|[\w$>]\s?\([^()]*\)\s*$|<anonymous>|^\s+at async /.test(line)
  },
  {
    kind: "stack",
    pattern: /\bat\s(?:async\s)?(?:[\w$.<>[\]]{1,80}\s){0,3}\(?[^\s()]{1,300}:\d+:\d+\)?/g,
    // "at 10:34:27" is a time.
    when: (frame) => /[/\\(<]|\.\w+:\d+:\d/.test(frame)
  },
  { kind: "stack", pattern: /^[ \t]{0,40}File "[^"\n]{1,500}", line \d[^\n]*/gm },
  { kind: "stack", pattern: /^Traceback \(most recent call last\):$/gm }
]

/**
 * Paths that name a person or lead to a secret: home directories, mounted secrets, the system's accounts.
 *
 * @category constants
 * @since 0.2.0
 */
export const privatePaths: ReadonlyArray<Rule> = [
  { kind: "path", pattern: /(?<![\w./])(?:\/home\/[\w.-]{1,100}|\/Users\/[\w.-]{1,100}|\/root|~)\/[\w.@~+/-]*/g },
  {
    kind: "path",
    pattern:
      /(?<![\w.])\/(?:var\/)?run\/secrets\/[\w.@~+/-]*|(?<![\w.])\/etc\/(?:passwd|shadow|ssl\/private|kubernetes)[\w.@~+/-]*|(?<![\w.])\/proc\/[\w.@~+/-]+/g
  },
  { kind: "path", pattern: /\b[a-z]:\\{1,2}Users\\[^\s"'<>|]+/gi }
]

/**
 * All absolute paths of files. Not among {@link rules}, because a path is often the answer.
 *
 * @category constants
 * @since 0.2.0
 */
export const filePaths: ReadonlyArray<Rule> = [
  { kind: "path", pattern: /\bfile:\/\/[^\s"')]+/gi },
  { kind: "path", pattern: /(?<![\w/:.])\/(?:[\w.@~+-]+\/)+[\w.@~+-]*/g },
  { kind: "path", pattern: /\b[a-z]:\\[^\s"'<>|]+/gi },
  { kind: "path", pattern: /\\\\[\w.-]+\\[^\s"'<>|]+/g }
]

/**
 * The rules that apply unless others are given, in their order.
 *
 * @category constants
 * @since 0.2.0
 */
export const rules: ReadonlyArray<Rule> = [...stackTraces, ...secrets, ...sql, ...privateAddresses, ...privatePaths]
