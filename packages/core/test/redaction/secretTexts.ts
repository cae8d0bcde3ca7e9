/**
 * Secrets in the formats of their issuers, in their usual places. A seeded generator makes the values: no text is a
 * real secret, and each run has the same texts.
 */
import { seeded } from "../support/seeded.ts"

/** A generator of numbers below `n`, the same for the same seed. */
export const random = (seed: number): (n: number) => number => {
  const next = seeded(seed)
  return (n) => next() % n
}

type Next = ReturnType<typeof random>

const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
const lower = upper.toLowerCase()
const digits = "0123456789"
const alphanumeric = upper + lower + digits
const base64 = `${alphanumeric}+/`
const base64url = `${alphanumeric}-_`
const hex = `${digits}abcdef`

const chars = (next: Next, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[next(alphabet.length)]).join("")

const uuid = (next: Next): string => [8, 4, 4, 4, 12].map((length) => chars(next, hex, length)).join("-")

const encoded = (text: string): string => Buffer.from(text).toString("base64")

const jwt = (next: Next): string =>
  [
    Buffer.from(JSON.stringify({ alg: "HS256", typ: "JWT" })).toString("base64url"),
    Buffer.from(JSON.stringify({ sub: chars(next, digits, 8), iat: 1_700_000_000 + next(1_000_000) })).toString(
      "base64url"
    ),
    chars(next, base64url, 43)
  ].join(".")

const words = ["correct", "horse", "battery", "staple", "summer", "winter", "dragon", "monkey", "letmein", "hunter"]
const word = (next: Next): string => words[next(words.length)]!

/** A password as people choose them: a word and a number, with a sign. */
const password = (next: Next): string =>
  [
    `${word(next)}${next(9000) + 1000}`,
    `${upper[next(26)]}${word(next)}${next(90) + 10}!`,
    `${word(next)}-${word(next)}-${next(90) + 10}`
  ][next(3)]!

/** A secret, and the part of it that must not be seen. */
type Format = (next: Next) => string

