import { assert, describe, it } from "@effect/vitest"
import { Redaction } from "@recourse/core"
import { DateTime, Option } from "effect"
import { readFileSync } from "node:fs"
import { harmlessTexts } from "../redaction/harmlessTexts.ts"
import { ruleTexts } from "../redaction/ruleTexts.ts"
import { random, secretTexts, shows } from "../redaction/secretTexts.ts"

const redactor = Redaction.make()
const { text } = redactor

/** Hidden secrets and unchanged harmless texts, for a seed of the generators. */
const score = (seed: number) => {
  const secrets = secretTexts(seed)
  const harmless = harmlessTexts(seed)
  return {
    secrets: secrets.length,
    shown: secrets.filter((item) => shows(text(item.text), item.secret)),
    harmless: harmless.length,
    changed: harmless.filter((item) => text(item) !== item)
  }
}

describe("the corpora", () => {
  const first = score(1)

  it("are large, and the page of projections states the score", () => {
    assert.isAtLeast(first.secrets, 1_000)
    assert.isAtLeast(first.harmless, 500)
    const page = readFileSync(new URL("../../../../docs/projections.md", import.meta.url), "utf8")
    const number = new Intl.NumberFormat("en").format
    assert.include(
      page,
      `${number(first.secrets - first.shown.length)} of ${number(first.secrets)} secrets are hidden, and ` +
        `${number(first.changed.length)} of ${number(first.harmless)} harmless texts are changed`
    )
  })

  it("hold for other values as well", () => {
    for (const seed of [2, 3]) {
      const { changed, harmless, secrets, shown } = score(seed)
      assert.isAtMost(shown.length / secrets, 0.005, shown.map((item) => item.text).join("\n"))
      assert.isAtMost(changed.length / harmless, 0.01, changed.join("\n"))
    }
  })

  it("a redacted text does not change again", () => {
    for (const item of secretTexts(4)) {
      const once = text(item.text)
      assert.strictEqual(text(once), once)
    }
  })
})

describe("redacted texts", () => {
  const taken: ReadonlyArray<readonly [name: string, text: string, hidden: string]> = [
    ["SQL with an alias", "failed: select u.name, u.pin from users u where u.id = 7", "users"],
    ["SQL with AS", "SELECT o.id FROM crm.orders AS o JOIN customers c ON c.id = o.customer", "crm.orders"],
    [
      "SQL over several lines",
      "select *\nfrom users u\nwhere u.email = 'ada@example.com'\n  and u.pin = 4711",
      "ada@example.com"
    ],
    ["MERGE", "MERGE INTO stock s USING delivery d ON s.sku = d.sku WHEN MATCHED THEN UPDATE SET n = 1", "stock"],
    ["MERGE without INTO", "merge stock as s\nusing delivery as d\non s.sku = d.sku", "delivery"],
    ["UPDATE with an alias", "update users u set pin = 4711 where u.id = 7", "4711"],
    ["JSON within a string", "{\\\"password\\\":\\\"hunter2\\\"}", "hunter2"],
    ["JSON within a string within a string", "{\\\\\\\"password\\\\\\\":\\\\\\\"hunter2\\\\\\\"}", "hunter2"],
    ["a password with spaces, quoted", "{\"password\": \"correct horse battery\"}", "horse"],
    [
      "a key broken over lines",
      "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nzX9q\n-----END RSA PRIVATE KEY-----",
      "zX9q"
    ],
    ["a name in Chinese", "密码：hunter2", "hunter2"],
    ["a name in a URL", "q=password%3Dhunter2", "hunter2"],
    ["a short name", "user=ada pass=hunter2", "hunter2"],
    ["a frame of Java", "Error\n\tat com.acme.Shop.pay(Shop.java:42)", "Shop.java"],
    ["a frame without a place", "Error\n    at new Promise (<anonymous>)", "Promise"],
    ["a value behind a line break", "password:\n  hunter2", "hunter2"],
    ["a token after an underscore", "x_ghp_0123456789abcdefghijABCDEFGHIJ456789", "0123456789"]
  ]
  for (const [name, said, hidden] of taken) {
    it(`hides ${name}`, () => assert.notInclude(text(said), hidden))
  }
})

describe("the edges of each rule", () => {
  const { filePaths, privateAddresses, privatePaths, secrets, sql, stackTraces } = Redaction
  const all = { filePaths, privateAddresses, privatePaths, secrets, sql, stackTraces }
  for (const [name, kind, texts] of ruleTexts) {
    it(`${name}, ${kind}`, () => {
      const { text } = Redaction.make({ rules: all[name].filter((rule) => rule.kind === kind) })
      for (const marked of texts) {
        assert.strictEqual(text(marked.replaceAll(/[«»]/g, "")), marked.replaceAll(/«[^»]*»/g, `[redacted: ${kind}]`))
      }
    })
  }

  it("entropy is counted in bits for each character", () => {
    assert.deepStrictEqual(["aaaa", "abab", "abcd"].map(Redaction.entropy), [0, 1, 2])
  })
})

