/** Texts that hold no secret, of the kinds that tools say: names, numbers, paths, commits, sentences about secrets. */
import { random } from "./secretTexts.ts"

type Next = ReturnType<typeof random>

const hex = "0123456789abcdef"
const chars = (next: Next, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[next(alphabet.length)]).join("")
const number = (next: Next, length: number): string => chars(next, "123456789", length)
const oneOf = (next: Next, of: ReadonlyArray<string>): string => of[next(of.length)]!
const sha = (next: Next): string => chars(next, hex, 40)
const uuid = (next: Next): string => [8, 4, 4, 4, 12].map((length) => chars(next, hex, length)).join("-")
const names = ["ada", "grace", "linus", "margaret", "ken", "barbara"]
const things = ["order", "invoice", "customer", "report", "shipment", "ticket"]
const folders = ["srv", "data", "var", "exports", "archive", "public"]
const modules = ["parser", "scheduler", "renderer", "billing", "inventory", "notifications"]

const templates: ReadonlyArray<(next: Next) => string> = [
  // commits, versions, ids
  (next) => `Commit ${sha(next)} broke the build`,
  (next) => `https://github.com/acme/shop/commit/${sha(next)}`,
  (next) => `HEAD is now at ${chars(next, hex, 7)} Fix the ${oneOf(next, modules)}`,
  (next) => `git checkout -b fix-${oneOf(next, modules)}-${chars(next, hex, 8)}`,
  (next) => `image acme/shop@sha256:${chars(next, hex, 64)}`,
  (next) => `integrity: sha512-${Buffer.from(sha(next) + sha(next)).toString("base64")}`,
  (next) => `effect@4.${next(9)}.${next(20)}-beta.${next(200)}`,
  (next) => `node-v24.${next(20)}.${next(9)}-linux-x64.tar.gz`,
  (next) => `run ${uuid(next)} ended`,
  (next) => `There is no ${oneOf(next, things)} ${uuid(next)}.`,
  (next) => `/v1/${oneOf(next, things)}s/${uuid(next)}/items`,
  (next) => `${oneOf(next, things)} ${chars(next, "ABCDEFGH", 2)}-${number(next, 6)} was sent`,
  (next) => `ISBN 978-3-16-${number(next, 6)}-${next(10)}`,
  (next) => `Tracking number 1Z999AA1${number(next, 10)}`,
  (next) => `Phone +49 30 ${number(next, 8)}`,
  (next) => `IBAN DE89 3704 0044 0532 0130 ${number(next, 2)}`,
  (next) => `SKU ${chars(next, "ABCDEFGH", 4)}-${number(next, 4)}-${oneOf(next, ["RED", "BLUE"])}`,
  (next) => `call_${number(next, 2)} of the tool find`,
  // sentences about secrets
  () => "Unexpected token: null",
  (next) => `Unexpected token } in JSON at position ${next(500)}`,
  () => "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
  (next) => `${next(9000)} tokens: shorten the prompt`,
  (next) => `max_tokens: ${next(9000)}`,
  (next) => `{"max_tokens": ${next(9000)}, "temperature": 0.7}`,
  (next) => `total_tokens=${next(90_000)} prompt_tokens=${next(9000)}`,
  () => "auth: required",
  () => "auth: none",
  () => "Authorization: required",
  () => "password: required",
  () => "Password: must have at least 8 characters",
  () => "The password is wrong.",
  () => "Your password is too short",
  () => "The password was changed yesterday",
  () => "expected a string at password",
  () => "token: expected a string",
  () => "secret: missing",
  () => "api_key: string, required",
  () => "credentials: include",
  () => "The access token is expired",
  () => "The token has expired. Ask the user to log in again.",
  () => "password=***",
  () => "api_key=${API_KEY}",
  () => "password: <your password>",
  () => "const apiKey = process.env.API_KEY",
  () => "Basic authentication is not supported",
  () => "basic understanding of bearer authentication",
  () => "A bearer instrument is a document",
  () => "The cookie: a short history",
  () => "Reset your password at https://example.com/password/reset",
  () => "Secret santa: draw a name",
  () => "Session: opened",
  () => "signature: missing",
  () => "Sign in with your passkey or your security key",
  () => "The key is under the mat",
  () => "Primary key: id, name",
  () => "Use the shift key + F5",
  // paths, addresses, code
  (next) => `/${oneOf(next, folders)}/${oneOf(next, folders)}/report.csv`,
  (next) => `/${oneOf(next, folders)}/${oneOf(next, modules)}/2026-11-${10 + next(20)}.json`,
  () => "/api/v1/users",
  (next) => `/api/v${next(4)}/${oneOf(next, things)}s/${number(next, 5)}`,
  () => "./src/internal/foundation/schemaIssues.ts",
  (next) => `C:\\${oneOf(next, folders)}\\report.xlsx`,
  (next) => `s3://acme-${oneOf(next, folders)}/2026/11/${oneOf(next, things)}s.parquet`,
  (next) => `https://example.com/${oneOf(next, folders)}/${oneOf(next, things)}s?page=${next(90)}&sort=name`,
  (next) => `https://docs.example.com/guide/getting-started-with-${oneOf(next, modules)}-in-2026`,
  (next) => `${oneOf(next, names)}@example.com`,
  (next) => `mailto:${oneOf(next, names)}.lovelace${next(100)}@example.com`,
  (next) => `Server at 8.8.${next(250)}.${next(250)}:443`,
  (next) => `calculate${oneOf(next, ["Total", "Average"])}PriceForOrderLines${next(10)}`,
  (next) => `com.acme.shop.${oneOf(next, modules)}.OrderService`,
  (next) => `app.kubernetes.io/name=${oneOf(next, modules)}`,
  (next) => `${oneOf(next, modules).toUpperCase()}_MAX_RETRIES=${next(10)}`,
  (next) => `font-size: ${next(40)}px; margin-top: ${next(40)}px`,
  (next) => `rgb(${next(255)}, ${next(255)}, ${next(255)}) is #${chars(next, hex, 6)}`,
  (next) => `feature-${oneOf(next, modules)}-improvements-sprint-${next(60)}`,
  (next) => `test/fixtures/large-${oneOf(next, things)}-list-v${next(9)}.snap.json`,
  (next) => `SUMMARY_REPORT_FINAL_${next(9)}_REVISED_2026`,
  (next) => `x86_64-unknown-linux-gnu-${next(20)}`,
  (next) => `Uint8Array(${next(4096)}) is not assignable to Float64Array`,
  (next) => `error TS${number(next, 4)}: Type 'string' is not assignable to type 'number'.`,
  (next) => `HTTP 404 for GET /${oneOf(next, things)}s/${number(next, 6)}`,
  // dates, numbers
  (next) => `2026-11-${10 + next(20)}T10:${10 + next(50)}:00.000Z`,
  (next) => `backup-2026-11-${10 + next(20)}T10-${10 + next(50)}-00Z.tar.gz`,
  (next) => `The token expired at 2026-11-21T10:${10 + next(50)}:00.000Z`,
  (next) => `We meet\nat 10:${10 + next(50)}:${10 + next(50)} in the hall (first floor)`,
  (next) => `It is at the office: room ${next(90)}`,
  () => "auth: oauth2",
  (next) => `pass: ${next(90)} of 100 tests`,
  (next) => `Date: Sat, 21 Nov 2026 ${10 + next(14)}:34:27 GMT`,
  (next) => `took ${next(9000)}ms, ${next(90)}.${next(90)}% of ${number(next, 9)} bytes`,
  (next) => `timestamp ${number(next, 13)}`,
  (next) => `Total: ${number(next, 4)}.${number(next, 2)} EUR`,
  (next) => `lat 52.${number(next, 6)}, lon 13.${number(next, 6)}`,
  (next) => `Pi is about 3.14159265358979${number(next, 4)}`,
  (next) => `Credit ${number(next, 4)} points to account ${number(next, 10)}`,
  // prose
  (next) => `There is no ${oneOf(next, things)} for ${oneOf(next, names)}.`,
  (next) => `Select a date from the calendar, ${oneOf(next, names)}.`,
  () => "Select an item from the list where you found it",
  () => "Please update the record set before noon",
  () => "Merge the branch using the button on the right",
  () => "Drop the table reservation and create a view of the garden",
  () => "Insert into the slot the card with the chip",
  () => "You can delete from the menu whatever you like",
  () => "We met at the office: room 12:30 is too small",
  (next) => `Meet ${oneOf(next, names)} at 10:${10 + next(50)}`,
  (next) => `${oneOf(next, names)} has ${next(100)} ${oneOf(next, things)}s`,
  (next) => `The ${oneOf(next, modules)} is down until 10:${10 + next(50)}`,
  (next) => `订单 ${number(next, 6)} 未找到`,
  (next) => `Der Auftrag ${number(next, 6)} wurde nicht gefunden: bitte prüfen`,
  () => "internationalization and counterrevolutionaries are long words",
  () => "Donaudampfschifffahrtsgesellschaftskapitän",
  () => "supercalifragilisticexpialidocious2000",
  () => "and/or input/output read/write-through client/server-side",
  () => "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
  () => "==================================",
  () => "------------------- 8< -------------------",
  (next) => `{"status":"error","code":"not_found","field":"items.${next(9)}.price"}`,
  (next) => `{"id":${number(next, 8)},"name":"${oneOf(next, names)}","tags":["a1","b2"]}`,
  (next) => `| ${oneOf(next, things)} | ${number(next, 3)} | ${oneOf(next, names)} |`,
  (next) => `rgba-to-hex-converter@${next(9)}.${next(20)}.0`,
  (next) => `Flight LH${number(next, 4)} to BER, seat ${next(40)}C, gate A${next(40)}`,
  (next) => `chapter${next(20)}/section${next(9)}/paragraph${next(9)}/figure${next(9)}`,
  (next) => `windows-2022-datacenter-core-${next(99)}`
]

/** The texts: each template with seven values, each text once. */
export const harmlessTexts = (seed = 1): ReadonlyArray<string> => {
  const next = random(seed)
  const texts = new Set<string>()
  for (const template of templates) {
    for (let i = 0; i < 7; i++) texts.add(template(next))
  }
  return [...texts]
}