/** Keys and tokens with an identifying prefix. */
const prefixed: Record<string, Format> = {
  "AWS access key id": (next) => `${["AKIA", "ASIA"][next(2)]}${chars(next, `${upper}234567`, 16)}`,
  "AWS Bedrock key": (next) => `ABSK${chars(next, base64, 128)}`,
  "Azure client secret": (next) => `${chars(next, alphanumeric, 3)}8Q~${chars(next, `${alphanumeric}_~.-`, 34)}`,
  "Alibaba access key id": (next) => `LTAI${chars(next, alphanumeric, 20)}`,
  "Google API key": (next) => `AIza${chars(next, base64url, 35)}`,
  "Google access token": (next) => `ya29.${chars(next, base64url, 120)}`,
  "Google client secret": (next) => `GOCSPX-${chars(next, base64url, 28)}`,
  "Google refresh token": (next) => `1//0${chars(next, base64url, 90)}`,
  "GitHub token": (next) => `gh${"pousr"[next(5)]}_${chars(next, alphanumeric, 36)}`,
  "GitHub fine-grained token": (next) => `github_pat_${chars(next, alphanumeric, 22)}_${chars(next, alphanumeric, 59)}`,
  "GitLab token": (next) => `gl${["pat", "dt", "rt", "ptt"][next(4)]}-${chars(next, base64url, 20)}`,
  "Atlassian token": (next) => `ATATT3${chars(next, `${base64url}=`, 186)}`,
  "Bitbucket app password": (next) => `ATBB${chars(next, alphanumeric, 32)}`,
  "Slack bot token": (next) =>
    `xoxb-${chars(next, digits, 12)}-${chars(next, digits, 13)}-${chars(next, alphanumeric, 24)}`,
  "Slack app token": (next) =>
    `xapp-1-${chars(next, upper + digits, 11)}-${chars(next, digits, 13)}-${chars(next, hex, 64)}`,
  "Slack webhook": (next) =>
    `https://hooks.slack.com/services/T${chars(next, upper + digits, 8)}/B${chars(next, upper + digits, 8)}/${
      chars(next, alphanumeric, 24)
    }`,
  "Discord webhook": (next) =>
    `https://discord.com/api/webhooks/${chars(next, digits, 18)}/${chars(next, base64url, 68)}`,
  "Discord token": (next) =>
    `M${chars(next, alphanumeric, 23)}.${chars(next, base64url, 6)}.${chars(next, base64url, 27)}`,
  "Stripe key": (next) => `${["sk", "rk"][next(2)]}_${["live", "test"][next(2)]}_${chars(next, alphanumeric, 24)}`,
  "Stripe webhook secret": (next) => `whsec_${chars(next, alphanumeric, 32)}`,
  "OpenAI key": (next) => `sk-proj-${chars(next, base64url, 74)}`,
  "Anthropic key": (next) => `sk-ant-api03-${chars(next, base64url, 93)}AA`,
  "Groq key": (next) => `gsk_${chars(next, alphanumeric, 52)}`,
  "Hugging Face token": (next) => `hf_${chars(next, upper + lower, 34)}`,
  "Replicate token": (next) => `r8_${chars(next, alphanumeric, 37)}`,
  "Perplexity key": (next) => `pplx-${chars(next, alphanumeric, 48)}`,
  "npm token": (next) => `npm_${chars(next, alphanumeric, 36)}`,
  "PyPI token": (next) => `pypi-AgEIcHlwaS5vcmc${chars(next, base64url, 130)}`,
  "RubyGems key": (next) => `rubygems_${chars(next, hex, 48)}`,
  "Docker token": (next) => `dckr_pat_${chars(next, base64url, 27)}`,
  "SendGrid key": (next) => `SG.${chars(next, base64url, 22)}.${chars(next, base64url, 43)}`,
  "Mailgun key": (next) => `key-${chars(next, hex, 32)}`,
  "Mailchimp key": (next) => `${chars(next, hex, 32)}-us${next(20) + 1}`,
  "Twilio key": (next) => `SK${chars(next, hex, 32)}`,
  "Telegram token": (next) => `${chars(next, "123456789", 10)}:AA${chars(next, base64url, 33)}`,
  "Databricks token": (next) => `dapi${chars(next, hex, 32)}`,
  "DigitalOcean token": (next) => `dop_v1_${chars(next, hex, 64)}`,
  "Vault token": (next) => `hvs.${chars(next, base64url, 90)}`,
  "Terraform token": (next) => `${chars(next, alphanumeric, 14)}.atlasv1.${chars(next, base64url, 67)}`,
  "Doppler token": (next) => `dp.pt.${chars(next, alphanumeric, 43)}`,
  "Pulumi token": (next) => `pul-${chars(next, hex, 40)}`,
  "Grafana token": (next) => `glsa_${chars(next, alphanumeric, 32)}_${chars(next, hex, 8)}`,
  "New Relic key": (next) => `NRAK-${chars(next, upper + digits, 27)}`,
  "Sentry token": (next) => `sntryu_${chars(next, hex, 64)}`,
  "PlanetScale token": (next) => `pscale_tkn_${chars(next, base64url, 43)}`,
  "Supabase token": (next) => `sbp_${chars(next, hex, 40)}`,
  "Linear key": (next) => `lin_api_${chars(next, alphanumeric, 40)}`,
  "Notion token": (next) => `ntn_${chars(next, alphanumeric, 46)}`,
  "Airtable token": (next) => `pat${chars(next, alphanumeric, 14)}.${chars(next, hex, 64)}`,
  "Figma token": (next) => `figd_${chars(next, base64url, 40)}`,
  "Shopify token": (next) => `shpat_${chars(next, hex, 32)}`,
  "Square token": (next) => `sq0atp-${chars(next, base64url, 22)}`,
  "Facebook token": (next) => `EAA${chars(next, alphanumeric, 120)}`,
  "Postman key": (next) => `PMAK-${chars(next, hex, 24)}-${chars(next, hex, 34)}`,
  "Dynatrace token": (next) => `dt0c01.${chars(next, upper + digits, 24)}.${chars(next, upper + digits, 64)}`,
  "Artifactory key": (next) => `AKCp${chars(next, alphanumeric, 69)}`,
  "GitLab CI job token": (next) => `glcbt-${chars(next, hex, 2)}_${chars(next, base64url, 20)}`,
  "GitLab runner registration": (next) => `GR1348941${chars(next, base64url, 20)}`,
  "Slack rotating token": (next) => `xoxe.xoxp-1-${chars(next, alphanumeric, 163)}`,
  "OpenRouter key": (next) => `sk-or-v1-${chars(next, hex, 64)}`,
  "xAI key": (next) => `xai-${chars(next, alphanumeric, 80)}`,
  "Pinecone key": (next) => `pcsk_${chars(next, alphanumeric, 6)}_${chars(next, alphanumeric, 63)}`,
  "LangSmith key": (next) => `lsv2_pt_${chars(next, hex, 32)}_${chars(next, hex, 10)}`,
  "Tavily key": (next) => `tvly-dev-${chars(next, alphanumeric, 32)}`,
  "Resend key": (next) => `re_${chars(next, alphanumeric, 8)}_${chars(next, alphanumeric, 24)}`,
  "Square OAuth secret": (next) => `sq0csp-${chars(next, base64url, 43)}`,
  "PayPal token": (next) => `access_token$production$${chars(next, lower + digits, 16)}$${chars(next, hex, 32)}`,
  "Heroku key": (next) => `HRKU-AA${chars(next, base64url, 58)}`,
  "Fly token": (next) => `fo1_${chars(next, base64url, 43)}`,
  "Netlify token": (next) => `nfp_${chars(next, alphanumeric, 36)}`,
  "Prefect key": (next) => `pnu_${chars(next, lower + digits, 36)}`,
  "Buildkite token": (next) => `bkua_${chars(next, hex, 40)}`,
  "Clojars token": (next) => `CLOJARS_${chars(next, lower + digits, 60)}`,
  "EasyPost key": (next) => `EZAK${chars(next, lower + digits, 54)}`,
  "Flutterwave key": (next) => `FLWSECK_TEST-${chars(next, "abcdefgh12345", 32)}-X`,
  "Frame.io token": (next) => `fio-u-${chars(next, base64url, 64)}`,
  "Harness token": (next) =>
    `pat.${chars(next, alphanumeric, 22)}.${chars(next, hex, 24)}.${chars(next, alphanumeric, 20)}`,
  "Mapbox secret token": (next) => `sk.eyJ${chars(next, alphanumeric, 60)}.${chars(next, base64url, 22)}`,
  "OpenShift token": (next) => `sha256~${chars(next, base64url, 43)}`,
  "Okta token": (next) => `00${chars(next, base64url, 40)}`,
  "Brevo key": (next) => `xkeysib-${chars(next, hex, 64)}-${chars(next, alphanumeric, 16)}`,
  "Shippo token": (next) => `shippo_live_${chars(next, hex, 40)}`,
  "Sourcegraph token": (next) => `sgp_${chars(next, hex, 16)}_${chars(next, hex, 40)}`,
  "Typeform token": (next) => `tfp_${chars(next, base64url, 59)}`,
  "Adafruit key": (next) => `aio_${chars(next, alphanumeric, 28)}`,
  "Adobe secret": (next) => `p8e-${chars(next, lower + digits, 32)}`,
  "Dropbox token": (next) => `sl.${chars(next, base64url, 130)}`,
  "HubSpot token": (next) => `pat-na1-${uuid(next)}`,
  "LaunchDarkly key": (next) => `sdk-${uuid(next)}`,
  "Grafana cloud token": (next) => `glc_${chars(next, base64, 60)}`,
  "NuGet key": (next) => `oy2${chars(next, `${lower}234567`, 43)}`,
  "PlanetScale password": (next) => `pscale_pw_${chars(next, base64url, 43)}`,
  "Tailscale key": (next) => `tskey-auth-k${chars(next, alphanumeric, 11)}CNTRL-${chars(next, alphanumeric, 32)}`,
  "Trello token": (next) => `ATTA${chars(next, hex, 64)}`,
  "1Password token": (next) => `ops_eyJ${chars(next, base64url, 250)}`,
  "MongoDB Atlas secret": (next) => `mdb_sa_sk_${chars(next, base64url, 40)}`,
  "Neon key": (next) => `napi_${chars(next, lower + digits, 64)}`,
  "PostHog key": (next) => `phx_${chars(next, alphanumeric, 43)}`,
  "Checkly key": (next) => `cu_${chars(next, hex, 32)}`,
  "Vault batch token": (next) => `hvb.${chars(next, base64url, 138)}`,
  "Heroku key with a UUID": (next) => `HRKU-${uuid(next)}`,
  "Flutterwave encryption key": (next) => `FLWSECK_TEST-${chars(next, "abcdefgh12345", 12)}`,
  "Amazon MWS token": (next) => `amzn.mws.${uuid(next)}`,
  "SettleMint token": (next) => `sm_${"aps"[next(3)]}at_${chars(next, alphanumeric, 16)}`,
  "Fireworks key": (next) => `fw_${chars(next, alphanumeric, 22)}`,
  "PlanetScale OAuth token": (next) => `pscale_oauth_${chars(next, `${alphanumeric}=.-`, 43)}`,
  "1Password secret key": (next) =>
    `A3-${[6, 11, 5, 5, 5].map((length) => chars(next, upper + digits, length)).join("-")}`,
  "ClickHouse key": (next) => `4b1d${chars(next, alphanumeric, 38)}`,
  "MaxMind key": (next) => `${chars(next, alphanumeric, 6)}_${chars(next, alphanumeric, 29)}_mmk`,
  "Octopus key": (next) => `API-${chars(next, upper + digits, 26)}`,
  "Yandex key": (next) => `AQVN${chars(next, base64url, 36)}`,
  "Jina key": (next) => `jina_${chars(next, hex, 32)}${chars(next, base64url, 28)}`,
  "Supabase secret key": (next) => `sb_secret_${chars(next, base64url, 22)}_${chars(next, alphanumeric, 8)}`,
  "Intercom token": (next) => `dG9rO${chars(next, base64, 54)}=`,
  "Asana token": (next) => `2/${chars(next, digits, 16)}/${chars(next, digits, 16)}:${chars(next, hex, 32)}`,
  "Salesforce token": (next) => `00D${chars(next, alphanumeric, 12)}!${chars(next, `${alphanumeric}_.`, 96)}`,
  "bcrypt hash": (next) => `$2b$12$${chars(next, `${alphanumeric}./`, 53)}`,
  "SHA-512 crypt hash": (next) => `$6$${chars(next, alphanumeric, 8)}$${chars(next, `${alphanumeric}./`, 86)}`,
  "age key": (next) => `AGE-SECRET-KEY-1${chars(next, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)}`,
  "JSON Web Token": jwt
}