describe("unchanged texts", () => {
  for (
    const said of [
      "Commit 76ea8712f0c1b3a4d5e6f708192a3b4c5d6e7f80 is missing",
      "Unexpected token: null",
      "4096 tokens: shorten",
      "The report is in /srv/data/report.csv",
      "GET /api/v1/users",
      "auth: required"
    ]
  ) it(`stays: ${said}`, () => assert.strictEqual(text(said), said))
})

describe("time", () => {
  // The starts of each part of each rule, without ends.
  const fragments = [
    "-eyJ",
    "eyJabcdefgh.",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "a://",
    "a://b:c/",
    "http://a:b",
    "a.",
    "at a ",
    "[](",
    "password",
    "password ",
    "password:",
    "password[",
    "password\"]",
    "password_old",
    "password ||",
    "password ??=",
    "password(\"a",
    "password == 'a",
    "password=a>",
    "<pass>a",
    "HRKU-",
    "re_aaaaaaaa_",
    "password=\"",
    "token ",
    "token:'",
    "a:b@",
    "/a",
    "select x ",
    "select a from b ",
    "merge into a b using ",
    "update a set ",
    " at async a b ",
    "\n at",
    "\n  ",
    "bearer ",
    "basic a",
    "authorization: ",
    "authorization:\"",
    "authorization: bearer ",
    "bearer%20",
    "a_key",
    "_key:",
    "-key ",
    "token, ",
    "token\nvalue:",
    "token\",\"value\":\"",
    " --",
    " --a-",
    " --token ",
    "page_token",
    "$6$",
    "gsk_",
    "cookie:",
    "cookie: a",
    " -u a:",
    "<password",
    "<a",
    "a1",
    "A",
    "1",
    "0a",
    "a-",
    "-",
    "_",
    "%41",
    "=",
    "SG.",
    "SG.aaaaaaaaaaaaaaaa.",
    "10.0.",
    "fc00:",
    "a.internal.",
    "/home/a",
    "C:\\Users\\",
    "\\",
    "\\\"password\\\":\\\"",
    "\n File \"",
    "secret is ",
    "123456789:AA",
    "M",
    "MMMMMMMMMMMMMMMMMMMMMMMM.",
    "https://discord.com/api/webhooks/",
    "sk-",
    "8Q~",
    ":",
    "select ",
    "delete from a\n,",
    "delete from a\nwhere ",
    "\ud83d\ude00",
    "1//0",
    "dp.pt.",
    "hvs.",
    "~/",
    "file://",
    "\\\\a\\",
    "é"
  ]
  const everyRule = Redaction.make({ rules: [...Redaction.rules, ...Redaction.filePaths] })

  /** Processor time for a text again and again, up to a length, in milliseconds. */
  const measured = (part: string, length: number): number => {
    const said = part.repeat(Math.ceil(length / part.length))
    const { user } = process.cpuUsage()
    everyRule.text(said)
    return (process.cpuUsage().user - user) / 1_000
  }

  /** Parts of a megabyte, from an eighth on, until the whole takes less than a second even if time grows with the square. */
  const takesUnderASecond = (part: string): void => {
    for (let share = 8; share >= 1; share /= 2) {
      const time = measured(part, 1_000_000 / share)
      assert.isBelow(time, 1_000, part)
      if (time * share ** 2 < 1_000) return
    }
  }

  it("a megabyte of each rule's worst text takes under a second", () => {
    for (const fragment of fragments) takesUnderASecond(fragment)
  }, 120_000)

  it("and so does one megabyte of any mixture", () => {
    const next = random(Number(process.env["RECOURSE_SEED"] ?? 5))
    for (let i = 0; i < 15; i++) {
      const part = Array.from({ length: 2 + next(4) }, () => fragments[next(fragments.length)]).join("")
      takesUnderASecond(part)
    }
  }, 120_000)

  it("all matches of a program's own rule are removed, with and without the flag for that", () => {
    for (const flags of ["", "g", "i", "gi", "u", "v"]) {
      const pattern = new RegExp("hunter\\d", flags)
      const { text } = Redaction.make({ rules: [{ kind: "password", pattern }] })
      for (let again = 0; again < 2; again++) {
        const shown = text("hunter1, hunter2 and hunter3")
        assert.strictEqual(shown, "[redacted: password], [redacted: password] and [redacted: password]", flags)
      }
    }
  })

  it("a surrogate pair is not cut in half", () => {
    const next = random(6)
    for (let i = 0; i < 2_000; i++) {
      const said = Array.from({ length: 12 }, () => next(3) === 0 ? "😀" : fragments[next(fragments.length)]).join("")
      assert.isTrue(everyRule.text(said).isWellFormed(), said)
    }
  })
})