/** Keys without a prefix: only their look, or the text before them, identifies them. */
const bare: Record<string, Format> = {
  "AWS secret access key": (next) => chars(next, base64, 40),
  "Azure storage key": (next) => `${chars(next, base64, 86)}==`,
  "32 hexadecimal digits": (next) => chars(next, hex, 32),
  "64 hexadecimal digits": (next) => chars(next, hex, 64),
  "32 letters and digits": (next) => chars(next, alphanumeric, 32),
  "24 letters and digits": (next) => chars(next, alphanumeric, 24),
  "20 lower-case letters and digits": (next) => chars(next, lower + digits, 20)
}

/** Texts around a token that identify it. */
const places: ReadonlyArray<(secret: string) => string> = [
  (secret) => secret,
  (secret) => `the request used ${secret} and was refused`,
  (secret) => `{"value":"${secret}"}`,
  (secret) => `{\\"value\\":\\"${secret}\\"}`,
  (secret) => `export VALUE=${secret}`,
  (secret) => `- value: '${secret}'\n`,
  (secret) => `https://api.example.com/v1/items?value=${secret}&page=2`,
  (secret) => `<value>${secret}</value>`,
  (secret) => `Authorization: Bearer ${secret}`,
  (secret) => `[2026-11-21T10:00:00Z] ERROR 401 for "${secret}",\n  retrying`,
  (secret) => `(${secret})`,
  (secret) => `x_${secret}`,
  (secret) => `配置 ${secret} 无效`
]

/** Texts that name their value a secret. */
const named: ReadonlyArray<(secret: string) => string> = [
  (secret) => `API_KEY=${secret}`,
  (secret) => `"api_key": "${secret}"`,
  (secret) => `{\\"client_secret\\":\\"${secret}\\"}`,
  (secret) => `{"accessToken":"${secret}"}`,
  (secret) => `aws_secret_access_key = ${secret}`,
  (secret) => `DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=${secret};EndpointSuffix=core.windows.net`,
  (secret) => `curl -H "X-Api-Key: ${secret}" https://example.com`,
  (secret) => `refresh_token:\n  ${secret}`,
  (secret) => `secret-key => '${secret}'`,
  (secret) => `--api-key ${secret}`
]

/** Names that end in token, secret or key, for values without a format. */
const endings: ReadonlyArray<(secret: string) => string> = [
  (secret) => `STRIPE_KEY=${secret}`,
  (secret) => `export MAILGUN_SENDING_KEY='${secret}'`,
  (secret) => `"licenseKey": "${secret}"`,
  (secret) => `{\\"deployToken\\":\\"${secret}\\"}`,
  (secret) => `GRAFANA_TOKEN=${secret}`,
  (secret) => `slackToken: '${secret}',`,
  (secret) => `hmac_secret = "${secret}"`,
  (secret) => `jwtSecret: ${secret}`,
  (secret) => `NEXTAUTH_SECRET=${secret}\nPORT=3000`,
  (secret) => `  webhook-secret:\n    ${secret}`,
  (secret) => `https://maps.example.com/api?q=berlin&subscription-key=${secret}&v=2`,
  (secret) => `https://hooks.example.com/run?accountToken=${secret}#top`,
  (secret) => `X-Shop-Token: ${secret}`,
  (secret) => `curl -H 'Ocp-Apim-Subscription-Key: ${secret}' https://example.com`,
  (secret) => `<add key="MapsApiKey" value="${secret}" />`,
  (secret) => `- name: BILLING_TOKEN\n  value: "${secret}"`,
  (secret) => `{"name":"SIGNING_SECRET","value":"${secret}"}`,
  (secret) => `deploy --registry-token ${secret} --force`,
  (secret) => `config.cookie_secret = '${secret}'`,
  (secret) => `docker login --password-stdin <<< "$(echo REGISTRY_TOKEN=${secret})"`
]