describe("values", () => {
  const secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"

  it("values without secrets stay themselves: dates, bytes, options, maps", () => {
    const value = {
      at: new Date(0),
      bytes: new Uint8Array([1, 2]),
      option: Option.some("x"),
      time: DateTime.makeUnsafe(0),
      map: new Map([["a", 1]]),
      set: new Set(["a"]),
      big: 1n,
      none: null,
      nothing: undefined
    }
    assert.strictEqual(Redaction.json(redactor, value), value)
  })

  it("a value with a secret is copied with its prototype", () => {
    const at = new Date(0)
    const shown = Redaction.json(redactor, {
      at,
      list: [Option.some(secret)],
      map: new Map([["a", secret]]),
      set: new Set([secret])
    })
    assert.deepStrictEqual(shown, {
      at,
      list: [Option.some("[redacted: github token]")],
      map: new Map([["a", "[redacted: github token]"]]),
      set: new Set(["[redacted: github token]"])
    })
    assert.deepStrictEqual(
      Object.getOwnPropertyDescriptor(shown, "at"),
      { value: at, enumerable: true, writable: true, configurable: true }
    )
    const shared = { secret }
    const both = Redaction.json(redactor, { a: shared, b: shared }) as { readonly a: object; readonly b: object }
    assert.strictEqual(both.a, both.b)
  })

  it("harmless text next to redacted parts stays, for any name", () => {
    const note = "[redacted: path] and more"
    assert.deepStrictEqual(
      Redaction.json(redactor, { seen: `see ${secret} now`, note, [secret]: "a game" }),
      { seen: "see [redacted: github token] now", note, "[redacted: github token]": "a game" }
    )
    assert.deepStrictEqual(Redaction.json(redactor, { [secret]: "a game" }), { "[redacted: github token]": "a game" })
    assert.deepStrictEqual(Redaction.json(redactor, { cookie: "sid=abc" }), { cookie: "[redacted: cookie]" })
  })

  it("a name of 64 characters marks a value of 512, no longer", () => {
    const name = (length: number) => "password".padStart(length, "x_")
    const value = (length: number) => "a1".repeat(length).slice(0, length)
    for (
      const [key, said, isHidden] of [
        [name(64), value(512), true],
        [name(65), value(512), false],
        [name(64), value(513), false]
      ] as const
    ) {
      const shown = Redaction.json(redactor, { [key]: said }) as Record<string, unknown>
      assert.strictEqual(shown[key], isHidden ? "[redacted: secret]" : said)
    }
  })

  it("a program's own redactor with another placeholder applies too", () => {
    const own = { results: true, text: (text: string) => text.replace(/password=.+/, "***") }
    const shown = JSON.stringify(Redaction.json(own, { password: "hunter2" }))
    assert.notInclude(shown, "hunter2")
  })

  it("an id that readers know stays, alone and without a secret's name", () => {
    const id = "run_411f039074b9fa36402407af"
    assert.strictEqual(text(`at run ${id} of`), "at run [redacted: secret] of")
    assert.strictEqual(text(`at run ${id} of`, id), `at run ${id} of`)
    for (const said of [`password=${id}`, `key x${id}`, `key ${id}z9`, `key ${id}/q8Zr`, `sk-${id}`, secret]) {
      assert.strictEqual(text(said, id), text(said), said)
      assert.notStrictEqual(text(said, id), said)
    }
  })

  it("a name says of its value that it is secret", () => {
    assert.deepStrictEqual(
      Redaction.json(redactor, { password: "hunter2", hint: "a game", tokens: 4096, path: "/srv/a/b" }),
      {
        password: "[redacted: secret]",
        hint: "a game",
        tokens: 4096,
        path: "/srv/a/b"
      }
    )
  })

  it("handles prototype keys, circular values, and cuts deep ones", () => {
    const own = JSON.parse(`{"__proto__":{"key":"${secret}"}}`) as object
    assert.strictEqual(
      JSON.stringify(Redaction.json(redactor, own)),
      "{\"__proto__\":{\"key\":\"[redacted: github token]\"}}"
    )
    const round: Record<string, unknown> = { secret }
    round["self"] = round
    assert.notInclude(JSON.stringify(Object.values(Redaction.json(redactor, round) as object)[0]), secret)
    const itself: Record<string, unknown> = { hint: "a game" }
    itself["self"] = itself
    assert.strictEqual(Redaction.json(redactor, itself), itself)
    const nested = (depth: number): unknown => {
      let deep: unknown = "text"
      for (let i = 0; i < depth; i++) deep = [deep]
      return deep
    }
    const [most, tooDeep] = [nested(501), nested(502)]
    assert.strictEqual(Redaction.json(redactor, most), most)
    assert.include(JSON.stringify(Redaction.json(redactor, tooDeep)), "[redacted: nested too deep]")
    Redaction.json(redactor, nested(20_000))
  })
})