/** Values without a format and without a look: letters and digits, letters only, a UUID, digits of a commit's length. */
const plain: Record<string, Format> = {
  "12 letters and digits": (next) => `${chars(next, lower, 5)}${next(90) + 10}${chars(next, lower, 5)}`,
  "16 letters": (next) => `${chars(next, lower, 7)}${chars(next, upper, 2)}${chars(next, lower, 7)}`,
  "28 lower-case letters": (next) => chars(next, lower, 28),
  "40 hexadecimal digits": (next) => chars(next, hex, 40),
  "a UUID": (next) => uuid(next)
}

/** Headers of authorization, whose values may be letters only. */
const authorization: ReadonlyArray<(secret: string) => string> = [
  (secret) => `Authorization: Bearer ${secret}`,
  (secret) => `authorization: bearer ${secret}`,
  (secret) => `Proxy-Authorization: Bearer ${secret}`,
  (secret) => `{"headers":{"Authorization":"Bearer ${secret}"}}`,
  (secret) => `{\\"authorization\\":\\"Token ${secret}\\"}`,
  (secret) => `{'Authorization': 'Bearer ${secret}'}`,
  (secret) => `curl -H "Authorization: Bearer ${secret}" https://example.com`,
  (secret) => `headers.set("Authorization", "Bearer ${secret}")`,
  (secret) => `GET /items?authorization=Bearer%20${secret}&page=2`,
  (secret) => `Authorization: ApiKey ${secret}`,
  (secret) => `the server refused Authorization: Bearer ${secret}, retrying`
]

const letters: Format = (next) => chars(next, lower, 8 + next(20))

/** Passwords without a format: only the text before them identifies them. */
const passwords: ReadonlyArray<(secret: string) => string> = [
  (secret) => `password=${secret}`,
  (secret) => `DB_PASSWORD="${secret}"`,
  (secret) => `{"user":"ada","password":"${secret}"}`,
  (secret) => `{\\"password\\":\\"${secret}\\"}`,
  (secret) => `{\\\\\\"password\\\\\\":\\\\\\"${secret}\\\\\\"}`,
  (secret) => `passwd: ${secret}`,
  (secret) => `postgres://root:${secret}@db.example.com:5432/crm`,
  (secret) => `mongodb+srv://app:${secret}@cluster0.example.net/?retryWrites=true`,
  (secret) => `redis://:${secret}@cache.example.com`,
  (secret) => `amqp://guest:${secret}@mq/vhost`,
  (secret) => `https://ada:${secret}@example.com/a.git`,
  (secret) => `Server=db;Database=crm;User Id=sa;Password=${secret};Encrypt=true`,
  (secret) => `<password>${secret}</password>`,
  (secret) => `mysql -u root --password=${secret} crm`,
  (secret) => `curl -u ada:${secret} https://example.com`,
  (secret) => `the password is ${secret}.`,
  (secret) => `PGPASSWORD=${secret} psql`,
  (secret) => `pwd := "${secret}"`
]

/** Operators of languages between a name and a quoted password, and the ends of tags. */
const operators: ReadonlyArray<(name: string, secret: string) => string> = [
  (name, secret) => `$${name} .= "${secret}";`,
  (name, secret) => `${name} += '${secret}'`,
  (name, secret) => `${name} ||= "${secret}"`,
  (name, secret) => `${name} ??= "${secret}"`,
  (name, secret) => `${name} ?= "${secret}"`,
  (name, secret) => `${name} <- "${secret}"`,
  (name, secret) => `NSString *${name} = @"${secret}";`,
  (name, secret) => `${name} = b'${secret}'`,
  (name, secret) => `settings["${name}"] = "${secret}"`,
  (name, secret) => `if (${name} == "${secret}") {`,
  (name, secret) => `assert ${name} != '${secret}'`,
  (name, secret) => `${name}("${secret}")`,
  (name, secret) => `${name}=${secret}>${secret}`,
  (name, secret) => `<${name}>${secret}</${name}>`
]

/** Names of passwords and keys, in several languages and with usual ends. */
const passwordNames = [
  "password",
  "api_key",
  "authKey",
  "priv_key",
  "db_key",
  "service_key",
  "client_key",
  "db_pass",
  "admin_pw",
  "contraseña",
  "senha",
  "mot_de_passe",
  "my_password_secure",
  "DB_PASSWORD_PROD",
  "credentials",
  "clientSecret"
]

/** A password of a generator: letters in both cases, digits and signs. */
const generated = (next: Next): string =>
  `${chars(next, upper, 2)}${chars(next, lower, 4)}${chars(next, digits, 2)}${chars(next, "!#$%*^~", 2)}${
    chars(next, lower, 2)
  }`

/** Headers that carry a secret. */
const headers: ReadonlyArray<(next: Next) => readonly [secret: string, text: string]> = [
  (next) => {
    const secret = encoded(`ada:${password(next)}`)
    return [secret, `Authorization: Basic ${secret}`]
  },
  (next) => {
    const secret = encoded(`ada:${password(next)}`)
    return [secret, `{"headers":{"authorization":"Basic ${secret}"}}`]
  },
  (next) => {
    const secret = chars(next, alphanumeric, 26)
    return [secret, `Cookie: theme=dark; sessionid=${secret}; lang=en`]
  },
  (next) => {
    const secret = chars(next, hex, 32)
    return [secret, `Set-Cookie: PHPSESSID=${secret}; Path=/; HttpOnly`]
  },
  (next) => {
    const secret = `s%3A${chars(next, base64url, 32)}.${chars(next, base64, 43)}`
    return [secret, `cookie: connect.sid=${secret}`]
  },
  (next) => {
    const secret = chars(next, base64, 64)
    return [
      secret,
      `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n${chars(next, base64, 64)}\n-----END RSA PRIVATE KEY-----`
    ]
  },
  (next) => {
    const secret = chars(next, base64, 70)
    return [secret, `"-----BEGIN OPENSSH PRIVATE KEY-----\\n${secret}\\n-----END OPENSSH PRIVATE KEY-----\\n"`]
  },
  (next) => {
    const secret = chars(next, base64, 64)
    return [secret, `-----BEGIN PRIVATE KEY-----\n${secret}\n(cut off)`]
  },
  (next) => {
    const secret = chars(next, alphanumeric, 43)
    return [secret, `https://a.blob.core.windows.net/c/f?sv=2024-01-01&sig=${secret}%3D&se=2026-01-01`]
  },
  (next) => {
    const secret = uuid(next)
    return [secret, `client_secret=${secret}&grant_type=client_credentials`]
  }
]

/** A text with a secret in it. */
export interface SecretText {
  readonly format: string
  readonly secret: string
  readonly text: string
}

/** The texts: every format in several places, every place with several values. */
export const secretTexts = (seed = 1): ReadonlyArray<SecretText> => {
  const next = random(seed)
  const texts: Array<SecretText> = []
  for (const [format, make] of Object.entries(prefixed)) {
    for (const [index, place] of places.entries()) {
      if (index > 0 && next(13) > 9) continue
      const secret = make(next)
      texts.push({ format, secret, text: place(secret) })
    }
    for (let i = 0; i < 3; i++) {
      const secret = make(next)
      texts.push({ format, secret, text: named[next(named.length)]!(secret) })
    }
  }
  for (const [format, make] of Object.entries(bare)) {
    for (const place of [...named, ...places]) {
      const secret = make(next)
      texts.push({ format, secret, text: place(secret) })
    }
  }
  for (const place of endings) {
    for (const [format, make] of Object.entries(plain)) {
      const secret = make(next)
      texts.push({ format, secret, text: place(secret) })
    }
  }
  for (const place of authorization) {
    for (let i = 0; i < 4; i++) {
      const secret = letters(next)
      texts.push({ format: "authorization", secret, text: place(secret) })
    }
  }
  for (const place of passwords) {
    for (let i = 0; i < 12; i++) {
      const secret = password(next)
      texts.push({ format: "password", secret, text: place(secret) })
    }
  }
  for (const place of operators) {
    for (const name of passwordNames) {
      const secret = generated(next)
      texts.push({ format: "operator", secret, text: place(name, secret) })
    }
  }
  for (const make of headers) {
    for (let i = 0; i < 12; i++) {
      const [secret, text] = make(next)
      texts.push({ format: "header", secret, text })
    }
  }
  // Of a webhook, the host is no secret.
  return texts.map((item) => ({ ...item, secret: item.secret.replace(/^https:\/\/[^/]+\//, "") }))
}

/** True if a text still shows eight characters of a secret, or half of a short one. */
export const shows = (text: string, secret: string): boolean => {
  const length = Math.min(8, Math.ceil(secret.length / 2))
  for (let i = 0; i + length <= secret.length; i++) {
    if (text.includes(secret.slice(i, i + length))) return true
  }
  return false
}
